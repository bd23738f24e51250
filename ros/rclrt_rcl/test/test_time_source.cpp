// Copyright 2026 The rclrt Authors
// SPDX-License-Identifier: Apache-2.0

// Simulated time from /clock, over all executors.

#include <gtest/gtest.h>

#include <atomic>
#include <chrono>
#include <memory>
#include <mutex>
#include <string>
#include <vector>

#include "executor_types.hpp"
#include "rosgraph_msgs/msg/clock.hpp"

namespace rclrt_rcl
{
namespace
{

using ClockMessage = rosgraph_msgs::msg::Clock;
using namespace std::chrono_literals;

template <typename T>
class SimulatedTime : public ExecutorSuite<T>
{
protected:
  void SetUp() override
  {
    NodeOptions options;
    options.arguments = {"--ros-args", "-p", "use_sim_time:=true"};
    simulated = this->make_node("simulated", options);
    this->executor->add_node(simulated);
  }

  /// Publish until `condition` holds: /clock is best effort.
  bool publish_until(std::chrono::nanoseconds time, const std::function<bool()> & condition)
  {
    ClockMessage message;
    message.clock = to_message(time);
    return wait_for([&] {
      publisher->publish(message);
      return condition();
    });
  }
  bool set_time(std::chrono::nanoseconds time)
  {
    return publish_until(time, [&] { return simulated->now() == time; });
  }

  std::shared_ptr<Publisher<ClockMessage>> publisher =
    this->node->template create_publisher<ClockMessage>("/clock", QoS::clock());
  std::shared_ptr<Node> simulated;
};
TYPED_TEST_SUITE(SimulatedTime, ExecutorTypes, ExecutorTypeNames);

TYPED_TEST(SimulatedTime, is_zero_before_the_first_message_and_then_what_they_say)
{
  EXPECT_TRUE(this->simulated->clock()->is_simulated());
  EXPECT_EQ(this->simulated->now(), 0ns);
  EXPECT_FALSE(this->node->clock()->is_simulated());
  const Spinning spinning(*this->executor);
  EXPECT_TRUE(this->set_time(5s));
  EXPECT_TRUE(this->set_time(6s));
  EXPECT_TRUE(this->set_time(1s)) << "time may be set back";
}

TYPED_TEST(SimulatedTime, drives_timers_and_nothing_else_does)
{
  std::atomic<int> runs{0};
  auto timer = this->simulated->create_timer(1s, [&] { ++runs; });
  const Spinning spinning(*this->executor);
  ASSERT_TRUE(this->set_time(500ms));
  EXPECT_EQ(runs, 0);
  ASSERT_TRUE(this->publish_until(1s, [&] { return runs == 1; }));
  ASSERT_TRUE(this->set_time(1900ms));
  EXPECT_EQ(runs, 1);
  ASSERT_TRUE(this->publish_until(2s, [&] { return runs == 2; }));
}

TYPED_TEST(SimulatedTime, drives_timers_on_after_it_was_set_back)
{
  std::atomic<int> runs{0};
  auto timer = this->simulated->create_timer(1s, [&] { ++runs; });
  const Spinning spinning(*this->executor);
  ASSERT_TRUE(this->publish_until(100s, [&] { return runs >= 1; }));
  ASSERT_TRUE(this->set_time(10s));
  const int before = runs;
  ASSERT_TRUE(this->publish_until(12s, [&] { return runs > before; }))
    << "a timer must not wait until the old time is reached again";
}

TYPED_TEST(SimulatedTime, is_not_held_up_by_a_callback_that_takes_long)
{
  if (std::is_same_v<typename TypeParam::Executor, PriorityEventsExecutor>) {
    GTEST_SKIP() << "an executor of one thread runs one callback at a time";
  }
  std::atomic<bool> saw_time_pass{false};
  auto busy = this->simulated->create_waitable(this->named("busy"), [&] {
    saw_time_pass = wait_for([&] { return this->simulated->now() == 5s; });
  });
  const Spinning spinning(*this->executor);
  busy->trigger();
  EXPECT_TRUE(this->publish_until(5s, [&] { return saw_time_pass.load(); }));
}

TYPED_TEST(SimulatedTime, comes_before_other_callbacks_that_wait)
{
  auto urgent = this->named("urgent", 100);
  urgent.queue_priority = 98;
  std::vector<std::chrono::nanoseconds> seen;
  auto busy =
    this->simulated->create_waitable(urgent, [&] { seen.push_back(this->simulated->now()); });
  ASSERT_TRUE(wait_for([&] { return this->publisher->subscription_count() == 1; }));
  // Both wait before anything runs; one thread calls them in order.
  busy->trigger();
  ClockMessage message;
  message.clock = to_message(3s);
  ASSERT_TRUE(wait_for([&] {
    this->publisher->publish(message);
    return this->executor->statistics()["/simulated/subscription/clock"].released > 0;
  }));
  this->executor->spin_some();
  ASSERT_EQ(seen.size(), 1U);
  EXPECT_EQ(seen[0], 3s);
}

// Both come from one thread, so they arrive in the order in which they were sent.
TYPED_TEST(SimulatedTime, what_a_message_of_the_clock_makes_due_comes_before_what_arrives_after_it)
{
  if (std::is_same_v<TypeParam, EventsReleaseAndExecute>) {
    GTEST_SKIP() << "timers have a thread of their own, and here it has no priority";
  }
  std::mutex mutex;
  std::string order;
  const auto note = [&](const char * what) {
    const std::lock_guard<std::mutex> lock(mutex);
    order += what;
  };
  const auto size = [&] {
    const std::lock_guard<std::mutex> lock(mutex);
    return order.size();
  };
  auto timer = this->simulated->create_timer(1s, [&] { note("t"); });
  auto subscription = this->simulated->template create_subscription<ClockMessage>(
    "data", QoS(100), [&](const ClockMessage &) { note("m"); });
  auto data = this->node->template create_publisher<ClockMessage>("data", QoS(100));
  ASSERT_TRUE(wait_for([&] { return data->subscription_count() == 1; }));
  const Spinning spinning(*this->executor);
  ASSERT_TRUE(this->publish_until(1s, [&] { return size() > 0; }));
  std::string expected = order;
  for (int i = 2; i < 42; ++i) {
    const bool is_clock_first = i % 2 == 0;
    ClockMessage clock;
    clock.clock = to_message(std::chrono::seconds(i));
    if (!is_clock_first) {
      data->publish(ClockMessage());
    }
    this->publisher->publish(clock);
    if (is_clock_first) {
      std::this_thread::sleep_for(std::chrono::microseconds(i % 4 == 0 ? 0 : 200));
      data->publish(ClockMessage());
    }
    expected += is_clock_first ? "tm" : "mt";
    ASSERT_TRUE(wait_for([&] { return size() == expected.size(); })) << order;
  }
  EXPECT_EQ(order, expected);
}

}  // namespace
}  // namespace rclrt_rcl
