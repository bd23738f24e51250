// Copyright 2026 The rclrt Authors
// SPDX-License-Identifier: Apache-2.0

/// The execution model: which lane serves which group.
#pragma once

#include <cstddef>
#include <list>
#include <memory>
#include <string>
#include <vector>

#include "order/attribute_table.hpp"
#include "threads/dispatch.hpp"

namespace rclrt_core
{

class Life;

/// All under the engine's lock for configuration; the list changes under both locks, and is read under either.
class Lanes
{
public:
  /// `cpus`: how many threads of a lane may come at a time.
  Lanes(
    const EngineOptions & options, AttributeTable & table, Mutex & mutex, TimerClocks & clocks,
    std::size_t cpus);

  std::list<Lane> & all() noexcept { return all_; }
  const std::list<Lane> & all() const noexcept { return all_; }
  /// The lane of the thread that spins, in the priority_events model.
  Lane & shared() const noexcept { return *shared_; }
  /// Events with release-and-execute; else null.
  Lane * of_timers() const noexcept { return of_timers_; }

  void place(GroupNode & group);
  /// Takes back what place() gave. The threads of a lane of its own end as soon as they are idle.
  void displace(GroupNode & group, const Life & life);
  std::size_t cpus() const noexcept { return cpus_; }

  // ---- Under the engine's lock. O(n) in the lanes.

  /// The thread of the user that runs jobs of all lanes; null: none.
  void set_visitor(Worker * visitor) noexcept;
  /// By the timer thread, in case a look is due.
  void look(Section & section) noexcept;
  /// What the visitor is to take: the most urgent of all lanes, among jobs released before this number. O(n) in the
  /// waiting callbacks.
  CallbackNode * next_before(uint64_t sequence) noexcept;
  /// Whether the thread that has brought a job of this callback, with attributes of this level, may run it at once: the
  /// job is first of all that could run now, nothing that the OS prefers runs, and a thread of the lane has nothing
  /// to do. O(n) in the threads.
  bool may_be_inline(
    const CallbackNode & callback, uint32_t level,
    const std::vector<std::shared_ptr<Worker>> & workers) const noexcept;

private:
  Lane & make(const std::string & name, const Attributes & attributes);

  const EngineOptions & options_;
  AttributeTable & table_;
  Mutex & mutex_;
  TimerClocks & clocks_;
  const std::size_t cpus_;
  Worker * visitor_ = nullptr;
  std::list<Lane> all_;
  Lane * shared_ = nullptr;     // events and pool; never changes
  Lane * of_timers_ = nullptr;  // never changes
};

}  // namespace rclrt_core
