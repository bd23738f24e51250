// Copyright 2026 The rclrt Authors
// SPDX-License-Identifier: Apache-2.0

#include "threads/lanes.hpp"

#include <memory>
#include <mutex>

#include "threads/life.hpp"
#include "timers/timer_clocks.hpp"

namespace rclrt_core
{

Lanes::Lanes(
  const EngineOptions & options, AttributeTable & table, Mutex & mutex, TimerClocks & clocks,
  std::size_t cpus)
: options_(options), table_(table), mutex_(mutex), clocks_(clocks), cpus_(cpus)
{
  if (options.model != ExecutionModel::kIsolated) {
    shared_ = &make("rclrt worker", {});
  }
  if (options.model == ExecutionModel::kPriorityEvents && options.release_and_execute) {
    of_timers_ = &make("rclrt timers", {});
  }
}

Lane & Lanes::make(const std::string & name, const Attributes & attributes)
{
  const AttributesEntry & first_rest = table_.intern(attributes);
  // The lane of a group that is gone, if its threads are gone too.
  for (Lane & lane : all_) {
    if (&lane != shared_ && &lane != of_timers_ && lane.parallelism == 0 && lane.threads == 0) {
      lane.name = name;
      lane.first_rest = &first_rest;
      return lane;
    }
  }
  std::list<Lane> made(1);
  made.front().name = name;
  made.front().first_rest = &first_rest;
  made.front().cpus = cpus_;
  made.front().clocks = &clocks_;
  const std::lock_guard<Mutex> lock(mutex_);
  made.front().visitor = visitor_;
  all_.splice(all_.end(), made);
  return all_.back();
}

void Lanes::place(GroupNode & group)
{
  Lane & lane = options_.model == ExecutionModel::kIsolated
                  ? make(group.name(), group.options().attributes)
                  : *shared_;
  lane.parallelism += group.parallelism;
  if (group.queue) {  // it was here before, and a job that still runs leads to its queues
    const std::lock_guard<Mutex> lock(mutex_);
    group.queue->lane = &lane;
    return;
  }
  group.queue = std::make_unique<GroupQueue>(&group, &lane);
  if (of_timers_) {
    group.timer_queue = std::make_unique<GroupQueue>(&group, of_timers_);
  }
}

void Lanes::displace(GroupNode & group, const Life & life)
{
  Lane & lane = *group.queue->lane;
  lane.parallelism -= group.parallelism;
  if (options_.model != ExecutionModel::kIsolated) {
    return;
  }
  Section section(mutex_);
  for (const auto & worker : life.workers()) {
    if (worker->lane == &lane) {
      worker->retired = true;
      if (worker->sleeping) {
        take_from_sleep(*worker, {}, section);
      }
    }
  }
}

void Lanes::set_visitor(Worker * visitor) noexcept
{
  visitor_ = visitor;
  for (Lane & lane : all_) {
    lane.visitor = visitor;
  }
}

void Lanes::look(Section & section) noexcept
{
  if (clocks_.ends_look()) {
    for (Lane & lane : all_) {
      lane.look(section);
    }
  }
}

CallbackNode * Lanes::next_before(uint64_t sequence) noexcept
{
  CallbackNode * best = nullptr;
  for (Lane & lane : all_) {
    for (GroupQueue & queue : lane.ready) {
      for (CallbackNode & callback : queue.callbacks) {
        if (best && !more_urgent(callback.urgency, best->urgency)) {
          break;  // neither this nor any later one of the queue
        }
        if (callback.has_waited_since_before(sequence)) {
          best = &callback;
          break;
        }
      }
      if (best && sequence == UINT64_MAX) {
        break;  // the first is the most urgent of the lane
      }
    }
  }
  return best;
}

}  // namespace rclrt_core
