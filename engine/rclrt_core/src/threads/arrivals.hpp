// Copyright 2026 The rclrt Authors
// SPDX-License-Identifier: Apache-2.0

/// When the next job is likely: from the gaps between the end of work and the next job.
#pragma once

#include <algorithm>
#include <cstdint>
#include <cstdlib>

#include "rclrt_core/engine_options.hpp"

namespace rclrt_core
{

/// After a thread has become idle: it looks for work from `from` to `to`. Not at all if they are equal.
struct Look
{
  Duration from{0};
  Duration to{0};
  bool any() const noexcept { return from < to; }
};

/// Mean and mean deviation of the gaps, moving, as RFC 6298 estimates a round trip.
class Arrivals
{
public:
  void add(Duration gap) noexcept
  {
    // A pause is no gap: what comes after it is like what came before.
    const int64_t ns = std::min(gap, kLongest).count();
    if (count_ == 0) {
      mean_ns_ = ns;
      deviation_ns_ = ns / 2;
    } else {
      deviation_ns_ += (std::abs(ns - mean_ns_) - deviation_ns_) / 4;
      mean_ns_ += (ns - mean_ns_) / 8;
    }
    count_ = std::min(count_ + 1, kEnough);
  }

  Look look(const WaitingOptions & options) const noexcept
  {
    if (options.kind == Waiting::kSpin) {
      return {Duration{0}, options.spin};
    }
    if (options.kind == Waiting::kBlock || count_ < kEnough) {
      return {};
    }
    const int64_t to = mean_ns_ + 2 * deviation_ns_;
    const int64_t early = mean_ns_ - 2 * deviation_ns_ - Duration(kToWake).count();
    const int64_t from = early < Duration(kToWake).count() ? 0 : early;
    const bool is_short = to - from <= options.spin.count();
    // A job that comes in the middle ends the look: that is what it costs on average.
    const int64_t expected = mean_ns_ - from;
    const bool is_cheap =
      static_cast<double>(expected) <= options.max_share * static_cast<double>(mean_ns_);
    return is_short && is_cheap ? Look{Duration(from), Duration(to)} : Look{};
  }

private:
  static constexpr int kEnough = 8;
  static constexpr Duration kLongest = std::chrono::seconds(1);
  /// A thread that sleeps until a time comes that much too late, or less.
  static constexpr Duration kToWake = std::chrono::microseconds(100);

  int count_ = 0;
  int64_t mean_ns_ = 0;
  int64_t deviation_ns_ = 0;
};

}  // namespace rclrt_core
