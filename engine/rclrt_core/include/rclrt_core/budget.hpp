// Copyright 2026 The rclrt Authors
// SPDX-License-Identifier: Apache-2.0

/// A budget: how much CPU time the jobs of a callback, or of all callbacks of a group or of a chain, may use in each
/// period, and what happens to those that need more. docs/how-to/budgets.md says what it can do and what it cannot.
#pragma once

#include <chrono>
#include <cstdint>
#include <string>

#include "rclrt_core/status.hpp"
#include "rclrt_core/time.hpp"

namespace rclrt_core
{

enum class OnOverrun : uint8_t
{
  kDemote,  ///< to the end of the period, the callback's jobs run without the priority that it asks for
  kNotify,  ///< statistics count it, and a finding says so; nothing else
};

/// The word in parameters files: "demote", "notify".
const char * to_string(OnOverrun reaction) noexcept;

/// A period begins with the first job that starts after the period before. While a job runs, periods follow each other.
struct Budget
{
  // With less the thread that enforces budgets would do little else.
  static constexpr Duration kMinRuntime = std::chrono::microseconds(100);
  static constexpr Duration kMinPeriod = std::chrono::milliseconds(1);

  Duration runtime{0};  ///< CPU time of all jobs in a period together; 0: there is no budget
  Duration period{0};
  OnOverrun on_overrun = OnOverrun::kDemote;

  bool exists() const noexcept { return runtime != Duration::zero() || period != Duration::zero(); }
  friend bool operator==(const Budget & a, const Budget & b) noexcept
  {
    return a.runtime == b.runtime && a.period == b.period && a.on_overrun == b.on_overrun;
  }
};

/// The text names `subject`, the value and the range.
Status validate(const Budget & budget, const std::string & subject);

}  // namespace rclrt_core
