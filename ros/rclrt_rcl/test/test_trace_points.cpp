// Copyright 2026 The rclrt Authors
// SPDX-License-Identifier: Apache-2.0

// The points of tracetools are called as rclcpp calls them. This program has functions of their names, which come before
// those of the library.

#include <gtest/gtest.h>

#include <algorithm>
#include <memory>
#include <mutex>
#include <string>
#include <vector>

#include "fixture.hpp"
#include "rcl_interfaces/msg/log.hpp"
#include "rcl_interfaces/srv/list_parameters.hpp"
#include "rcutils/error_handling.h"

namespace
{

struct Call
{
  std::string point;
  const void * first = nullptr;
  const void * second = nullptr;
  int64_t number = 0;
  std::string text;
};

std::mutex mutex;
std::vector<Call> calls;

void note(Call call)
{
  const std::lock_guard<std::mutex> lock(mutex);
  calls.push_back(std::move(call));
}

std::vector<Call> take_calls()
{
  const std::lock_guard<std::mutex> lock(mutex);
  return std::exchange(calls, {});
}

}  // namespace

extern "C" {
void ros_trace_rcl_timer_init(const void * timer, int64_t period)
{
  note({"timer_init", timer, nullptr, period, ""});
}
void ros_trace_rclcpp_timer_callback_added(const void * timer, const void * callback)
{
  note({"timer_callback", timer, callback, 0, ""});
}
void ros_trace_rclcpp_timer_link_node(const void * timer, const void * node)
{
  note({"timer_node", timer, node, 0, ""});
}
void ros_trace_rclcpp_subscription_init(const void * handle, const void * subscription)
{
  note({"subscription_init", handle, subscription, 0, ""});
}
void ros_trace_rclcpp_subscription_callback_added(const void * subscription, const void * callback)
{
  note({"subscription_callback", subscription, callback, 0, ""});
}
void ros_trace_rclcpp_service_callback_added(const void * handle, const void * callback)
{
  note({"service_callback", handle, callback, 0, ""});
}
bool ros_trace_enabled_rclcpp_callback_register() { return true; }
void ros_trace_do_rclcpp_callback_register(const void * callback, const char * symbol)
{
  note({"symbol", callback, nullptr, 0, symbol});
}
void ros_trace_callback_start(const void * callback, bool is_intra_process)
{
  note({"start", callback, nullptr, is_intra_process, ""});
}
void ros_trace_callback_end(const void * callback) { note({"end", callback, nullptr, 0, ""}); }
void ros_trace_rclcpp_executor_execute(const void * handle)
{
  note({"execute", handle, nullptr, 0, ""});
}
void ros_trace_rclcpp_publish(const void * handle, const void * message)
{
  note({"publish", handle, message, 0, ""});
}
void ros_trace_rclcpp_intra_publish(const void * handle, const void * message)
{
  note({"intra_publish", handle, message, 0, ""});
}
void ros_trace_rclcpp_take(const void * message) { note({"take", message, nullptr, 0, ""}); }
void ros_trace_rclcpp_construct_ring_buffer(const void * buffer, uint64_t capacity)
{
  note({"ring", buffer, nullptr, static_cast<int64_t>(capacity), ""});
}
void ros_trace_rclcpp_buffer_to_ipb(const void * buffer, const void * ipb)
{
  note({"buffer_of", ipb, buffer, 0, ""});
}
void ros_trace_rclcpp_ipb_to_subscription(const void * ipb, const void * subscription)
{
  note({"subscription_of", ipb, subscription, 0, ""});
}
void ros_trace_rclcpp_ring_buffer_enqueue(
  const void * buffer, uint64_t index, uint64_t size, bool overwritten)
{
  note(
    {"enqueue", buffer, nullptr, static_cast<int64_t>(index),
     std::to_string(size) + (overwritten ? " overwritten" : "")});
}
void ros_trace_rclcpp_ring_buffer_dequeue(const void * buffer, uint64_t index, uint64_t size)
{
  note({"dequeue", buffer, nullptr, static_cast<int64_t>(index), std::to_string(size)});
}
}

namespace rclrt_rcl
{
namespace
{

using rcl_interfaces::msg::Log;
using rcl_interfaces::srv::ListParameters;
using namespace std::chrono_literals;

std::vector<std::string> points_of(const std::vector<Call> & list)
{
  std::vector<std::string> points;
  std::transform(list.begin(), list.end(), std::back_inserter(points), [](const Call & call) {
    return call.point;
  });
  return points;
}

using Points = std::vector<std::string>;

class TracePoints : public WithContext
{
protected:
  void SetUp() override
  {
    executor.add_node(node);
    take_calls();  // the node's own entities make some
  }

  std::shared_ptr<Node> node = make_node("node");
  PriorityEventsExecutor executor{options<PriorityEventsExecutorOptions>()};
};

TEST_F(TracePoints, a_timer_and_its_job_are_told)
{
  int runs = 0;
  const auto timer = node->create_wall_timer(1ms, [&](Timer & self) {
    ++runs;
    self.cancel();
  });
  const auto made = take_calls();
  ASSERT_EQ(points_of(made), (Points{"timer_init", "timer_callback", "symbol", "timer_node"}));
  EXPECT_EQ(made[0].number, 1'000'000);
  EXPECT_EQ(made[1].first, made[0].first);
  const void * const callback = made[1].second;
  EXPECT_EQ(made[2].first, callback);
  EXPECT_NE(made[2].text.find("a_timer_and_its_job_are_told"), std::string::npos) << made[2].text;
  EXPECT_EQ(made[3].first, made[0].first);
  EXPECT_EQ(made[3].second, node->handle().get());

  ASSERT_TRUE(spin_until(executor, [&] { return runs == 1; }));
  const auto job = take_calls();
  ASSERT_EQ(points_of(job), (Points{"execute", "start", "end"}));
  EXPECT_EQ(job[0].first, made[0].first);
  EXPECT_EQ(job[1].first, callback);
  EXPECT_EQ(job[2].first, callback);
}

TEST_F(TracePoints, a_function_is_told_by_its_name)
{
  const auto timer = node->create_wall_timer(1h, &rcutils_reset_error);
  const std::function<void()> held(&rcutils_reset_error);
  const auto other = node->create_wall_timer(1h, held);
  const auto made = take_calls();
  ASSERT_EQ(made.size(), 8U);
  EXPECT_EQ(made[2].text, "rcutils_reset_error");
  EXPECT_EQ(made[6].text, "rcutils_reset_error");
}

TEST_F(TracePoints, a_message_is_told_from_its_publication_to_the_callback)
{
  int runs = 0;
  const auto publisher = node->create_publisher<Log>("t", QoS(10));
  take_calls();
  const auto subscription =
    node->create_subscription<Log>("t", QoS(10), [&](const Log &) { ++runs; });
  const auto made = take_calls();
  ASSERT_EQ(points_of(made), (Points{"subscription_init", "subscription_callback", "symbol"}));
  EXPECT_EQ(made[0].first, subscription->handle().get());
  EXPECT_EQ(made[1].first, made[0].second);
  const void * const callback = made[1].second;
  EXPECT_EQ(made[2].first, callback);

  ASSERT_TRUE(wait_for([&] { return publisher->subscription_count() == 1; }));
  const Log message;
  publisher->publish(message);
  ASSERT_TRUE(spin_until(executor, [&] { return runs == 1; }));
  const auto job = take_calls();
  ASSERT_EQ(points_of(job), (Points{"publish", "execute", "take", "start", "end"}));
  EXPECT_EQ(job[0].second, &message);
  EXPECT_EQ(job[1].first, subscription->handle().get());
  EXPECT_EQ(job[3].first, callback);
  EXPECT_EQ(job[3].number, 0);
  EXPECT_EQ(job[4].first, callback);
}

TEST_F(TracePoints, a_message_that_goes_by_pointer_is_told_by_its_queue)
{
  PublisherOptions from;
  from.use_intra_process = true;
  SubscriptionOptions to;
  to.use_intra_process = true;
  int runs = 0;
  const auto subscription =
    node->create_subscription<Log>("t", QoS(2), [&](std::unique_ptr<Log>) { ++runs; }, to);
  const auto made = take_calls();
  ASSERT_EQ(
    points_of(made), (Points{
                       "subscription_init", "subscription_callback", "symbol", "ring", "buffer_of",
                       "subscription_of"}));
  const void * const callback = made[1].second;
  const void * const ring = made[3].first;
  EXPECT_EQ(made[3].number, 2);
  EXPECT_EQ(made[4].second, ring);
  EXPECT_EQ(made[5].first, made[4].first);
  EXPECT_EQ(made[5].second, made[0].second);

  const auto publisher = node->create_publisher<Log>("t", QoS(2), from);
  take_calls();
  for (int i = 0; i < 3; ++i) {
    publisher->publish(std::make_unique<Log>());
  }
  const auto put = take_calls();
  ASSERT_EQ(
    points_of(put),
    (Points{"intra_publish", "enqueue", "intra_publish", "enqueue", "intra_publish", "enqueue"}));
  EXPECT_EQ(put[0].first, publisher->handle().get());
  EXPECT_EQ(put[1].first, ring);
  EXPECT_EQ(put[1].text, "1");
  EXPECT_EQ(put[3].text, "2");
  EXPECT_EQ(put[5].text, "2 overwritten");
  ASSERT_TRUE(spin_until(executor, [&] { return runs == 2; }));
  auto job = take_calls();
  job.resize(4);
  ASSERT_EQ(points_of(job), (Points{"execute", "dequeue", "start", "end"}));
  EXPECT_EQ(job[1].first, ring);
  EXPECT_EQ(job[1].text, "1");
  EXPECT_EQ(job[2].first, callback);
  EXPECT_EQ(job[2].number, 1);
}

TEST_F(TracePoints, a_service_and_its_job_are_told)
{
  const auto service = node->create_service<ListParameters>(
    "ask", [](const ListParameters::Request &, ListParameters::Response &) {});
  const auto client = node->create_client<ListParameters>("ask");
  const auto made = take_calls();
  ASSERT_EQ(points_of(made), (Points{"service_callback", "symbol"}));
  EXPECT_EQ(made[0].first, service->handle().get());
  EXPECT_EQ(made[1].first, made[0].second);
  EXPECT_NE(made[1].text.find("a_service_and_its_job_are_told"), std::string::npos);

  ASSERT_TRUE(client->wait_for_service(kPatience));
  bool is_answered = false;
  client->async_send_request(
    ListParameters::Request(), [&](const ListParameters::Response &) { is_answered = true; });
  ASSERT_TRUE(spin_until(executor, [&] { return is_answered; }));
  const auto job = take_calls();
  ASSERT_EQ(points_of(job), (Points{"start", "end"}));
  EXPECT_EQ(job[0].first, made[0].second);
  EXPECT_EQ(job[1].first, made[0].second);
}

TEST_F(TracePoints, the_end_of_a_callback_that_throws_is_told)
{
  const auto timer = node->create_wall_timer(1ms, [](Timer & self) {
    self.cancel();
    throw std::runtime_error("thrown");
  });
  take_calls();
  EXPECT_THROW(spin_until(executor, [] { return false; }), std::runtime_error);
  EXPECT_EQ(points_of(take_calls()), (Points{"execute", "start", "end"}));
}

}  // namespace
}  // namespace rclrt_rcl
