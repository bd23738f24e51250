// Copyright 2026 The rclrt Authors
// SPDX-License-Identifier: Apache-2.0

#include "budgets/admission.hpp"

#include <algorithm>
#include <cmath>

namespace rclrt_core
{
namespace
{

// From the period to max_period.
constexpr int kSteps = 16;
// By how much sums of fractions may be wrong.
constexpr double kRounding = 1e-9;

bool is_low(const Claim & claim) { return claim.budget.criticality == Criticality::kLow; }

double share_of(const Claim & claim)
{
  return static_cast<double>(claim.budget.runtime.count()) /
         static_cast<double>(claim.period.count());
}

void stretch(Claim * claim, int step) noexcept
{
  const Budget & budget = claim->budget;
  const bool is_elastic = budget.max_period != Duration::zero();
  const Duration more = is_elastic ? budget.max_period - budget.period : Duration::zero();
  claim->period = budget.period + more / kSteps * step;
}

}  // namespace

void admit(double capacity, std::vector<Claim> * claims) noexcept
{
  double left = capacity + kRounding;
  const auto take_what_fits = [&](bool low) {
    for (Claim & claim : *claims) {
      if (is_low(claim) == low) {
        claim.has_room = share_of(claim) <= left;
        left -= claim.has_room ? share_of(claim) : 0;
      }
    }
  };
  for (Claim & claim : *claims) {
    stretch(&claim, 0);
  }
  take_what_fits(false);
  double wanted = left + 1;
  for (int step = 0; step <= kSteps && wanted > left; ++step) {
    wanted = 0;
    for (Claim & claim : *claims) {
      if (is_low(claim)) {
        stretch(&claim, step);
        wanted += share_of(claim);
      }
    }
  }
  take_what_fits(true);
}

}  // namespace rclrt_core
