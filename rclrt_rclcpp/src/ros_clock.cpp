// Copyright 2026 The rclrt Authors
// SPDX-License-Identifier: Apache-2.0

#include "ros_clock.hpp"

#include <algorithm>
#include <mutex>

#include "next_definition.hpp"
#include "rcl/error_handling.h"
#include "rcl/time.h"
#include "rclrt_front_end/process_platform.hpp"

namespace rclrt_rclcpp
{
namespace
{

NextDefinition<rcl_ret_t(rcl_clock_t *, rcl_jump_threshold_t, rcl_jump_callback_t, void *)>
  next_add("rcl_clock_add_jump_callback");
NextDefinition<rcl_ret_t(rcl_clock_t *, rcl_jump_callback_t, void *)> next_remove(
  "rcl_clock_remove_jump_callback");

/// So that nothing is looked up, which takes the loader's lock, after start and under a mutex.
[[gnu::constructor]] void look_up_all()
{
  next_add.get();
  next_remove.get();
}

/// For all clocks: it is held for a few instructions, when something is made or destroyed. No other lock is taken
/// under it.
rclrt_front_end::PiMutex & jump_callbacks_mutex()
{
  static auto & mutex = *new rclrt_front_end::PiMutex;  // never destroyed: clocks may be static
  return mutex;
}

}  // namespace

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

// An action server of rclcpp adds and removes a jump callback of its node's clock without the clock's mutex. Timers
// do it with that mutex. The last owner of either may be a thread of the executor. So a program that makes and drops
// both in one thread would all the same have two threads reallocate the clock's array at once, which corrupts the
// heap. These definitions come before those of rcl, and call them.
extern "C" {

rcl_ret_t rcl_clock_add_jump_callback(
  rcl_clock_t * clock, rcl_jump_threshold_t threshold, rcl_jump_callback_t callback,
  void * user_data)
{
  auto * const next = rclrt_rclcpp::next_add.get();
  if (!next) {
    RCL_SET_ERROR_MSG("rclrt_rclcpp: no rcl_clock_add_jump_callback() is linked after it");
    return RCL_RET_ERROR;
  }
  const std::lock_guard<rclrt_front_end::PiMutex> lock(rclrt_rclcpp::jump_callbacks_mutex());
  return next(clock, threshold, callback, user_data);
}

rcl_ret_t rcl_clock_remove_jump_callback(
  rcl_clock_t * clock, rcl_jump_callback_t callback, void * user_data)
{
  auto * const next = rclrt_rclcpp::next_remove.get();
  if (!next) {
    RCL_SET_ERROR_MSG("rclrt_rclcpp: no rcl_clock_remove_jump_callback() is linked after it");
    return RCL_RET_ERROR;
  }
  const std::lock_guard<rclrt_front_end::PiMutex> lock(rclrt_rclcpp::jump_callbacks_mutex());
  return next(clock, callback, user_data);
}
}
