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
#pragma once

#include <cstddef>
#include <cstdint>
#include <string>
#include <vector>

#include "rclrt_core/job.hpp"
#include "rclrt_core/status.hpp"
#include "rclrt_core/time.hpp"

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
  /// What the header of a trace says of it: a value of rclrt_trace_ordering.
  virtual uint8_t ordering() const noexcept = 0;
  /// Whether it needs the deadlines of messages, also of those from other processes.
  virtual bool uses_deadlines() const noexcept { return false; }
};

/// All ranks are equal: order of release.
const Policy & first_come_policy() noexcept;
/// Larger Job::priority first. Rate- and deadline-monotonic are ways to choose the priorities, see below.
const Policy & fixed_priority_policy() noexcept;
/// Earlier absolute deadline first; jobs without a deadline come last.
const Policy & edf_policy() noexcept;
/// All of them, for whatever finds one by its name.
std::vector<const Policy *> every_policy();

/// Deriving fixed priorities: rate-monotonic, deadline-monotonic, and from upstream publishers.

/// A callback as far as priorities are concerned.
struct PriorityTask
{
  std::string name;
  Duration period{0};                 ///< of a timer; 0 for everything else
  Duration relative_deadline{0};      ///< 0: equal to the period
  int priority = 0;                   ///< in: a given one, or 0; out: the one assigned, 1-99
  std::vector<std::size_t> upstream;  ///< indices of the tasks whose output triggers this one
};

/// The key by which timers are ranked.
enum class PriorityKey : unsigned char
{
  kRateMonotonic,      ///< shorter period, higher priority
  kDeadlineMonotonic,  ///< shorter relative deadline, higher priority
};

/// Give every task without a priority one in [lowest, highest]: timers by rank of their key (equal
/// keys share a priority), everything else the highest of its upstream tasks [Teper25 §VIII-C].
/// Given priorities are kept and inherited downstream like the others.
/// When there are more distinct keys than priorities, the least urgent share `lowest`.
/// Errors: a cycle of tasks without a timer or given priority, a task with neither period,
/// priority nor upstream, an index out of range, an impossible range.
Status assign_priorities(
  PriorityKey key, int lowest, int highest, std::vector<PriorityTask> * tasks);

}  // namespace rclrt_core
