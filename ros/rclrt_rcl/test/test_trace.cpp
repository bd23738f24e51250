// Copyright 2026 The rclrt Authors
// SPDX-License-Identifier: Apache-2.0

// What trace records say of messages that go through the middleware.

#include <algorithm>
#include <atomic>
#include <map>
#include <set>
#include <string>
#include <utility>
#include <vector>

#include "builtin_interfaces/msg/time.hpp"
#include "executor_types.hpp"
#include "rcl_interfaces/srv/get_parameters.hpp"
#include "rclrt_front_end/on_rcl.hpp"

namespace rclrt_rcl
{
namespace
{

using builtin_interfaces::msg::Time;

template <typename T>
class Trace : public ExecutorSuite<T>
{
};
TYPED_TEST_SUITE(Trace, ExecutorTypes, ExecutorTypeNames);

TYPED_TEST(Trace, the_job_that_takes_a_message_names_it_as_the_job_that_published_it_does)
{
  const auto one = this->node->template create_publisher<Time>("topic", QoS(10));
  const auto other = this->node->template create_publisher<Time>("topic", QoS(10));
  using Message = std::pair<uint64_t, uint64_t>;  // its publisher, its source time stamp
  std::multiset<Message> expected;
  std::atomic<int> received{0};
  const auto subscription = this->node->template create_subscription<Time>(
    "topic", QoS(10), [&](const Time &, const MessageInfo & info) {
      expected.emplace(
        rclrt_core::publisher_in_trace(info.publisher_gid), info.source_timestamp.count());
      ++received;
    });
  ASSERT_TRUE(
    wait_for([&] { return one->subscription_count() == 1 && other->subscription_count() == 1; }));
  TimerOptions once;
  once.one_shot = true;
  const auto timer = this->node->create_wall_timer(
    std::chrono::milliseconds(1),
    [&] {
      one->publish(Time());
      other->publish(Time());
      other->publish(Time());
    },
    once);
  this->executor->add_node(this->node);
  {
    const Spinning spinning(*this->executor);
    ASSERT_TRUE(wait_for([&] { return received == 3; }));
  }

  std::multiset<Message> published;
  std::multiset<Message> taken;
  std::vector<rclrt_job_record> takers;
  rclrt_job_record publishing{};
  const auto names = this->executor->callback_names();
  this->executor->read_trace([&](const rclrt_job_record & record) {
    const std::string name = names.at(record.callback);
    if (record.outcome == RCLRT_PUBLISHED) {
      published.emplace(record.publisher, record.message);
    } else if (name == "/node/subscription/topic") {
      taken.emplace(record.publisher, record.message);
      takers.push_back(record);
    } else if (name == "/node/timer/1ms") {
      publishing = record;
    }
  });
  const uint64_t of_one = rclrt_core::publisher_in_trace(one->gid());
  const uint64_t of_other = rclrt_core::publisher_in_trace(other->gid());
  const auto of = [&](uint64_t publisher) {
    return std::count_if(published.begin(), published.end(), [publisher](const Message & message) {
      return message.first == publisher;
    });
  };
  EXPECT_EQ(of(of_one), 1);
  EXPECT_EQ(of(of_other), 2);
  EXPECT_EQ(published, expected);
  EXPECT_EQ(taken, expected);
  for (const rclrt_job_record & taker : takers) {
    EXPECT_EQ(taker.cause, RCLRT_CAUSE_JOB);
    EXPECT_EQ(taker.by_sequence, publishing.sequence);
    EXPECT_EQ(taker.by_callback, publishing.callback);
    EXPECT_EQ(taker.by_executor, this->executor->trace_source().executor);
  }
}

TYPED_TEST(Trace, the_jobs_of_a_service_and_of_its_client_name_what_they_have_taken)
{
  if (!rclrt_front_end::middleware_in_use().has_ids_for_all) {
    GTEST_SKIP() << "with this middleware a request has another id than its client";
  }
  using Ask = rcl_interfaces::srv::GetParameters;
  const auto service =
    this->node->template create_service<Ask>("echo", [](const Ask::Request &, Ask::Response &) {});
  const auto client = this->node->template create_client<Ask>("echo");
  ASSERT_TRUE(client->wait_for_service(std::chrono::seconds(10)));
  std::atomic<int> replies{0};
  TimerOptions once;
  once.one_shot = true;
  const auto timer = this->node->create_wall_timer(
    std::chrono::milliseconds(1),
    [&] { client->async_send_request(Ask::Request(), [&](const Ask::Response &) { ++replies; }); },
    once);
  this->executor->add_node(this->node);
  {
    const Spinning spinning(*this->executor);
    ASSERT_TRUE(wait_for([&] { return replies == 1; }));
  }
  struct Seen
  {
    uint64_t publisher = 0, message = 0;
  };
  std::map<std::string, Seen> sent;
  std::map<std::string, Seen> taken;
  const auto names = this->executor->callback_names();
  this->executor->read_trace([&](const rclrt_job_record & record) {
    auto & kind = record.outcome == RCLRT_PUBLISHED ? sent : taken;
    kind[names.at(record.callback)] = {record.publisher, record.message};
  });
  const Seen asked = sent.at("/node/timer/1ms");
  const Seen replied = sent.at("/node/service/echo");
  EXPECT_EQ(asked.message, 1U);
  EXPECT_EQ(replied.message, 1U);
  EXPECT_NE(asked.publisher, replied.publisher);
  EXPECT_EQ(taken.at("/node/service/echo").publisher, asked.publisher);
  EXPECT_EQ(taken.at("/node/service/echo").message, 1U);
  EXPECT_EQ(taken.at("/node/client/echo").publisher, replied.publisher);
  EXPECT_EQ(taken.at("/node/client/echo").message, 1U);
}

}  // namespace
}  // namespace rclrt_rcl
