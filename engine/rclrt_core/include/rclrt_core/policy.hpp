// Copyright 2026 The rclrt Authors
// SPDX-License-Identifier: Apache-2.0

/// A policy: the order of jobs that the operating system holds equally urgent.
///
/// The scheduling policy, priority or deadline that the operating system enforces for a job's
/// thread comes first. A Policy orders jobs that are equal in that. Jobs that are equal for the
/// Policy, too, run in the order of their release. So the order is total, and a run on the
/// simulated platform is deterministic.
///
/// Policies have no state; the three objects live for the whole program and may be used from any thread.
#ifndef RCLRT_CORE__POLICY_HPP_
#define RCLRT_CORE__POLICY_HPP_

#include "rclrt_core/job.hpp"

namespace rclrt_core
{

class Policy
{
public:
  virtual ~Policy() = default;
  /// A job with a smaller rank goes first. Real-time safe.
  virtual int64_t rank(const Job & job) const noexcept = 0;
  /// "first_come", "fixed_priority" or "edf".
  virtual const char * name() const noexcept = 0;
};

/// All ranks are equal: order of release.
const Policy & first_come_policy() noexcept;
/// Larger Job::priority first. Rate- and deadline-monotonic are ways to choose the priorities,
/// see priority_assignment.hpp.
const Policy & fixed_priority_policy() noexcept;
/// Earlier absolute deadline first; jobs without a deadline come last.
const Policy & edf_policy() noexcept;

}  // namespace rclrt_core

#endif  // RCLRT_CORE__POLICY_HPP_
