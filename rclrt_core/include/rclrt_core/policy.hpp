// Copyright 2026 The rclrt Authors
// SPDX-License-Identifier: Apache-2.0

/// A scheduling policy: a total order on jobs.
///
/// Ties are broken everywhere by earlier release, then by sequence number, so that the order is
/// total and a run on the simulated platform is deterministic. Policies have no state; the three
/// objects live for the whole program and may be used from any thread.
#ifndef RCLRT_CORE__POLICY_HPP_
#define RCLRT_CORE__POLICY_HPP_

#include "rclrt_core/job.hpp"

namespace rclrt_core
{

class Policy
{
public:
  virtual ~Policy() = default;
  /// Whether `a` goes before `b`. A strict total order. Real-time safe.
  virtual bool more_urgent(const Job & a, const Job & b) const noexcept = 0;
  /// "fifo", "fixed_priority" or "edf".
  virtual const char * name() const noexcept = 0;
};

/// Order of release.
const Policy & fifo_policy() noexcept;
/// Larger Job::priority first. Rate- and deadline-monotonic are ways to choose the priorities,
/// see priority_assignment.hpp.
const Policy & fixed_priority_policy() noexcept;
/// Earlier absolute deadline first; jobs without a deadline come last.
const Policy & edf_policy() noexcept;

/// The tie-break shared by all policies.
inline bool released_before(const Job & a, const Job & b) noexcept
{
  return a.release != b.release ? a.release < b.release : a.sequence < b.sequence;
}

}  // namespace rclrt_core

#endif  // RCLRT_CORE__POLICY_HPP_
