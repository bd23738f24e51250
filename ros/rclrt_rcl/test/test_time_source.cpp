// Copyright 2026 The rclrt Authors
// SPDX-License-Identifier: Apache-2.0

// Simulated time from /clock, and what only these timers promise: the rest is in the conformance suite.

#include <gtest/gtest.h>

#include <atomic>
#include <chrono>
#include <memory>
#include <thread>
#include <vector>

#include "fixture.hpp"
#include "rosgraph_msgs/msg/clock.hpp"

namespace rclrt_rcl
{
namespace
{

using ClockMessage = rosgraph_msgs::msg::Clock;
using namespace std::chrono_literals;

class Timers : public Suite
{
};
OVER_OUR_EXECUTORS(Timers);

TEST_P(Timers, a_one_shot_that_is_reset_when_its_job_has_been_picked_runs_again)
{
  int runs = 0;
  const auto & clock = node->clock();
  clock->set_simulated_time(1000s);
  TimerOptions options;
  options.one_shot = true;
  auto timer = node->create_timer(10ms, [&] { ++runs; }, options);
  executor->add_node(node);
  timer->reset();
  EXPECT_TRUE(timer->take_and_run({}, timer->stay()));  // as the thread does that had picked it
  EXPECT_EQ(runs, 1);
  EXPECT_FALSE(timer->is_canceled());
  clock->set_simulated_time(1000s + 10ms);
  executor->spin_some();
  EXPECT_EQ(runs, 2);
  EXPECT_TRUE(timer->is_canceled());
}

TEST_P(Timers, with_queue_all_every_missed_release_runs)
{
  int runs = 0;
  TimerOptions options;
  options.scheduling.overrun_rule = rclrt_core::OverrunRule::kQueueAll;
  auto timer = node->create_wall_timer(2ms, [&] { ++runs; }, options);
  executor->add_node(node);
  std::this_thread::sleep_for(20ms);
  executor->spin_some();
  EXPECT_GE(runs, 9);
}

TEST_P(Timers, a_one_shot_that_was_released_and_did_not_run_is_not_lost_with_its_executor)
{
  int runs = 0;
  const auto & clock = node->clock();
  clock->set_simulated_time(1000s);
  TimerOptions options;
  options.one_shot = true;
  auto timer = node->create_timer(10ms, [&] { ++runs; }, options);
  executor->add_node(node);
  clock->set_simulated_time(1001s);  // now it waits
  executor->remove_node(node);
  auto second = make_executor();
  second->add_node(node);
  second->spin_some();
  EXPECT_EQ(runs, 1);
  second->remove_node(node);
  EXPECT_TRUE(timer->is_canceled());
  auto third = make_executor();
  third->add_node(node);
  third->spin_some();
  EXPECT_EQ(runs, 1) << "it has run";
}

TEST_P(Timers, that_are_gone_leave_their_clock_to_its_end)
{
  auto other = make_node("other");
  auto timer = other->create_timer(10ms, [] {});
  executor->add_node(other);
  executor->spin_some();
  const std::weak_ptr<Clock> clock = other->clock();
  timer.reset();
  executor->remove_node(other);
  other.reset();
  EXPECT_TRUE(clock.expired());
}

class SimulatedTime : public Suite
{
protected:
  void SetUp() override
  {
    NodeOptions options;
    options.arguments = {"--ros-args", "-p", "use_sim_time:=true"};
    simulated = make_node("simulated", options);
    executor->add_node(simulated);
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
    node->create_publisher<ClockMessage>("/clock", QoS::clock());
  std::shared_ptr<Node> simulated;
};
OVER_OUR_EXECUTORS(SimulatedTime);

TEST_P(SimulatedTime, is_zero_before_the_first_message_and_then_what_they_say)
{
  EXPECT_TRUE(simulated->clock()->is_simulated());
  EXPECT_EQ(simulated->now(), 0ns);
  EXPECT_FALSE(node->clock()->is_simulated());
  const Spinning spinning(*executor);
  EXPECT_TRUE(set_time(5s));
  EXPECT_TRUE(set_time(6s));
  EXPECT_TRUE(set_time(1s)) << "time may be set back";
}

TEST_P(SimulatedTime, drives_timers_and_nothing_else_does)
{
  std::atomic<int> runs{0};
  auto timer = simulated->create_timer(1s, [&] { ++runs; });
  const Spinning spinning(*executor);
  ASSERT_TRUE(set_time(500ms));
  EXPECT_EQ(runs, 0);
  ASSERT_TRUE(publish_until(1s, [&] { return runs == 1; }));
  ASSERT_TRUE(set_time(1900ms));
  EXPECT_EQ(runs, 1);
  ASSERT_TRUE(publish_until(2s, [&] { return runs == 2; }));
}

TEST_P(SimulatedTime, is_not_held_up_by_a_callback_that_takes_long)
{
  if (!conformance::has_threads(GetParam())) {
    GTEST_SKIP() << "an executor of one thread runs one callback at a time";
  }
  std::atomic<bool> saw_time_pass{false};
  auto busy = simulated->create_waitable(
    named("busy"), [&] { saw_time_pass = wait_for([&] { return simulated->now() == 5s; }); });
  const Spinning spinning(*executor);
  busy->trigger();
  EXPECT_TRUE(publish_until(5s, [&] { return saw_time_pass.load(); }));
}

TEST_P(SimulatedTime, comes_before_other_callbacks_that_wait)
{
  auto urgent = named("urgent", 100);
  urgent.queue_priority = 98;
  std::vector<std::chrono::nanoseconds> seen;
  auto busy = simulated->create_waitable(urgent, [&] { seen.push_back(simulated->now()); });
  ASSERT_TRUE(wait_for([&] { return publisher->subscription_count() == 1; }));
  // Both wait before anything runs; one thread calls them in order.
  busy->trigger();
  ClockMessage message;
  message.clock = to_message(3s);
  ASSERT_TRUE(wait_for([&] {
    publisher->publish(message);
    return executor->statistics()["/simulated/subscription/clock"].released > 0;
  }));
  executor->spin_some();
  ASSERT_EQ(seen.size(), 1U);
  EXPECT_EQ(seen[0], 3s);
}

}  // namespace
}  // namespace rclrt_rcl
