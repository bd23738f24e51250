// Copyright 2026 The rclrt Authors
// SPDX-License-Identifier: Apache-2.0

#include "ros_clock.hpp"

#include <algorithm>

#include "rcl/time.h"

namespace rclrt_rclcpp
{

RosClock::RosClock(
  const std::shared_ptr<rclcpp::Clock> & clock,
  const std::shared_ptr<rclrt_config::ConfiguredEngine> & engine)
: clock_(clock), engine_(engine)
{
  // Called under the engine's lock: rcl reads an atomic, or the system's clock, without a lock.
  simulated_ = engine->engine().add_clock([clock] {
    rcl_time_point_value_t now = 0;
    return rcl_clock_get_now(clock->get_clock_handle(), &now) == RCL_RET_OK ? now : 0;
  });
}

std::shared_ptr<RosClock> RosClock::watch(
  const std::shared_ptr<rclcpp::Clock> & clock,
  const std::shared_ptr<rclrt_config::ConfiguredEngine> & engine,
  rclcpp::JumpHandler::SharedPtr * handler)
{
  std::shared_ptr<RosClock> watched(new RosClock(clock, engine));
  rcl_jump_threshold_t any;
  any.on_clock_change = true;
  any.min_forward.nanoseconds = 1;
  any.min_backward.nanoseconds = -1;
  *handler = clock->create_jump_callback(
    [] {},
    [weak = watched->weak_from_this()](const rcl_time_jump_t & jump) {
      if (const auto self = weak.lock()) {
        self->jumped(jump);
      }
    },
    any);
  const std::lock_guard<std::mutex> lock(watched->mutex_);
  watched->is_simulated_ = clock->ros_time_is_active();
  return watched;
}

RosClock::~RosClock()
{
  if (const auto engine = engine_.lock()) {
    // Fails if a timer that is being removed has not gone yet; then the engine keeps the clock.
    static_cast<void>(engine->engine().remove_clock(simulated_));
  }
}

bool RosClock::is_used()
{
  const std::lock_guard<std::mutex> lock(mutex_);
  forget_gone_timers();
  return !timers_.empty();
}

void RosClock::forget_gone_timers()
{
  timers_.erase(
    std::remove_if(
      timers_.begin(), timers_.end(), [](const auto & known) { return known.expired(); }),
    timers_.end());
}

rclrt_core::ClockId RosClock::id() const
{
  const std::lock_guard<std::mutex> lock(mutex_);
  return id_locked();
}

void RosClock::add(
  const std::shared_ptr<rclrt_core::Callback> & timer, rclrt_core::ClockId driven_by)
{
  const std::lock_guard<std::mutex> lock(mutex_);
  forget_gone_timers();
  timers_.push_back(timer);
  const auto engine = engine_.lock();
  if (engine && driven_by != id_locked()) {  // it has changed meanwhile
    static_cast<void>(engine->engine().set_timer_clock(timer, id_locked()));
  }
}

void RosClock::jumped(const rcl_time_jump_t & jump)
{
  const auto engine = engine_.lock();
  if (!engine) {
    return;
  }
  const std::lock_guard<std::mutex> lock(mutex_);
  const bool activated = jump.clock_change == RCL_ROS_TIME_ACTIVATED;
  if (activated || jump.clock_change == RCL_ROS_TIME_DEACTIVATED) {
    is_simulated_ = activated;
    for (const auto & weak : timers_) {
      if (const auto timer = weak.lock()) {
        // One that has just been removed is none of the engine's any more.
        static_cast<void>(engine->engine().set_timer_clock(
          timer, activated ? simulated_ : rclrt_core::kSystemClock));
      }
    }
  }
  engine->engine().clock_changed(simulated_);
}

}  // namespace rclrt_rclcpp
