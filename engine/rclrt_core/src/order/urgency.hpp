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
///
/// And what it asks of the thread that runs it:
///
///   asked     attributes as a user wrote them, for a callback, a group or the timer thread; completed by
///             what the thread has that spins (attribute_table.hpp)
///   demand    what a thread must be given: policy and deadline of one job, perhaps lent; CPUs of another
///   in force  what the OS says a thread has (settle.hpp)
#pragma once

#include <cstdint>

#include "rclrt_core/attributes.hpp"
#include "rclrt_core/time.hpp"
#include "rclrt_trace/record.h"

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

/// An entry of the AttributeTable.
struct AttributesEntry
{
  Attributes asked;
  // What follows is completed from the base: written by AttributeTable under both locks of the engine, read
  // under either.
  Attributes complete;                       ///< as put in force
  uint32_t level = 0;                        ///< see urgency_level()
  int64_t relative_deadline_ns = INT64_MAX;  ///< of SCHED_DEADLINE
  uint32_t cpus = 0;                         ///< entries with the same number allow the same CPUs
  bool asks_for_cpus = false;
  // As in a trace record.
  uint8_t policy_in_trace = RCLRT_POLICY_UNKNOWN;
  int16_t priority_in_trace = 0;
  uint64_t cpus_in_trace = 0;

  bool is_ext() const noexcept { return asked.scheduling_policy == SchedulingPolicy::kExt; }
};

/// What a job asks of a thread, or what a thread has in force. Urgency can be lent, CPUs cannot: so they may
/// come from different entries.
struct Demand
{
  const AttributesEntry * attributes = nullptr;
  const AttributesEntry * cpus = nullptr;
  TimePoint deadline = kNever;  ///< of the job, if `attributes` are ext; else kNever
  bool rests = false;           ///< ext: the thread has no job

  uint32_t level() const noexcept { return attributes->level; }
  int64_t os_deadline_ns() const noexcept
  {
    return attributes->is_ext() ? nanoseconds_of(deadline) : attributes->relative_deadline_ns;
  }
  friend bool operator==(const Demand & a, const Demand & b) noexcept
  {
    return a.attributes == b.attributes && a.cpus == b.cpus && a.deadline == b.deadline &&
           a.rests == b.rests;
  }
  friend bool operator!=(const Demand & a, const Demand & b) noexcept { return !(a == b); }
};

inline bool outranks(const Demand & a, const Demand & b) noexcept
{
  return outranks(a.level(), a.os_deadline_ns(), b.level(), b.os_deadline_ns());
}

inline bool same_cpus(const Demand & a, const Demand & b) noexcept
{
  return a.cpus->cpus == b.cpus->cpus;
}

/// Whether a thread with `present` can do the work of one with `needed`: a less urgent one might not get a
/// CPU for a long time, nor might one that may not run where the job may.
inline bool suffices(const Demand & present, const Demand & needed) noexcept
{
  return same_cpus(present, needed) && !outranks(needed, present);
}

}  // namespace rclrt_core
