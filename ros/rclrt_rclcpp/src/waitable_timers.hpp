// Copyright 2026 The rclrt Authors
// SPDX-License-Identifier: Apache-2.0

/// The timers inside a waitable, e.g. the one by which an action server forgets old results.
///
/// Nobody announces them: they are made to be seen by a wait set. So the executor looks at them now
/// and then, through a wait set in which nothing but due timers is left.
#pragma once

#include <chrono>
#include <memory>

#include "rcl/wait.h"
#include "rclcpp/context.hpp"
#include "rclcpp/waitable.hpp"
#include "rclrt_front_end/process_platform.hpp"

namespace rclrt_rclcpp
{

/// How often is looked, whatever clock the timers follow: what they do may be that late.
constexpr std::chrono::seconds kWaitableTimersPeriod(1);

/// Thread-safe.
class WaitableTimers
{
public:
  /// Throws rclcpp's exceptions.
  WaitableTimers(rclcpp::Waitable & waitable, const std::shared_ptr<rclcpp::Context> & context);
  ~WaitableTimers();
  WaitableTimers(const WaitableTimers &) = delete;
  WaitableTimers & operator=(const WaitableTimers &) = delete;

  /// Has the waitable do what is due. Returns whether there was anything.
  bool run(rclcpp::Waitable & waitable);

private:
  const std::shared_ptr<rclcpp::Context> context_;
  rclrt_front_end::PiMutex mutex_;
  rcl_wait_set_t wait_set_ = rcl_get_zero_initialized_wait_set();
};

}  // namespace rclrt_rclcpp
