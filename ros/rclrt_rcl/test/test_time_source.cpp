// Copyright 2026 The rclrt Authors
// SPDX-License-Identifier: Apache-2.0

// Simulated time from /clock, and what only these timers promise: the rest is in the conformance suite.

#include <gtest/gtest.h>

#include <atomic>
#include <chrono>
#include <memory>
#include <mutex>
#include <string>
#include <thread>
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
class Timers : public ExecutorSuite<T>
{
};
TYPED_TEST_SUITE(Timers, ExecutorTypes, ExecutorTypeNames);

TYPED_TEST(Timers, one_shot_runs_once_and_again_after_reset)
{
  std::atomic<int> runs{0};
  TimerOptions options;
  options.one_shot = true;
  auto timer = this->node->create_wall_timer(1ms, [&] { ++runs; }, options);
  this->executor->add_node(this->node);
  const Spinning spinning(*this->executor);
  EXPECT_TRUE(wait_for([&] { return runs == 1; }));
  std::this_thread::sleep_for(5ms);
  EXPECT_EQ(runs, 1);
  EXPECT_TRUE(timer->is_canceled());
  timer->reset();
  EXPECT_TRUE(wait_for([&] { return runs == 2; }));
}

TYPED_TEST(Timers, a_one_shot_that_is_reset_when_its_job_has_been_picked_runs_again)
{
  int runs = 0;
  const auto & clock = this->node->clock();
  clock->set_simulated_time(1000s);
  TimerOptions options;
  options.one_shot = true;
  auto timer = this->node->create_timer(10ms, [&] { ++runs; }, options);
  this->executor->add_node(this->node);
  timer->reset();
  EXPECT_TRUE(timer->take_and_run({}, timer->stay()));  // as the thread does that had picked it
  EXPECT_EQ(runs, 1);
  EXPECT_FALSE(timer->is_canceled());
  clock->set_simulated_time(1000s + 10ms);
  this->executor->spin_some();
  EXPECT_EQ(runs, 2);
  EXPECT_TRUE(timer->is_canceled());
}

TYPED_TEST(Timers, with_queue_all_every_missed_release_runs)
{
  int runs = 0;
  TimerOptions options;
  options.scheduling.overrun_rule = rclrt_core::OverrunRule::kQueueAll;
  auto timer = this->node->create_wall_timer(2ms, [&] { ++runs; }, options);
  this->executor->add_node(this->node);
  std::this_thread::sleep_for(20ms);
  this->executor->spin_some();
  EXPECT_GE(runs, 9);
}

TYPED_TEST(Timers, a_one_shot_that_was_released_and_did_not_run_is_not_lost_with_its_executor)
{
  int runs = 0;
  const auto & clock = this->node->clock();
  clock->set_simulated_time(1000s);
  TimerOptions options;
  options.one_shot = true;
  auto timer = this->node->create_timer(10ms, [&] { ++runs; }, options);
  this->executor->add_node(this->node);
  clock->set_simulated_time(1001s);  // now it waits
  this->executor->remove_node(this->node);
  auto second = this->make_executor();
  second->add_node(this->node);
  second->spin_some();
  EXPECT_EQ(runs, 1);
  second->remove_node(this->node);
  EXPECT_TRUE(timer->is_canceled());
  auto third = this->make_executor();
  third->add_node(this->node);
  third->spin_some();
  EXPECT_EQ(runs, 1) << "it has run";
}

TYPED_TEST(Timers, that_are_gone_leave_their_clock_to_its_end)
{
  auto other = this->make_node("other");
  auto timer = other->create_timer(10ms, [] {});
  this->executor->add_node(other);
  this->executor->spin_some();
  const std::weak_ptr<Clock> clock = other->clock();
  timer.reset();
  this->executor->remove_node(other);
  other.reset();
  EXPECT_TRUE(clock.expired());
}

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
