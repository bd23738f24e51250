// Copyright 2026 The rclrt Authors
// SPDX-License-Identifier: Apache-2.0

/// Options of a timer.
#ifndef RCLRT_RCL__TIMER_OPTIONS_HPP_
#define RCLRT_RCL__TIMER_OPTIONS_HPP_

#include <memory>

#include "rclrt_rcl/callback_group.hpp"
#include "rclrt_rcl/scheduling.hpp"

namespace rclrt_rcl
{

struct TimerOptions
{
  /// Null: the node's default group.
  std::shared_ptr<CallbackGroup> group;
  Scheduling scheduling;
  /// Release once, one period after start or reset().
  bool one_shot = false;
  /// Otherwise it is cancelled until reset().
  bool autostart = true;
};

}  // namespace rclrt_rcl

#endif  // RCLRT_RCL__TIMER_OPTIONS_HPP_
