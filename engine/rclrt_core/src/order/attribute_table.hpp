// Copyright 2026 The rclrt Authors
// SPDX-License-Identifier: Apache-2.0

/// What a job asks of the thread that runs it, and the table of all attributes in use.
///
///   asked     attributes as a user wrote them, for a callback, a group or the timer thread; completed by
///             what the thread has that spins
///   demand    what a thread must be given: policy and deadline of one job, perhaps lent; CPUs of another
///   in force  what the OS says a thread has
///
/// Attributes are 176 bytes. The engine keeps each distinct set once, in an entry that never moves and lives
/// as long as the engine; callbacks and threads point to entries and compare a few integers.
#ifndef ATTRIBUTE_TABLE_HPP_
#define ATTRIBUTE_TABLE_HPP_

#include <algorithm>
#include <cstdint>
#include <memory>
#include <vector>

#include "order/urgency.hpp"
#include "rclrt_core/attributes.hpp"
#include "rclrt_core/time.hpp"
#include "rclrt_trace/record.h"

namespace rclrt_core
{

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

  bool is_ext() const noexcept { return asked.policy == SchedulingPolicy::kExt; }
};

static_assert(
  static_cast<int>(SchedulingPolicy::kUnchanged) == RCLRT_POLICY_UNKNOWN &&
    static_cast<int>(SchedulingPolicy::kOther) == RCLRT_POLICY_OTHER &&
    static_cast<int>(SchedulingPolicy::kBatch) == RCLRT_POLICY_BATCH &&
    static_cast<int>(SchedulingPolicy::kIdle) == RCLRT_POLICY_IDLE &&
    static_cast<int>(SchedulingPolicy::kFifo) == RCLRT_POLICY_FIFO &&
    static_cast<int>(SchedulingPolicy::kRoundRobin) == RCLRT_POLICY_RR &&
    static_cast<int>(SchedulingPolicy::kDeadline) == RCLRT_POLICY_DEADLINE &&
    static_cast<int>(SchedulingPolicy::kExt) == RCLRT_POLICY_EXT &&
    std::size(kPolicies) == RCLRT_POLICY_EXT + 1,
  "policies have the same numbers in a trace");

/// The distinct attributes in use. Entry nothing() asks for nothing. The base is what the thread has that spins:
/// it completes every entry, so that putting one in force leaves nothing of the one before.
///
/// Changed under the configuration lock of the engine; set_base() also under its dispatch lock. Allocates.
class AttributeTable
{
public:
  AttributeTable() : nothing_(intern({})) {}

  /// Needs no lock: the entry never moves.
  const AttributesEntry & nothing() const noexcept { return nothing_; }

  /// O(n) in the distinct attributes.
  const AttributesEntry & intern(const Attributes & attributes)
  {
    for (const auto & entry : entries_) {
      if (entry->asked == attributes) {
        return *entry;
      }
    }
    entries_.push_back(std::make_unique<AttributesEntry>());
    entries_.back()->asked = attributes;
    complete(*entries_.back());
    return *entries_.back();
  }

  /// Not ext.
  void set_base(const Attributes & base)
  {
    base_ = base;
    for (const auto & entry : entries_) {
      complete(*entry);
    }
  }

private:
  void complete(AttributesEntry & entry)
  {
    Attributes & attributes = entry.complete;
    attributes = entry.asked;
    entry.asks_for_cpus = !entry.asked.cpu_affinity.empty();
    if (attributes.policy == SchedulingPolicy::kUnchanged) {
      attributes = base_;
      attributes.cpu_affinity = entry.asked.cpu_affinity;
    }
    if (attributes.cpu_affinity.empty()) {
      attributes.cpu_affinity = base_.cpu_affinity;
    }
    entry.level = urgency_level(attributes);
    entry.relative_deadline_ns =
      attributes.policy == SchedulingPolicy::kDeadline ? attributes.deadline.count() : INT64_MAX;
    entry.cpus = 0;
    while (entries_[entry.cpus]->complete.cpu_affinity != attributes.cpu_affinity) {
      ++entry.cpus;  // ends at the entry itself
    }
    entry.policy_in_trace = static_cast<uint8_t>(attributes.policy);
    entry.priority_in_trace = static_cast<int16_t>(
      is_fixed_priority(attributes.policy) ? attributes.priority : attributes.nice);
    const CpuSet::Words & words = attributes.cpu_affinity.words();
    const bool any_more = std::any_of(words.begin() + 1, words.end(), [](uint64_t w) { return w; });
    entry.cpus_in_trace = words[0] | (any_more ? RCLRT_TRACE_MORE_CPUS : 0);
  }

  std::vector<std::unique_ptr<AttributesEntry>> entries_;
  Attributes base_;
  const AttributesEntry & nothing_;
};

/// What a job asks of a thread, or what a thread has in force. Urgency can be lent, CPUs cannot: so they may
/// come from different entries.
struct Demand
{
  const AttributesEntry * policy = nullptr;
  const AttributesEntry * cpus = nullptr;
  TimePoint deadline = kNever;  ///< of the job, if `policy` is ext; else kNever
  bool rests = false;           ///< ext: the thread has no job

  uint32_t level() const noexcept { return policy->level; }
  int64_t os_deadline_ns() const noexcept
  {
    return policy->is_ext() ? nanoseconds_of(deadline) : policy->relative_deadline_ns;
  }
  friend bool operator==(const Demand & a, const Demand & b) noexcept
  {
    return a.policy == b.policy && a.cpus == b.cpus && a.deadline == b.deadline &&
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

#endif  // ATTRIBUTE_TABLE_HPP_
