// Copyright 2026 The rclrt Authors
// SPDX-License-Identifier: Apache-2.0

/// How urgent a job is: the one order by which the engine decides everything.
///
/// 1. What the operating system enforces: SCHED_DEADLINE by relative deadline, then fifo and rr by
///    priority, then ext by absolute deadline, then the fair class by nice, then idle.
/// 2. Among jobs that the operating system holds equal: the policy of the executor.
/// 3. Among jobs that the policy holds equal: the callback that has been in line for longer: since the release
///    with which it began to wait or, if it had more jobs than could run, since it last began one.
///
/// So a policy can never contradict the operating system. The engine computes the urgency of a job when
/// the job is released, and again when its deadline or the attributes of its callback change.
#ifndef URGENCY_HPP_
#define URGENCY_HPP_

#include <cstdint>

#include "rclrt_core/attributes.hpp"

namespace rclrt_core
{

/// The part of 1 that does not depend on a deadline. A larger level is more urgent.
uint32_t urgency_level(const Attributes & attributes) noexcept;
/// From this level on, a more urgent thread preempts a less urgent one at once; below it, threads share the CPU.
constexpr uint32_t kFirstStrictLevel = 2 * 256;

struct Urgency
{
  uint32_t level = 0;
  int64_t os_deadline_ns = INT64_MAX;  ///< of SCHED_DEADLINE and ext; else INT64_MAX
  int64_t rank = 0;                    ///< by the policy; a smaller rank is more urgent
  int64_t release_ns = 0;  ///< the place in line, see Ready::take(): a release, then its number
  uint64_t sequence = 0;
};

/// Whether the operating system prefers `a`.
inline bool outranks(
  uint32_t level_a, int64_t os_deadline_a, uint32_t level_b, int64_t os_deadline_b) noexcept
{
  return level_a != level_b ? level_a > level_b : os_deadline_a < os_deadline_b;
}

/// A strict total order.
inline bool more_urgent(const Urgency & a, const Urgency & b) noexcept
{
  if (a.level != b.level || a.os_deadline_ns != b.os_deadline_ns) {
    return outranks(a.level, a.os_deadline_ns, b.level, b.os_deadline_ns);
  }
  if (a.rank != b.rank) {
    return a.rank < b.rank;
  }
  return a.release_ns != b.release_ns ? a.release_ns < b.release_ns : a.sequence < b.sequence;
}

}  // namespace rclrt_core

#endif  // URGENCY_HPP_
