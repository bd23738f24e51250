// Copyright 2026 The rclrt Authors
// SPDX-License-Identifier: Apache-2.0

/// A context, nodes and an executor that spins in a thread of its own, for typed suites over our
/// executors and, as a control group, over those of rclcpp.
#ifndef FIXTURE_HPP_
#define FIXTURE_HPP_

#include <gtest/gtest.h>

#include <chrono>
#include <functional>
#include <memory>
#include <mutex>
#include <string>
#include <thread>
#include <type_traits>

#include "rcl/time.h"
#include "rclcpp/rclcpp.hpp"
#include "rclrt_rclcpp/callback_isolated_executor.hpp"
#include "rclrt_rclcpp/preemptive_executor.hpp"
#include "rclrt_rclcpp/priority_events_executor.hpp"
#include "versions.hpp"

#if !RCLRT_RCLCPP_IS_HUMBLE
#include "rclcpp/experimental/executors/events_executor/events_executor.hpp"
#include "rclcpp/experimental/executors/events_executor/simple_events_queue.hpp"
#endif

namespace rclrt_rclcpp
{

using std::chrono::milliseconds;
using std::chrono::seconds;

struct ReleaseAndExecuteOptions : PriorityEventsExecutorOptions
{
  ReleaseAndExecuteOptions() { release_and_execute = true; }
};

class ReleaseAndExecute : public PriorityEventsExecutor
{
public:
  explicit ReleaseAndExecute(const rclcpp::ExecutorOptions & options = rclcpp::ExecutorOptions())
  : PriorityEventsExecutor(options, ReleaseAndExecuteOptions())
  {
  }
};

#if RCLRT_RCLCPP_IS_HUMBLE

class RclcppEvents;  // there is none

// What services, clients and waitables take.
inline rmw_qos_profile_t qos_of_service(const rclcpp::QoS & qos)
{
  return qos.get_rmw_qos_profile();
}
using WaitSet = rcl_wait_set_t *;
using ReadyWaitSet = rcl_wait_set_t *;
using Data = std::shared_ptr<void> &;
inline rcl_wait_set_t & read(WaitSet wait_set) { return *wait_set; }

#else

inline const rclcpp::QoS & qos_of_service(const rclcpp::QoS & qos) { return qos; }
using WaitSet = rcl_wait_set_t &;
using ReadyWaitSet = const rcl_wait_set_t &;
using Data = const std::shared_ptr<void> &;
template <typename WaitSetT>
WaitSetT & read(WaitSetT & wait_set)
{
  return wait_set;
}

/// With the constructor that the others have.
class RclcppEvents : public rclcpp::experimental::executors::EventsExecutor
{
public:
  explicit RclcppEvents(const rclcpp::ExecutorOptions & options = rclcpp::ExecutorOptions())
  : EventsExecutor(
      std::make_unique<rclcpp::experimental::executors::SimpleEventsQueue>(), false, options)
  {
  }
};

#endif

// A sanitizer sees nothing of what rclcpp's library does, which is not built with one: when its executors
// let go of an entity, that looks like a race. So they are left out there, instead of suppressed, which
// would hide the same mistake of ours.
#if defined(RCLRT_SANITIZE_address) || defined(RCLRT_SANITIZE_thread)
using AllExecutors = ::testing::Types<
  PreemptiveExecutor, CallbackIsolatedExecutor, PriorityEventsExecutor, ReleaseAndExecute>;
#elif RCLRT_RCLCPP_IS_HUMBLE
using AllExecutors = ::testing::Types<
  PreemptiveExecutor, CallbackIsolatedExecutor, PriorityEventsExecutor, ReleaseAndExecute,
  rclcpp::executors::SingleThreadedExecutor, rclcpp::executors::MultiThreadedExecutor>;
#else
using AllExecutors = ::testing::Types<
  PreemptiveExecutor, CallbackIsolatedExecutor, PriorityEventsExecutor, ReleaseAndExecute,
  rclcpp::executors::SingleThreadedExecutor, rclcpp::executors::MultiThreadedExecutor,
  RclcppEvents>;
#endif

struct ExecutorNames
{
  template <typename T>
  static std::string GetName(int)
  {
    const std::pair<bool, const char *> names[] = {
      {std::is_same_v<T, PreemptiveExecutor>, "preemptive"},
      {std::is_same_v<T, CallbackIsolatedExecutor>, "isolated"},
      {std::is_same_v<T, PriorityEventsExecutor>, "events"},
      {std::is_same_v<T, ReleaseAndExecute>, "events_release_and_execute"},
      {std::is_same_v<T, rclcpp::executors::SingleThreadedExecutor>, "rclcpp_single"},
      {std::is_same_v<T, rclcpp::executors::MultiThreadedExecutor>, "rclcpp_multi"},
    };
    for (const auto & [is_it, name] : names) {
      if (is_it) {
        return name;
      }
    }
    return "rclcpp_events";
  }
};

/// Under Humble, rclcpp's own see a group that is made while they spin only when something else happens, and
/// may use what a dropped one had (rclcpp issue 2820).
template <typename ExecutorT>
constexpr bool kFollowsGroups =
  RCLRT_RCLCPP_IS_HUMBLE == 0 || std::is_base_of_v<EngineExecutor, ExecutorT>;

/// Waits until the condition holds; false when that takes too long.
inline bool wait_for(const std::function<bool()> & condition)
{
  const auto until = std::chrono::steady_clock::now() + seconds(30);
  while (!condition()) {
    if (std::chrono::steady_clock::now() > until) {
      return false;
    }
    std::this_thread::sleep_for(milliseconds(1));
  }
  return true;
}

/// Simulated time of the node, without messages.
inline void set_time(rclcpp::Node & node, std::chrono::nanoseconds now)
{
  rcl_clock_t * clock = node.get_clock()->get_clock_handle();
  const std::lock_guard<std::mutex> lock(node.get_clock()->get_clock_mutex());
  bool is_active = false;
  ASSERT_EQ(rcl_is_enabled_ros_time_override(clock, &is_active), RCL_RET_OK);
  if (!is_active) {
    ASSERT_EQ(rcl_enable_ros_time_override(clock), RCL_RET_OK);
  }
  ASSERT_EQ(rcl_set_ros_time_override(clock, now.count()), RCL_RET_OK);
}

/// As rcl has it: rclcpp's timers tell nobody.
inline void exchange_period(rclcpp::TimerBase & timer, std::chrono::nanoseconds period)
{
  int64_t former = 0;
  ASSERT_EQ(
    rcl_timer_exchange_period(timer.get_timer_handle().get(), period.count(), &former), RCL_RET_OK);
}

class WithContext : public testing::Test
{
protected:
  void SetUp() override
  {
    context_ = std::make_shared<rclcpp::Context>();
    context_->init(0, nullptr);
  }
  void TearDown() override { context_->shutdown("the test is over"); }

  std::shared_ptr<rclcpp::Node> make_node(
    const std::string & name, const rclcpp::NodeOptions & options = rclcpp::NodeOptions())
  {
    rclcpp::NodeOptions in_context = options;
    in_context.context(context_);
    return std::make_shared<rclcpp::Node>(name, in_context);
  }

  rclcpp::ExecutorOptions executor_options() const
  {
    rclcpp::ExecutorOptions options;
    options.context = context_;
    return options;
  }

  std::shared_ptr<rclcpp::Context> context_;
};

/// Spins while it exists.
class Spinning
{
public:
  explicit Spinning(rclcpp::Executor & executor)
  : executor_(executor), thread_([&executor] { executor.spin(); })
  {
    wait_for([&executor] { return executor.is_spinning(); });
  }
  ~Spinning()
  {
    executor_.cancel();
    thread_.join();
  }
  Spinning(const Spinning &) = delete;
  Spinning & operator=(const Spinning &) = delete;

private:
  rclcpp::Executor & executor_;
  std::thread thread_;
};

}  // namespace rclrt_rclcpp

#endif  // FIXTURE_HPP_
