// Copyright 2026 The rclrt Authors
// SPDX-License-Identifier: Apache-2.0

/// The distinct attributes in use, by small number, so that threads and callbacks compare ints.
///
/// Entry 0 asks for nothing. Every entry is completed from the base, which is what the spinning thread has,
/// so that putting an entry in force leaves nothing of the previous one. Protected by the engine's lock.
/// Grows at configuration time; what inheritance adds later goes into room kept for it.
#ifndef ATTRIBUTE_TABLE_HPP_
#define ATTRIBUTE_TABLE_HPP_

#include <cstddef>
#include <vector>

#include "nodes.hpp"

namespace rclrt_core
{

class AttributeTable
{
public:
  AttributeTable()
  {
    entries_.reserve(kSpare + 1);
    entries_.emplace_back();
  }

  /// The number of `attributes`, entering them if they are new.
  AttributesId intern(const Attributes & attributes)
  {
    const AttributesId id = find(attributes);
    if (id == entries_.size()) {
      if (entries_.capacity() - entries_.size() < kSpare) {
        entries_.reserve(entries_.size() * 2 + kSpare);
      }
      entries_.push_back(attributes);
    }
    return id;
  }

  /// As intern(), but never allocates: gives `fallback` when the spare room is used up.
  AttributesId intern_without_allocating(const Attributes & attributes, AttributesId fallback)
  {
    const AttributesId id = find(attributes);
    if (id < entries_.size()) {
      return id;
    }
    if (entries_.size() == entries_.capacity()) {
      return fallback;
    }
    entries_.push_back(attributes);
    return id;
  }

  /// As asked for.
  const Attributes & asked(AttributesId id) const noexcept { return entries_[id]; }

  /// As put in force: what was not asked for is taken from the base.
  Attributes complete(AttributesId id) const noexcept
  {
    if (id == kUnknownAttributes) {
      return {};
    }
    Attributes attributes = entries_[id];
    if (attributes.policy == SchedulingPolicy::kUnchanged) {
      const CpuSet cpus = attributes.cpu_affinity;
      attributes = base_;
      attributes.cpu_affinity = cpus;
    }
    if (attributes.cpu_affinity.empty()) {
      attributes.cpu_affinity = base_.cpu_affinity;
    }
    return attributes;
  }

  /// Whether the deadline of the job is part of what it asks for.
  bool is_ext(AttributesId id) const noexcept
  {
    return id != kUnknownAttributes && entries_[id].policy == SchedulingPolicy::kExt;
  }

  /// Whether the OS prefers a thread with `a` over one with `b`.
  bool more_urgent(const Demand & a, const Demand & b) const noexcept
  {
    return is_ext(a.attributes) && is_ext(b.attributes)
             ? a.deadline < b.deadline
             : rclrt_core::more_urgent(complete(a.attributes), complete(b.attributes));
  }

  /// Whether threads with either may run on the same CPUs.
  bool same_cpus(AttributesId a, AttributesId b) const noexcept
  {
    return a == b || cpus_of(a) == cpus_of(b);
  }

  /// What to ask the OS for to get from one entry to another: the affinity only if it differs.
  Attributes change(AttributesId from, AttributesId to) const noexcept
  {
    Attributes attributes = complete(to);
    if (attributes.cpu_affinity == complete(from).cpu_affinity) {
      attributes.cpu_affinity = CpuSet();
    }
    return attributes;
  }

  /// Not ext.
  void set_base(const Attributes & base) { base_ = base; }

private:
  static constexpr std::size_t kSpare = 64;  // more priorities than a system inherits in practice

  const CpuSet & cpus_of(AttributesId id) const noexcept
  {
    const bool known = id != kUnknownAttributes && !entries_[id].cpu_affinity.empty();
    return (known ? entries_[id] : base_).cpu_affinity;
  }

  AttributesId find(const Attributes & attributes) const noexcept
  {
    AttributesId id = 0;
    while (id < entries_.size() && entries_[id] != attributes) {
      ++id;
    }
    return id;
  }

  std::vector<Attributes> entries_;
  Attributes base_;
};

}  // namespace rclrt_core

#endif  // ATTRIBUTE_TABLE_HPP_
