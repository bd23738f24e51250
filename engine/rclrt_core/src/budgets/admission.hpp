// Copyright 2026 The rclrt Authors
// SPDX-License-Identifier: Apache-2.0

/// Whose budgets fit: docs/decisions/0016-budgets.md has the rules.
#ifndef ADMISSION_HPP_
#define ADMISSION_HPP_

#include <vector>

#include "rclrt_core/budget.hpp"

namespace rclrt_core
{

struct Claim
{
  Budget budget;
  // The outcome:
  bool has_room = true;
  Duration period{0};  ///< in force
};

/// `claims` in the order in which they came; `capacity` in CPUs. The budgets that have room use at most that together.
void admit(double capacity, std::vector<Claim> * claims) noexcept;

}  // namespace rclrt_core

#endif  // ADMISSION_HPP_
