// Copyright 2026 The rclrt Authors
// SPDX-License-Identifier: Apache-2.0

// An rcl timer under one of ours: the time of rclcpp's timers, sampled by whoever waits.
#pragma once

#include <chrono>
#include <condition_variable>
#include <cstddef>
#include <functional>
#include <memory>
#include <mutex>
#include <optional>
#include <thread>
#include <vector>

#include "member.hpp"
#include "rcl/timer.h"
#include "rclrt_core/job.hpp"
#include "rclrt_core/time.hpp"
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

// The timers of a FifoEventsExecutor and the thread that calls them when they are due.
class TimersThread
{
public:
  /// `on_release` is called for each expiry, with the lock held.
  explicit TimersThread(
    std::function<void(const std::shared_ptr<Member> &, const rclrt_core::Job &)> on_release);
  ~TimersThread();
  TimersThread(const TimersThread &) = delete;
  TimersThread & operator=(const TimersThread &) = delete;

  void add(const std::shared_ptr<Member> & timer);
  void remove(const std::shared_ptr<Member> & timer);
  /// A timer was reset.
  void changed();

  void start();
  void stop();

  // While the thread does not run:

  std::size_t ready_count();
  /// kNever when there is none.
  rclrt_core::TimePoint next_release();
  /// Call the timer that is due first and hand out what is to be executed.
  bool take_due(std::shared_ptr<Member> * timer, rclrt_core::Job * job);

private:
  void run();
  std::shared_ptr<Member> head() const;
  void release_due();

  const std::function<void(const std::shared_ptr<Member> &, const rclrt_core::Job &)> on_release_;
  std::thread thread_;
  std::mutex mutex_;
  std::condition_variable changed_;
  // Guarded by mutex_:
  std::vector<std::shared_ptr<Member>> timers_;
  bool has_changed_ = false;
  bool stop_ = false;
};

}  // namespace rclrt_baselines
