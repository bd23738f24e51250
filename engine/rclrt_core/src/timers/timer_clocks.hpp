// Copyright 2026 The rclrt Authors
// SPDX-License-Identifier: Apache-2.0

/// The clocks of an engine, each with the timers that it drives: CLOCK_MONOTONIC, CLOCK_REALTIME, and those that users add.
/// Without a lock of its own.
#pragma once

#include <algorithm>
#include <boost/intrusive/set.hpp>
#include <chrono>
#include <cstdint>
#include <functional>
#include <memory>
#include <vector>

#include "order/ready.hpp"
#include "rclrt_core/engine.hpp"
#include "timers/timer_alarm.hpp"

namespace rclrt_core
{

/// What makes a callback a timer.
struct TimerNode
{
  CallbackNode * callback = nullptr;
  SetHook in_queue;     // of TimerQueue, while armed
  int64_t next_ns = 0;  // nominal, on the timer's clock
  int64_t period_ns = 0;
  int64_t first_period_ns = 0;  // never changes
  uint32_t clock = 0;
  bool one_shot = false;
  bool cancelled = true;
  Worker * covered_by = nullptr;  // a thread that sleeps until its release: see timer_alarm.hpp

  /// It was added by Engine::add_clock(), and is not one of the engine's own two.
  bool follows_a_told_clock() const noexcept { return clock > 1; }
  /// Period 0: not in the queue, the end of a job is the next release.
  bool releases_when_done() const noexcept
  {
    return period_ns == 0 && !one_shot && !cancelled && !in_queue.is_linked();
  }
};

/// Armed timers of one clock, ordered by their next nominal release.
///
/// A data structure without a thread or lock: the engine's lock protects it and a worker that
/// drives timers looks at it. Nominal releases lie on the grid first + k * period, whatever the
/// lateness; how many of several due ones become jobs is the overrun rule's choice. Arm, disarm
/// and release are O(log n), whatever the number of missed periods.

/// `time_ns + duration_ns`, at most INT64_MAX and at least INT64_MIN / 2, so that any time can be
/// subtracted from a time of today.
inline int64_t add_saturating_ns(int64_t time_ns, int64_t duration_ns) noexcept
{
  int64_t sum_ns = 0;
  if (__builtin_add_overflow(time_ns, duration_ns, &sum_ns)) {
    return duration_ns < 0 ? INT64_MIN / 2 : INT64_MAX;
  }
  return std::max(sum_ns, INT64_MIN / 2);
}

class TimerQueue
{
public:
  bool empty() const noexcept { return timers_.empty() && covered_.empty(); }
  /// The next release of the earliest timer; INT64_MAX when there is none.
  int64_t next_ns() const noexcept { return std::min(next_of(timers_), next_of(covered_)); }

  void arm(TimerNode & timer, int64_t next_ns) noexcept;
  void disarm(TimerNode & timer) noexcept;

  /// The earliest timer that nobody covers, or that somebody covers, of which `is_it` holds; among the first `most`, with
  /// a release at `until_ns` or before.
  template <typename Predicate>
  TimerNode * find(int64_t until_ns, std::size_t most, const Predicate & is_it) noexcept
  {
    return find_in(timers_, until_ns, most, is_it);
  }
  template <typename Predicate>
  TimerNode * find_covered(int64_t until_ns, std::size_t most, const Predicate & is_it) noexcept
  {
    return find_in(covered_, until_ns, most, is_it);
  }
  /// An armed timer; null: nobody covers it any more.
  void set_covered(TimerNode & timer, Worker * worker) noexcept;
  /// Move a timer that is due at `now_ns` on to its first release after `now_ns` (disarm it if one-shot or without a
  /// period). Sets the nominal time of the last due release and how many earlier ones are due as well. Nobody covers
  /// it any more.
  void take(TimerNode & timer, int64_t now_ns, int64_t * nominal_ns, uint64_t * missed) noexcept;

  /// The clock went back to `now_ns`: every timer's next release is one period from there.
  void rebase(int64_t now_ns) noexcept;

private:
  struct Earlier
  {
    bool operator()(const TimerNode & a, const TimerNode & b) const noexcept
    {
      return a.next_ns != b.next_ns ? a.next_ns < b.next_ns : a.callback->id() < b.callback->id();
    }
  };

  using Timers = intrusive::multiset<
    TimerNode, intrusive::member_hook<TimerNode, SetHook, &TimerNode::in_queue>,
    intrusive::compare<Earlier>>;

  static int64_t next_of(const Timers & timers) noexcept
  {
    return timers.empty() ? INT64_MAX : timers.begin()->next_ns;
  }
  template <typename Predicate>
  static TimerNode * find_in(
    Timers & timers, int64_t until_ns, std::size_t most, const Predicate & is_it) noexcept
  {
    for (TimerNode & timer : timers) {
      if (timer.next_ns > until_ns || most-- == 0) {
        return nullptr;
      }
      if (is_it(timer)) {
        return &timer;
      }
    }
    return nullptr;
  }

  Timers timers_;
  Timers covered_;  // those that somebody covers
};

class Section;

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
  explicit TimerClocks(Platform & platform) : alarm(platform), platform_(platform)
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
  /// When the thread that releases timers has to be awake: for those that nobody covers, and that no thread will release
  /// with the one that it covers; and some time after the release of those that somebody covers, if that thread has not got
  /// a CPU. Looks at 64 timers, and 8 covered ones for each, at most.
  TimePoint next_release() const noexcept;
  /// The alarm goes off then at the latest: what was covered, or came with what was covered, may have to be looked after.
  void look_again(Section & section) noexcept;
  /// The timer thread looks at the lanes then at the latest: see Lane::look().
  void look_by(TimePoint time, Section & section) noexcept;
  /// By the timer thread: whether it is to look by now, which it does.
  bool ends_look() noexcept;

  /// The timer that this worker is to cover, now that it has nothing to do; null: none. One for each CPU are covered in a
  /// lane, but no short one that comes with another. `may_change`: also one for which it must have something else. Looks at
  /// as many timers as next_release().
  TimerNode * to_cover(const Worker & worker, std::size_t cpus, bool may_change) const noexcept;
  /// The worker, which has just lain down, covers it.
  void cover(Worker & worker, TimerNode & timer, Section & section) noexcept;
  /// And does so no more. Before it takes a job, it looks again.
  void uncover(Worker & worker) noexcept;
  /// Threads of the lane that cover a timer which is due by now come by themselves: no other is sent for in their place.
  /// O(n) in the sleepers.
  void expect(Lane & lane) const noexcept;
  /// A timer of the clock that is due: one that this worker releases, or the timer thread and those that do its work, if no
  /// worker is given. Null: none.
  static TimerNode * due(ClockState & clock, int64_t now_ns, const Worker * worker) noexcept;

  TimerAlarm alarm;

private:
  Platform & platform_;
  TimePoint look_ = kNever;  ///< at the lanes
  std::vector<std::unique_ptr<ClockState>> all_;
};

}  // namespace rclrt_core
