// Copyright 2026 The rclrt Authors
// SPDX-License-Identifier: Apache-2.0

/// How many messages a second may come from a client, or for a topic, before they lose their urgency.
#ifndef ALLOWANCE_HPP_
#define ALLOWANCE_HPP_

#include <algorithm>
#include <chrono>

#include "rclrt_core/time.hpp"

namespace rclrt_agent
{

/// Not thread-safe.
class Allowance
{
public:
  /// `per_s`: 0 is without limit. A tenth of it may come at once, and one in any case.
  explicit Allowance(double per_s = 0) : per_s_(per_s), left_(most()) {}

  /// Whether one more may come now; then it is used.
  bool use(rclrt_core::TimePoint now)
  {
    if (per_s_ <= 0) {
      return true;
    }
    const std::chrono::duration<double> passed = now - at_;
    left_ = std::min(most(), left_ + std::max(0.0, passed.count()) * per_s_);
    at_ = now;
    const bool may = left_ >= 1;
    left_ -= may ? 1 : 0;
    return may;
  }

private:
  double most() const { return std::max(1.0, per_s_ / 10); }

  double per_s_;
  double left_;
  rclrt_core::TimePoint at_{};
};

}  // namespace rclrt_agent

#endif  // ALLOWANCE_HPP_
