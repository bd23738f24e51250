// Copyright 2026 The rclrt Authors
// SPDX-License-Identifier: Apache-2.0

/// Lets a timer's time pass. An executor is the driver while it has the timer.
///
/// Called with the timer's lock held: must not call the timer.
#ifndef RCLRT_RCL__TIMER_DRIVER_HPP_
#define RCLRT_RCL__TIMER_DRIVER_HPP_

#include <chrono>

namespace rclrt_rcl
{

class TimerDriver
{
public:
  virtual ~TimerDriver() = default;
  virtual void cancel() = 0;
  /// (Re)start: the next release is one period from now.
  virtual void reset() = 0;
  /// From the release after the next one on, or from reset().
  virtual void set_period(std::chrono::nanoseconds period) = 0;
  virtual bool is_cancelled() const = 0;
  /// On the timer's clock; negative when late, max() when cancelled.
  virtual std::chrono::nanoseconds time_until_release() const = 0;
};

}  // namespace rclrt_rcl

#endif  // RCLRT_RCL__TIMER_DRIVER_HPP_
