// Copyright 2026 The rclrt Authors
// SPDX-License-Identifier: Apache-2.0

/// The execution model: which lane serves which group.
#pragma once

#include <list>
#include <string>

#include "order/attribute_table.hpp"
#include "rclrt_core/engine.hpp"
#include "threads/dispatch.hpp"
#include "threads/life.hpp"

namespace rclrt_core
{

/// All under the engine's lock for configuration; the list changes under both locks, and is read under either.
class Lanes
{
public:
  Lanes(const EngineOptions & options, AttributeTable & table, Mutex & mutex, TimerClocks & clocks);

  std::list<Lane> & all() noexcept { return all_; }
  const std::list<Lane> & all() const noexcept { return all_; }
  /// The lane of the thread that spins, in the priority_events model.
  Lane & shared() const noexcept { return *shared_; }
  /// Events with release-and-execute; else null.
  Lane * of_timers() const noexcept { return of_timers_; }

  void place(GroupNode & group);
  /// Takes back what place() gave. The threads of a lane of its own end as soon as they are idle.
  void displace(GroupNode & group, const Life & life);

private:
  Lane & make(const std::string & name, const Attributes & attributes);

  const EngineOptions & options_;
  AttributeTable & table_;
  Mutex & mutex_;
  TimerClocks & clocks_;
  std::list<Lane> all_;
  Lane * shared_ = nullptr;     // events and pool; never changes
  Lane * of_timers_ = nullptr;  // never changes
};

}  // namespace rclrt_core
