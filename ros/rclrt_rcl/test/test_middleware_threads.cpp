// Copyright 2026 The rclrt Authors
// SPDX-License-Identifier: Apache-2.0

// The middleware's threads outrank the callbacks they wake.

#include <gtest/gtest.h>
#include <pthread.h>

#include <algorithm>
#include <atomic>
#include <functional>
#include <memory>
#include <string>
#include <thread>
#include <vector>

#include "fixture.hpp"
#include "rcl_interfaces/msg/log.hpp"
#include "rclrt_core/linux_platform.hpp"
#include "rclrt_front_end/on_rcl.hpp"

namespace rclrt_rcl
{
namespace
{

using rcl_interfaces::msg::Log;
using rclrt_core::Attributes;
using rclrt_core::AttributesMode;
using rclrt_core::SchedulingPolicy;
using namespace std::chrono_literals;

Attributes fifo(int priority)
{
  Attributes attributes;
  attributes.policy = SchedulingPolicy::kFifo;
  attributes.priority = priority;
  return attributes;
}

/// What is in force on threads of these names.
std::vector<Attributes> attributes_of(const std::function<bool(const std::string &)> & is_wanted)
{
  rclrt_core::LinuxPlatform platform;
  std::vector<Attributes> all;
  for (const auto & [id, name] : platform.threads()) {
    Attributes attributes;
    if (is_wanted(name) && platform.read_back(id, &attributes) == 0) {
      all.push_back(attributes);
    }
  }
  return all;
}

/// Of the middleware, that may be raised.
std::vector<Attributes> middleware_attributes()
{
  const auto middleware = rclrt_front_end::middleware_in_use();
  return attributes_of(
    [&middleware](const std::string & name) { return middleware.owns_thread(name); });
}

bool all_have(SchedulingPolicy policy, int priority)
{
  const auto all = middleware_attributes();
  return !all.empty() && std::all_of(all.begin(), all.end(), [&](const Attributes & attributes) {
    return attributes.policy == policy && attributes.priority == priority;
  });
}

bool mentions(const PreemptiveExecutor & executor, const std::string & text)
{
  const auto findings = executor.findings();
  return std::any_of(findings.begin(), findings.end(), [&](const auto & finding) {
    return to_string(finding).find(text) != std::string::npos;
  });
}

class MiddlewareThreadsTest : public WithContext
{
protected:
  void SetUp() override
  {
    rclrt_core::LinuxPlatform platform;
    Attributes before;
    ASSERT_EQ(platform.read_back(platform.current_thread(), &before), 0);
    if (const int error = platform.apply(platform.current_thread(), fifo(1))) {
      GTEST_SKIP() << "real-time scheduling is refused: "
                   << to_string(platform.explain("this test", fifo(1), error));
    }
    ASSERT_EQ(platform.apply(platform.current_thread(), before), 0);
  }

  static TimerOptions urgent(int priority)
  {
    TimerOptions options;
    options.scheduling.attributes = fifo(priority);
    return options;
  }
};

TEST_F(MiddlewareThreadsTest, are_one_above_the_most_urgent_callback_while_it_spins)
{
  auto node = make_node("node");
  PreemptiveExecutor executor(options<PreemptiveExecutorOptions>());
  auto timer = node->create_wall_timer(1ms, [] {}, urgent(10));
  executor.add_node(node);
  ASSERT_TRUE(all_have(SchedulingPolicy::kOther, 0));
  {
    const Spinning spinning(executor);
    EXPECT_TRUE(wait_for([] { return all_have(SchedulingPolicy::kFifo, 11); }));
    auto more = node->create_wall_timer(1ms, [] {}, urgent(20));
    EXPECT_TRUE(all_have(SchedulingPolicy::kFifo, 21));
    EXPECT_FALSE(mentions(executor, "middleware")) << "nothing to complain about";
  }
  EXPECT_TRUE(all_have(SchedulingPolicy::kOther, 0)) << "they get back what they had";
}

// Fast DDS' dds.asyn.* would keep the CPU from the thread whose lock they want.
TEST_F(MiddlewareThreadsTest, that_wait_without_sleeping_are_not_raised)
{
  const auto middleware = rclrt_front_end::middleware_in_use();
  const auto busy_waiting = [&middleware] {
    return attributes_of([&middleware](const std::string & name) {
      const auto & names = middleware.busy_waiting;
      return std::any_of(names.begin(), names.end(), [&name](const std::string & pattern) {
        return name.rfind(pattern.substr(0, pattern.size() - 1), 0) == 0;
      });
    });
  };
  auto node = make_node("node");
  auto publisher = node->create_publisher<Log>("topic", 10);
  if (busy_waiting().empty()) {
    GTEST_SKIP() << "no thread of " << middleware.rmw << " is known to do so";
  }
  PreemptiveExecutor executor(options<PreemptiveExecutorOptions>());
  std::atomic<int> runs{0};
  auto timer = node->create_wall_timer(1ms, [&] { runs += 1; }, urgent(10));
  executor.add_node(node);
  const Spinning spinning(executor);
  EXPECT_TRUE(wait_for([&] { return runs > 3 && all_have(SchedulingPolicy::kFifo, 11); }));
  for (const Attributes & attributes : busy_waiting()) {
    EXPECT_EQ(attributes.policy, SchedulingPolicy::kOther);
  }
}

TEST_F(MiddlewareThreadsTest, and_the_timer_thread_follow_the_most_urgent_callback)
{
  auto node = make_node("node");
  PreemptiveExecutor executor(options<PreemptiveExecutorOptions>());
  auto timer = node->create_wall_timer(1ms, [] {}, urgent(10));
  executor.add_node(node);
  const Spinning spinning(executor);
  const auto timer_thread_has = [&](int priority) {
    const auto threads = executor.threads();
    return std::any_of(threads.begin(), threads.end(), [&](const auto & thread) {
      return thread.name == "rclrt timers" && thread.in_force.priority == priority;
    });
  };
  EXPECT_TRUE(wait_for([&] { return timer_thread_has(11); }));
  executor.set_attributes(*timer, fifo(30));
  EXPECT_TRUE(wait_for([&] { return timer_thread_has(31); }));
}

TEST_F(MiddlewareThreadsTest, stay_alone_without_urgent_callbacks)
{
  auto node = make_node("node");
  PreemptiveExecutor executor(options<PreemptiveExecutorOptions>());
  std::atomic<int> runs{0};
  auto timer = node->create_wall_timer(1ms, [&] { ++runs; });
  executor.add_node(node);
  const Spinning spinning(executor);
  EXPECT_TRUE(wait_for([&] { return runs > 3; }));
  EXPECT_TRUE(all_have(SchedulingPolicy::kOther, 0));
}

TEST_F(MiddlewareThreadsTest, that_appear_later_are_raised_when_they_notify)
{
  PreemptiveExecutorOptions with_attributes = options<PreemptiveExecutorOptions>();
  with_attributes.middleware_threads.attributes = fifo(30);
  PreemptiveExecutor executor(with_attributes);
  auto node = make_node("node");
  executor.add_node(node);
  std::atomic<int> runs{0};
  Scheduling named;
  named.name = "w";
  auto waitable = node->create_waitable(named, [&] { ++runs; });
  const Spinning spinning(executor);
  ASSERT_TRUE(wait_for([] { return all_have(SchedulingPolicy::kFifo, 30); }));
  // By its name this is one of the middleware's; which of the real ones notifies, and when it first
  // does, is up to the middleware.
  Attributes before;
  Attributes after;
  std::thread late([&] {
    rclrt_core::LinuxPlatform platform;
    std::string name = rclrt_front_end::middleware_in_use().threads.at(0);
    if (name.back() == '*') {
      name.replace(name.size() - 1, 1, "late");
    }
    pthread_setname_np(pthread_self(), name.c_str());
    platform.read_back(platform.current_thread(), &before);
    waitable->trigger();
    platform.read_back(platform.current_thread(), &after);
  });
  late.join();
  EXPECT_EQ(before.policy, SchedulingPolicy::kOther);
  EXPECT_EQ(after.policy, SchedulingPolicy::kFifo);
  EXPECT_EQ(after.priority, 30);
  EXPECT_TRUE(wait_for([&] { return runs == 1; }));
}

TEST_F(MiddlewareThreadsTest, that_are_outranked_are_a_finding)
{
  auto node = make_node("node");
  PreemptiveExecutorOptions off = options<PreemptiveExecutorOptions>();
  off.middleware_threads.mode = AttributesMode::kOff;
  PreemptiveExecutor executor(off);
  auto timer = node->create_wall_timer(1ms, [] {}, urgent(10));
  executor.add_node(node);
  const Spinning spinning(executor);
  EXPECT_TRUE(wait_for(
    [&] { return mentions(executor, "are not more urgent than '/node/timer/1ms' (fifo 10)"); }));
  EXPECT_TRUE(all_have(SchedulingPolicy::kOther, 0));
}

TEST_F(MiddlewareThreadsTest, cannot_outrank_99)
{
  auto node = make_node("node");
  PreemptiveExecutor executor(options<PreemptiveExecutorOptions>());
  auto timer = node->create_wall_timer(1h, [] {}, urgent(99));
  executor.add_node(node);
  const Spinning spinning(executor);
  EXPECT_TRUE(wait_for([&] { return mentions(executor, "(fifo 99)"); }));
}

}  // namespace
}  // namespace rclrt_rcl
