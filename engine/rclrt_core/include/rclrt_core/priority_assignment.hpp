// Copyright 2026 The rclrt Authors
// SPDX-License-Identifier: Apache-2.0

/// Deriving fixed priorities: rate-monotonic, deadline-monotonic, and from upstream publishers.
#ifndef RCLRT_CORE__PRIORITY_ASSIGNMENT_HPP_
#define RCLRT_CORE__PRIORITY_ASSIGNMENT_HPP_

#include <cstddef>
#include <string>
#include <vector>

#include "rclrt_core/status.hpp"
#include "rclrt_core/time.hpp"

namespace rclrt_core
{

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

#endif  // RCLRT_CORE__PRIORITY_ASSIGNMENT_HPP_
