// Copyright 2026 The rclrt Authors
// SPDX-License-Identifier: Apache-2.0

/// Points in time and durations of the engine: nanoseconds on CLOCK_MONOTONIC.
///
/// On the simulated platform the same types count virtual nanoseconds from zero.
#pragma once

#include <chrono>
#include <cstdint>

namespace rclrt_core
{

using Duration = std::chrono::nanoseconds;
using TimePoint = std::chrono::time_point<std::chrono::steady_clock, Duration>;

/// Later than every point in time: "no deadline", "wait for ever".
constexpr TimePoint kNever = TimePoint::max();

constexpr int64_t nanoseconds_of(TimePoint time) noexcept
{
  return time.time_since_epoch().count();
}

constexpr TimePoint time_point_of(int64_t nanoseconds) noexcept
{
  return TimePoint(Duration(nanoseconds));
}

/// `time + duration`, saturating at kNever instead of overflowing. `duration` is not negative.
constexpr TimePoint add_saturating(TimePoint time, Duration duration) noexcept
{
  return time > kNever - duration ? kNever : time + duration;
}

}  // namespace rclrt_core
