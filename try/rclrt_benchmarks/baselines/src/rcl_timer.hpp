// Copyright 2026 The rclrt Authors
// SPDX-License-Identifier: Apache-2.0

// An rcl timer under one of ours: the time of rclcpp's timers, sampled by whoever waits.
#ifndef RCL_TIMER_HPP_
#define RCL_TIMER_HPP_

#include <chrono>
#include <functional>
#include <memory>
#include <optional>

#include "rcl/timer.h"
#include "rclrt_core/job.hpp"
#include "rclrt_rcl/context.hpp"
#include "rclrt_rcl/timer.hpp"

namespace rclrt_baselines
{

class RclTimer : public rclrt_rcl::TimerDriver
{
public:
  /// `on_reset` is called by reset(), with the timer's lock held.
  RclTimer(
    const rclrt_rcl::Timer & timer, std::shared_ptr<rclrt_rcl::Context> context,
    const rclrt_rcl::Timer::State & state, std::function<void()> on_reset);
  ~RclTimer() override;
  RclTimer(const RclTimer &) = delete;
  RclTimer & operator=(const RclTimer &) = delete;

  /// Move on to the next release and return the job of this one; nothing if it was cancelled. After
  /// a delay of several periods the next release lies in the future: what was missed is skipped.
  std::optional<rclrt_core::Job> call();
  bool is_ready() const;
  const rcl_timer_t * handle() const noexcept { return &handle_; }

  void cancel() override;
  void reset() override;
  void set_period(std::chrono::nanoseconds period) override;
  bool is_cancelled() const override;
  std::chrono::nanoseconds time_until_release() const override;

private:
  const std::shared_ptr<rclrt_rcl::Context> context_;
  const std::shared_ptr<rclrt_rcl::Clock> clock_;
  const bool one_shot_;
  const std::function<void()> on_reset_;
  rcl_timer_t handle_ = rcl_get_zero_initialized_timer();
};

}  // namespace rclrt_baselines

#endif  // RCL_TIMER_HPP_
