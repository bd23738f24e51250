// Copyright 2026 The rclrt Authors
// SPDX-License-Identifier: Apache-2.0

/// The clocks of an engine, each with the timers that it drives: CLOCK_MONOTONIC, CLOCK_REALTIME, and those that users add.
/// Without a lock of its own.
#ifndef TIMER_CLOCKS_HPP_
#define TIMER_CLOCKS_HPP_

#include <algorithm>
#include <chrono>
#include <functional>
#include <memory>
#include <vector>

#include "rclrt_core/engine.hpp"
#include "timers/timer_queue.hpp"

namespace rclrt_core
{

struct ClockState
{
  std::function<int64_t()> now_ns;  // empty: removed, to be used again
  TimerQueue queue;
  int64_t last_now_ns = INT64_MIN;
  bool driven = false;  // by a worker's sleep; else by clock_changed()
};

/// The list is changed under both locks of the engine and read under either; all else is under its `mutex`.
class TimerClocks
{
public:
  explicit TimerClocks(Platform & platform) : platform_(platform)
  {
    for (const ClockId clock : {kSteadyClock, kSystemClock}) {
      all_.push_back(std::make_unique<ClockState>());
      all_[clock]->driven = true;
    }
    all_[kSteadyClock]->now_ns = [&platform] { return nanoseconds_of(platform.now()); };
    all_[kSystemClock]->now_ns = [&platform] { return platform.system_now_ns(); };
  }

  ClockState & operator[](ClockId clock) const noexcept { return *all_[clock]; }
  bool has(ClockId clock) const noexcept { return clock < all_.size() && all_[clock]->now_ns; }
  /// The first one that is free. `lock` is taken when the list changes.
  ClockId add(std::function<int64_t()> now_ns, Mutex & mutex);
  void disarm(TimerNode & timer) const noexcept { all_[timer.clock]->queue.disarm(timer); }
  bool drive_simulated_timers() const noexcept;
  /// When the thread that releases timers has to be awake.
  TimePoint next_release() const noexcept;

private:
  Platform & platform_;
  std::vector<std::unique_ptr<ClockState>> all_;
};

}  // namespace rclrt_core

#endif  // TIMER_CLOCKS_HPP_
