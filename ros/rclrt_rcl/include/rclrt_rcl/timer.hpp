// Copyright 2026 The rclrt Authors
// SPDX-License-Identifier: Apache-2.0

/// A timer: a callback released every period of a clock.
///
/// Its time starts when it is made. The executor that has it drives it (TimerDriver). While no
/// executor has it, the phase is kept: the next executor goes on where the last one stopped. If a
/// release is due by then, it comes at once (one release, however many were missed).
#pragma once

#include <chrono>
#include <functional>
#include <memory>
#include <mutex>
#include <vector>

#include "rclrt_rcl/callback_group.hpp"
#include "rclrt_rcl/clock.hpp"
#include "rclrt_rcl/detail/trace_points.hpp"
#include "rclrt_rcl/entity.hpp"

namespace rclrt_rcl
{

/// Lets a timer's time pass. An executor is the driver while it has the timer.
///
/// Called with the timer's lock held: must not call the timer.
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

/// Facts about a release that a timer's callback may want to know.
struct TimerInfo
{
  /// Nominal release, on CLOCK_MONOTONIC.
  rclrt_core::TimePoint release;
  /// Now, on CLOCK_MONOTONIC.
  rclrt_core::TimePoint now;
};

class Timer : public Entity
{
public:
  using Callback = std::function<void(Timer &, const TimerInfo &)>;

  /// Errors: negative period.
  Timer(
    const EntitySetup & setup, std::shared_ptr<Clock> clock, std::chrono::nanoseconds period,
    bool one_shot, bool autostart, Callback callback, const detail::Symbol & symbol = {});
  ~Timer() override;

  std::chrono::nanoseconds period() const;
  const std::shared_ptr<Clock> & clock() const noexcept { return clock_; }
  bool is_one_shot() const noexcept { return one_shot_; }

  /// No release follows until reset(); a release that waits is dropped. From any thread, also from
  /// its own callback.
  void cancel();
  /// (Re)start: the next release is one period from now.
  void reset();
  bool is_canceled() const;
  /// From the release after the next one on, or from reset(). Errors: negative.
  void set_period(std::chrono::nanoseconds period);
  /// On the timer's clock; negative when late, max() when cancelled.
  std::chrono::nanoseconds time_until_trigger() const;

  /// Timers are not for wait sets: the executor drives them.
  std::vector<WaitHandle> wait_handles() override { return {}; }

  // For executors:

  /// The state that a driver needs to take over.
  struct State
  {
    std::chrono::nanoseconds period{0};
    bool cancelled = false;
    /// To the first release; negative when it is late.
    std::chrono::nanoseconds first{0};
  };
  using MakeDriver = std::function<std::shared_ptr<TimerDriver>(const State &)>;
  /// Hand the timer to the driver that `make` returns. The one before is let go first.
  void drive(const MakeDriver & make);
  /// Take it back. On return the driver is not called any more.
  void release_driver();

private:
  bool do_take_and_run(const rclrt_core::Job & job) override;
  void on_close() override;
  // Under the mutex:
  void release_driver_locked();
  void set_next(std::chrono::nanoseconds now, std::chrono::nanoseconds after);

  const std::shared_ptr<Clock> clock_;
  const bool one_shot_;
  const Callback callback_;

  /// Inherits priorities, because a one-shot timer takes it when it runs.
  const std::unique_ptr<rclrt_core::Mutex> mutex_;
  std::shared_ptr<TimerDriver> driver_;
  // The state while there is no driver:
  std::chrono::nanoseconds period_;
  bool cancelled_;
  bool fired_ = false;                       ///< one-shot: it has run since it was started
  std::chrono::nanoseconds next_{0};         ///< release, on the timer's clock
  std::chrono::nanoseconds next_set_at_{0};  ///< on the same clock
};

}  // namespace rclrt_rcl
