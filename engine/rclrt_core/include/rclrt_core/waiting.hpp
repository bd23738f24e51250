// Copyright 2026 The rclrt Authors
// SPDX-License-Identifier: Apache-2.0

/// What a thread without work does until there is some: sleep at once, or look for it for a while first.
///
/// To wake a thread on a CPU that sleeps takes far longer than to queue a job and to find it. A thread that
/// looks for work needs no waking, and keeps its CPU awake. The price is CPU time.
#pragma once

#include <chrono>
#include <cstdint>

#include "rclrt_core/time.hpp"

namespace rclrt_core
{

enum class Waiting : uint8_t
{
  kBlock,     ///< sleep at once
  kSpin,      ///< look for work for `spin`, then sleep
  kAdaptive,  ///< sleep until the next job is likely, look for it then; if gaps are irregular, sleep
};

const char * to_string(Waiting waiting) noexcept;

/// A thread that looks for work gives way to all other threads: it has the attributes that the thread had which
/// called spin() (SCHED_OTHER, or it does not look at all), yields again and again, and stops for 100 ms when
/// another thread has taken its CPU for more than a millisecond. At most one thread of a lane looks, and at most
/// one thread less than there are CPUs: on a single CPU none does.
struct WaitingOptions
{
  Waiting kind = Waiting::kBlock;
  /// kSpin: for so long after the last job. kAdaptive: at most so long for one job. Not negative.
  Duration spin = std::chrono::milliseconds(1);
  /// kAdaptive: of the time of one CPU, spent on looking. 0 to 1.
  double max_share = 0.25;
  /// Not 0: while the engine spins, a thread on each CPU wakes after each such time, under SCHED_FIFO 1 (there is none
  /// if the timer thread is not under fifo or rr). For virtual machines in which a CPU with ordinary work learns late
  /// that a more urgent thread was woken for it: with a beat it learns it within this time. At least 50 us.
  Duration beat{0};
};

}  // namespace rclrt_core
