// Copyright 2026 The rclrt Authors
// SPDX-License-Identifier: Apache-2.0

/// The table of all attributes in use. Attributes are 176 bytes. The engine keeps each distinct set once, in an entry
/// that never moves and lives as long as the engine; callbacks and threads point to entries and compare a few integers.
#pragma once

#include <algorithm>
#include <cstdint>
#include <memory>
#include <vector>

#include "order/urgency.hpp"
#include "rclrt_core/attributes.hpp"
#include "rclrt_trace/record.h"

namespace rclrt_core
{

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

  /// `base` has another policy than ext.
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
    if (attributes.scheduling_policy == SchedulingPolicy::kUnchanged) {
      attributes = base_;
      attributes.cpu_affinity = entry.asked.cpu_affinity;
    }
    if (attributes.cpu_affinity.empty()) {
      attributes.cpu_affinity = base_.cpu_affinity;
    }
    entry.level = urgency_level(attributes);
    entry.relative_deadline_ns = attributes.scheduling_policy == SchedulingPolicy::kDeadline
                                   ? attributes.deadline.count()
                                   : INT64_MAX;
    entry.cpus = 0;
    while (entries_[entry.cpus]->complete.cpu_affinity != attributes.cpu_affinity) {
      ++entry.cpus;  // ends at the entry itself
    }
    entry.policy_in_trace = static_cast<uint8_t>(attributes.scheduling_policy);
    entry.priority_in_trace = static_cast<int16_t>(
      is_fixed_priority(attributes.scheduling_policy) ? attributes.priority : attributes.nice);
    const CpuSet::Words & words = attributes.cpu_affinity.words();
    const bool any_more = std::any_of(words.begin() + 1, words.end(), [](uint64_t w) { return w; });
    entry.cpus_in_trace = words[0] | (any_more ? RCLRT_TRACE_MORE_CPUS : 0);
  }

  std::vector<std::unique_ptr<AttributesEntry>> entries_;
  Attributes base_;
  const AttributesEntry & nothing_;
};

}  // namespace rclrt_core
