// Copyright 2026 The rclrt Authors
// SPDX-License-Identifier: Apache-2.0

// What timers do to clocks of rclcpp, and clocks to timers: the rest is in the conformance suite.

#include <atomic>
#include <mutex>

#include "conformance/suite.hpp"
#include "rosgraph_msgs/msg/clock.hpp"

namespace rclrt_rclcpp
{
namespace
{

using namespace conformance;

class TimersOfRclcpp : public Suite
{
};
OVER_OUR_EXECUTORS(TimersOfRclcpp);

TEST_P(TimersOfRclcpp, leave_the_jump_callbacks_of_their_clock_to_those_who_made_them)
{
  // An action server adds and removes its own without the clock's mutex.
  const rcl_clock_t & clock = *node->get_clock()->get_clock_handle();
  const std::weak_ptr<rclcpp::Clock> weak = node->get_clock();
  std::atomic<int> ticks{0};
  auto timer = make_ros_timer(*node, 1s, [&] { ++ticks; });  // has one of its own
  const auto count = [&] {
    const std::lock_guard<std::mutex> lock(weak.lock()->get_clock_mutex());
    return clock.num_jump_callbacks;
  };
  const auto before = count();
  set_time(*node, 100s);
  {
    const Spinning spinning(*executor);
    executor->add_node(node);
    EXPECT_EQ(count(), before);
    EXPECT_TRUE(wait_for([&] {
      set_time(*node, std::chrono::seconds(101 + ticks));
      return ticks > 1;
    }));
    EXPECT_EQ(count(), before);
    timer.reset();
    executor->remove_node(node);
  }
  EXPECT_EQ(count(), before - 1);
}

TEST_P(TimersOfRclcpp, have_a_clock_that_is_told_while_nobody_spins_and_while_every_thread_waits)
{
  using rosgraph_msgs::msg::Clock;
  const auto simulator = make_node("simulator");
  const auto publisher = simulator->create_publisher<Clock>(clock_of_test(), 100);
  node = make_node("simulated", simulated(clock_of_test(), true));
  ASSERT_TRUE(wait_for([&] { return readers_of(*publisher) == 1; }));
  const auto expect_told = [&](int now_s, const char * when) {
    Clock clock;
    clock.clock.sec = now_s;
    publisher->publish(clock);
    EXPECT_TRUE(wait_for([&] { return time_of(*node) == std::chrono::seconds(now_s); })) << when;
  };
  std::atomic<bool> waits{false};
  std::atomic<bool> ended{false};
  const auto timer = node->create_wall_timer(1ms, [&] {
    waits = true;
    node->get_clock()->sleep_until(rclcpp::Time(1003, 0, RCL_ROS_TIME), context);
    ended = node->now().seconds() >= 1003;
  });
  executor->add_node(node);
  expect_told(1000, "before it spins");
  {
    const Spinning spinning(*executor);
    ASSERT_TRUE(wait_for([&] { return waits.load(); }));
    for (int now_s = 1001; now_s <= 1003; ++now_s) {
      expect_told(now_s, "while it spins");
    }
    EXPECT_TRUE(wait_for([&] { return ended.load(); }));
  }
  expect_told(1004, "after it has spun");
}

}  // namespace
}  // namespace rclrt_rclcpp
