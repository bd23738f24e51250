// Copyright 2026 The rclrt Authors
// SPDX-License-Identifier: Apache-2.0

/// When the timer thread looks for due timers.
///
/// A timer is *covered* while a thread of its lane sleeps until its release, with the policy and CPUs that its job needs
/// in force. The thread that wakes then releases the timer and takes its job: one wake-up. The timer thread looks after
/// the timers that nobody covers. So at every moment, of each armed timer of CLOCK_MONOTONIC, one of these holds:
///
/// - a thread sleeps until its release at the latest, or at most 20 us less. When it wakes, also if another thread has taken
///   it from sleep for another job, it releases what is due and decides the alarm for the rest; it does not depend on its
///   waker;
/// - the alarm goes off at its release at the latest;
/// - a thread has decided an earlier alarm, and has not left the engine's lock for long. It sets the alarm before it wakes
///   anybody or runs a job.
///
/// If the thread that covers a timer does not get a CPU, another thread of its lane that ends a job releases the timer, or
/// the timer thread a period later, at most 100 ms.
///
/// An alarm that goes off in vain costs more than one that is set. So after the job of a timer the alarm is set to a later
/// time.
///
/// Locks: the number and time of the decision under the engine's; a lock of its own around one system call.
#pragma once

#include <atomic>
#include <memory>
#include <mutex>

#include "platform/forks.hpp"
#include "rclrt_core/platform.hpp"

namespace rclrt_core
{

class TimerAlarm
{
public:
  explicit TimerAlarm(Platform & platform) : mutex_(platform.make_mutex()) {}

  /// Under the lock for configuration, before a spin.
  void open(std::unique_ptr<Alarm> alarm)
  {
    const std::lock_guard<Mutex> lock(*mutex_);
    alarm_.swap(alarm);
    forks_ = count_forks();
  }

  // ---- Under the engine's lock

  /// Whether a thread waits for the alarm while the engine spins.
  bool is_used() const noexcept { return is_used_; }
  void use(bool is_used) noexcept
  {
    is_used_ = is_used;
    decide(kNever);
  }
  TimePoint decided() const noexcept { return time_point_of(time_ns_.load(kRelaxed)); }
  void decide(TimePoint time) noexcept
  {
    time_ns_.store(nanoseconds_of(time), kRelaxed);
    // Release: a thread that reads this number reads this time, or a later decision.
    number_.store(number_.load(kRelaxed) + 1, std::memory_order_release);
  }
  void no_later_than(TimePoint time) noexcept
  {
    if (is_used_ && time < decided()) {
      decide(time);
    }
  }

  // ---- Without it

  /// Whether the alarm is set to what was decided last, as far as this thread knows.
  bool is_set() const noexcept
  {
    // Acquire: as far as the thread knows that has set it, too.
    return set_.load(std::memory_order_acquire) == number_.load(kRelaxed);
  }
  /// If two threads call it, the second one sets the later decision, because numbers only grow.
  void set() noexcept
  {
    const std::lock_guard<Mutex> lock(*mutex_);
    const uint32_t number = number_.load(std::memory_order_acquire);
    // A child of this process would set the alarm of its parent.
    if (set_.load(kRelaxed) != number && alarm_ && forks_ == count_forks()) {
      alarm_->set(time_point_of(time_ns_.load(kRelaxed)));
      set_.store(number, std::memory_order_release);
    }
  }
  /// By the timer thread.
  void wait() noexcept { alarm_->wait(); }

private:
  static constexpr auto kRelaxed = std::memory_order_relaxed;

  const std::unique_ptr<Mutex> mutex_;
  std::unique_ptr<Alarm>
    alarm_;  ///< under `mutex_`, as the next one; while a spin lasts it does not change
  uint32_t forks_ = 0;
  bool is_used_ = false;
  // Written under the engine's lock.
  std::atomic<int64_t> time_ns_{nanoseconds_of(kNever)};
  std::atomic<uint32_t> number_{0};
  std::atomic<uint32_t> set_{0};  ///< written under `mutex_`
};

}  // namespace rclrt_core
