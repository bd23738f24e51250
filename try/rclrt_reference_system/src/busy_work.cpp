// Copyright 2026 The rclrt Authors
// SPDX-License-Identifier: Apache-2.0

#include "rclrt_reference_system/busy_work.hpp"

#include <time.h>

#include <algorithm>
#include <chrono>
#include <cstdint>

namespace rclrt_reference_system
{

namespace
{

using rclrt_core::Duration;

/// A dependent chain: each step needs the one before, so that no processor does them in parallel.
void compute(uint64_t iterations) noexcept
{
  uint64_t value = iterations | 1;
  for (uint64_t i = 0; i < iterations; ++i) {
    // An odd multiplier of full width; the barrier keeps the compiler from folding the loop.
    value = value * 6364136223846793005u + 1442695040888963407u;
    asm volatile("" : "+r"(value));
  }
}

}  // namespace

Duration thread_cpu_time() noexcept
{
  timespec now{};
  clock_gettime(CLOCK_THREAD_CPUTIME_ID, &now);
  return std::chrono::seconds(now.tv_sec) + Duration(now.tv_nsec);
}

BusyWork BusyWork::calibrate()
{
  // The first rounds also wake a sleeping processor up; the fastest is the one least disturbed.
  constexpr int kRounds = 12;
  constexpr Duration kRound = std::chrono::milliseconds(5);
  double best = 0;
  uint64_t iterations = 100'000;
  for (int round = 0; round < kRounds; ++round) {
    const Duration start = thread_cpu_time();
    compute(iterations);
    const Duration took = std::max(thread_cpu_time() - start, Duration(1));
    const double per_ns = static_cast<double>(iterations) / static_cast<double>(took.count());
    best = std::max(best, per_ns);
    iterations = static_cast<uint64_t>(per_ns * static_cast<double>(kRound.count())) + 1;
  }
  return BusyWork(best * 1e6);
}

Duration BusyWork::run(Duration cpu_time) const noexcept
{
  using Clock = std::chrono::steady_clock;
  if (cpu_time <= Duration(0)) {
    return Duration(0);
  }
  const Clock::time_point began = Clock::now();
  const Duration end = thread_cpu_time() + cpu_time;
  const double per_ns = iterations_per_ms_ / 1e6;
  Clock::time_point before = began;
  Duration away{0};
  for (;;) {
    const Duration left = end - thread_cpu_time();
    if (left <= Duration(0)) {
      // Where the CPU clock goes on while the thread is away, that counts as work: then nothing took longer.
      return std::clamp(Duration(before - began) - cpu_time, Duration(0), away);
    }
    const Duration step = std::min(left, kStep);
    compute(static_cast<uint64_t>(static_cast<double>(step.count()) * per_ns) + 1);
    const Clock::time_point after = Clock::now();
    const Duration more = after - before - step;
    away += more > kAway ? more : Duration(0);
    before = after;
  }
}

}  // namespace rclrt_reference_system
