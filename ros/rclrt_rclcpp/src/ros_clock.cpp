// Copyright 2026 The rclrt Authors
// SPDX-License-Identifier: Apache-2.0

#include "ros_clock.hpp"

#include <algorithm>
#include <mutex>

#include "rcl/error_handling.h"
#include "rcl/time.h"

namespace rclrt_rclcpp
{

RosClock::RosClock(const std::shared_ptr<rclcpp::Clock> & clock, rclrt_core::Engine & engine)
: clock_(clock), engine_(engine)
{
  simulated_ =
    engine_.add_clock([now_ns = now_ns_] { return now_ns->load(std::memory_order_relaxed); });
  look();
}

RosClock::~RosClock()
{
  for (const auto & weak : timers_) {
    if (const auto timer = weak.lock()) {
      // One that is being removed, and somebody still has it: the engine does not know it any more.
      static_cast<void>(engine_.set_timer_clock(timer, rclrt_core::kSystemClock));
    }
  }
  static_cast<void>(engine_.remove_clock(simulated_));
}

bool RosClock::is_used()
{
  timers_.erase(
    std::remove_if(
      timers_.begin(), timers_.end(), [](const auto & known) { return known.expired(); }),
    timers_.end());
  return !timers_.empty();
}

std::chrono::milliseconds RosClock::look()
{
  rcl_clock_t * handle = clock_->get_clock_handle();
  bool is_simulated = false;
  rcl_time_point_value_t now = 0;
  {
    const std::lock_guard<std::mutex> lock(clock_->get_clock_mutex());
    if (
      rcl_is_enabled_ros_time_override(handle, &is_simulated) != RCL_RET_OK ||
      (is_simulated && rcl_clock_get_now(handle, &now) != RCL_RET_OK)) {
      rcl_reset_error();
      is_simulated = false;
    }
  }
  const int64_t before = now_ns_->exchange(now, std::memory_order_relaxed);
  if (is_simulated != is_simulated_) {
    is_simulated_ = is_simulated;
    for (const auto & weak : timers_) {
      if (const auto timer = weak.lock()) {
        // One that has just been removed is none of the engine's any more.
        static_cast<void>(engine_.set_timer_clock(timer, id()));
      }
    }
  } else if (is_simulated && now != before) {
    engine_.clock_changed(simulated_);
  }
  return is_simulated ? kSimulatedClockPeriod : kSystemClockPeriod;
}

}  // namespace rclrt_rclcpp
