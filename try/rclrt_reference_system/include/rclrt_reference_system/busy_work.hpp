// Copyright 2026 The rclrt Authors
// SPDX-License-Identifier: Apache-2.0

/// Simulated work: occupies the processor for a given time of the calling thread's CPU clock.
///
/// It is CPU time, not wall time: a thread that is preempted in the middle still works as long, as
/// real work would, so preemption is never free. The work is a chain of multiplications that touches
/// no memory; how many of them fit into a millisecond is measured first, so that the CPU clock (a
/// system call) is read only every kStep.
///
/// Cost: about 0.3 us of system calls per kStep, counted as part of the work. It is not a load for
/// caches or memory.
#pragma once

#include "rclrt_core/time.hpp"

namespace rclrt_reference_system
{

class BusyWork
{
public:
  /// Between two looks at the CPU clock. Also bounds how far work can overshoot when the processor
  /// is slower than when it was calibrated.
  static constexpr rclrt_core::Duration kStep = std::chrono::microseconds(100);

  /// Measure this processor: takes about 60 ms of CPU time of the calling thread.
  static BusyWork calibrate();

  /// For a known speed, e.g. one measured by another process.
  explicit BusyWork(double iterations_per_ms) : iterations_per_ms_(iterations_per_ms) {}

  double iterations_per_ms() const noexcept { return iterations_per_ms_; }

  /// Pauses that are shorter are not counted: the executor's own threads make them.
  static constexpr rclrt_core::Duration kAway = std::chrono::microseconds(100);

  /// Work for `cpu_time`; not at all if it is not positive. Returns how much longer that took since the thread was
  /// away: another one ran, or the machine did not. Thread-safe, real-time safe.
  rclrt_core::Duration run(rclrt_core::Duration cpu_time) const noexcept;

private:
  double iterations_per_ms_;
};

/// CLOCK_THREAD_CPUTIME_ID of the calling thread. Real-time safe; one system call.
rclrt_core::Duration thread_cpu_time() noexcept;

}  // namespace rclrt_reference_system
