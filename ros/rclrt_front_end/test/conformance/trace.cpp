// Copyright 2026 The rclrt Authors
// SPDX-License-Identifier: Apache-2.0

// What trace records say of messages, requests and answers that go through the middleware.

#include <algorithm>
#include <atomic>
#include <map>
#include <set>
#include <utility>
#include <vector>

#include "conformance/suite.hpp"
#include "rclrt_front_end/on_rcl.hpp"

namespace conformance
{
namespace
{

using Sent = std::pair<uint64_t, uint64_t>;  // its publisher, its number or source time stamp

class Trace : public Suite
{
protected:
  /// The timer "/node/timer/1ms" calls this once, and others do what comes of it until `is_over`.
  void run(const std::function<void()> & once, const std::function<bool()> & is_over)
  {
    const auto timer = node->create_wall_timer(1ms, [&](Timer & itself) {
      itself.cancel();
      once();
    });
    const Spinning spinning(*executor, node);
    ASSERT_TRUE(wait_for(is_over));
  }
  /// All that the trace has, with the names of the callbacks.
  template <typename Look>
  void look(Look at) const
  {
    const auto names = ours(*executor).callback_names();
    ours(*executor).read_trace(
      [&](const rclrt_job_record & record) { at(names.at(record.callback), record); });
  }
};
OVER_OUR_EXECUTORS(Trace);

TEST_P(Trace, the_job_that_takes_a_message_names_it_as_the_job_that_published_it_does)
{
  const auto one = node->create_publisher<Message>("topic", 10);
  const auto other = node->create_publisher<Message>("topic", 10);
  std::multiset<Sent> expected;
  std::atomic<int> received{0};
  const auto subscription = make_told_subscription<Message>(
    *node, "topic", [&](const Message &, const auto & publisher, int64_t stamp) {
      expected.emplace(rclrt_core::publisher_in_trace(publisher), stamp);
      ++received;
    });
  ASSERT_TRUE(wait_for([&] { return readers_of(*one) == 1 && readers_of(*other) == 1; }));
  run(
    [&] {
      one->publish(Message());
      other->publish(Message());
      other->publish(Message());
    },
    [&] { return received == 3; });

  std::multiset<Sent> published;
  std::multiset<Sent> taken;
  std::vector<rclrt_job_record> takers;
  rclrt_job_record publishing{};
  look([&](const std::string & name, const rclrt_job_record & record) {
    if (record.outcome == RCLRT_PUBLISHED) {
      published.emplace(record.publisher, record.message);
    } else if (name == "/node/subscription/topic") {
      taken.emplace(record.publisher, record.message);
      takers.push_back(record);
    } else if (name == "/node/timer/1ms" && record.outcome == RCLRT_JOB_DONE) {
      publishing = record;
    }
  });
  const auto of = [&](const Publisher & publisher) {
    const uint64_t id = rclrt_core::publisher_in_trace(gid_of(publisher));
    return std::count_if(
      published.begin(), published.end(), [id](const Sent & sent) { return sent.first == id; });
  };
  EXPECT_EQ(of(*one), 1);
  EXPECT_EQ(of(*other), 2);
  EXPECT_EQ(published, expected);
  EXPECT_EQ(taken, expected);
  for (const rclrt_job_record & taker : takers) {
    EXPECT_EQ(taker.cause, RCLRT_CAUSE_JOB);
    EXPECT_EQ(taker.by_sequence, publishing.sequence);
    EXPECT_EQ(taker.by_callback, publishing.callback);
    EXPECT_EQ(taker.by_executor, ours(*executor).trace_source().executor);
  }
}

TEST_P(Trace, the_jobs_of_a_service_and_of_its_client_name_what_they_have_taken)
{
  if (!rclrt_front_end::middleware_in_use().has_ids_for_all) {
    GTEST_SKIP() << "with this middleware a request has another id than its client";
  }
  const auto service = make_service(*node, "echo");
  const auto client = make_client(*node, "echo", nullptr);
  ASSERT_TRUE(client->wait_for_service(kPatience));
  std::future<std::vector<std::string>> answer;
  std::atomic<bool> is_asked{false};
  run(
    [&] {
      answer = ask(*client, {});
      is_asked = true;
    },
    [&] { return is_asked && answer.wait_for(0s) == std::future_status::ready; });
  std::map<std::string, Sent> sent;
  std::map<std::string, Sent> taken;
  look([&](const std::string & name, const rclrt_job_record & record) {
    (record.outcome == RCLRT_PUBLISHED ? sent : taken)[name] = {record.publisher, record.message};
  });
  const Sent asked = sent.at("/node/timer/1ms");
  const Sent replied = sent.at("/node/service/echo");
  EXPECT_EQ(asked.second, 1U);
  EXPECT_EQ(replied.second, 1U);
  EXPECT_NE(asked.first, replied.first);
  EXPECT_EQ(taken.at("/node/service/echo"), asked);
  EXPECT_EQ(taken.at("/node/client/echo"), replied);
}

TEST_P(Trace, has_the_jobs_under_the_names_of_their_callbacks)
{
  const auto timer = node->create_wall_timer(1ms, [] {});
  executor->add_node(node);
  std::this_thread::sleep_for(3ms);
  executor->spin_some();
  int of_timer = 0;
  const auto names = ours(*executor).callback_names();
  ours(*executor).read_trace([&](const rclrt_job_record & record) {
    of_timer += rclrt_job_ran(&record) && names.at(record.callback) == "/node/timer/1ms" ? 1 : 0;
  });
  EXPECT_EQ(of_timer, 1);
  EXPECT_EQ(ours(*executor).trace_source().dropped, 0U);
  EXPECT_EQ(statistics_of("/node/timer/1ms").executed, 1U);
  EXPECT_EQ(statistics_of("/node/timer/1ms").empty, 0U);
}

}  // namespace
}  // namespace conformance
