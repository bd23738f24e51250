// Copyright 2026 The rclrt Authors
// SPDX-License-Identifier: Apache-2.0

#include "threads/lanes.hpp"

#include <algorithm>
#include <memory>
#include <mutex>

#include "threads/life.hpp"
#include "timers/timer_clocks.hpp"

namespace rclrt_core
{

Lanes::Lanes(
  const EngineOptions & options, AttributeTable & table, Mutex & mutex, TimerClocks & clocks)
: options_(options), table_(table), mutex_(mutex), clocks_(clocks)
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
  made.front().clocks = &clocks_;
  const std::lock_guard<Mutex> lock(mutex_);
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

std::size_t Lane::coming_for(const Demand & needed) const noexcept
{
  return static_cast<std::size_t>(std::count_if(
    coming.begin(), coming.end(),
    [&needed](const Worker & worker) { return suffices(worker, needed); }));
}

// One that looks for work needs no waking. Else the warmest thread that has the attributes already; if none has, the
// coldest one, so that the warm ones keep theirs and a steady load needs no scheduling calls. Those that cover a timer come
// last.
Worker & Lane::choose(const Demand & wanted) noexcept
{
  const auto looking = std::find_if(idle.begin(), idle.end(), [&wanted](const Worker & worker) {
    return worker.looks.load(std::memory_order_relaxed) &&
           same_cpus(worker.urgency.decided(), wanted) &&
           (!wanted.attributes->is_ext() || worker.has_slot);
  });
  if (looking != idle.end()) {
    return *looking;
  }
  // A thread without a slot takes an ext job only if none with a slot is left.
  const bool needs_slot = wanted.attributes->is_ext();
  for (const bool covers : {false, true}) {
    const auto ready_made = std::find_if(idle.begin(), idle.end(), [&](const Worker & worker) {
      return covers == (worker.covers != nullptr) &&
             worker.urgency.decided().attributes == wanted.attributes &&
             same_cpus(worker.urgency.decided(), wanted);
    });
    if (ready_made != idle.end()) {
      return *ready_made;
    }
    const auto coldest = std::find_if(idle.rbegin(), idle.rend(), [&](const Worker & worker) {
      return covers == (worker.covers != nullptr) && (!needs_slot || worker.has_slot);
    });
    if (coldest != idle.rend()) {
      return *coldest;
    }
  }
  return idle.back();
}

void take_from_sleep(Worker & worker, const Urgency & urgency, Section & section) noexcept
{
  if (worker.covers) {
    worker.lane->clocks->uncover(worker, section);
  }
  worker.sleeping = false;
  worker.waker = Section::owner();
  worker.woken_for = urgency;
  if (worker.lane) {
    worker.lane->idle.erase(worker.lane->idle.iterator_to(worker));
    worker.lane->coming.push_back(worker);
  }
  section.wake(worker);
}

// Whoever took it from sleep may have lost its CPU to a thread of middle urgency, before it woke the worker or
// between the store and the system call: this thread does so too.
void wake_too(Worker & worker, Section & section) noexcept
{
  if (!worker.waker) {
    section.settle(
      worker);  // it changes itself, and may have lost its CPU before that: see Engine::Impl::become()
    return;
  }
  if (worker.waker == Section::owner()) {
    return;
  }
  worker.waker = Section::owner();
  if (worker.lane) {
    section.set(worker.lane->clocks->alarm);
  }
  uint32_t expected = Worker::kAsleep;
  // Release: the thread that finds the word changed sees what was decided for the worker under the lock. If it is not
  // kAsleep any more there is nothing to say: the word of its first waker stands.
  worker.word.compare_exchange_strong(
    expected, Worker::kAwakeAndHeld, std::memory_order_release, std::memory_order_relaxed);
  section.wake_again(worker);
}

void make_come(Worker & worker, Section & section) noexcept
{
  if (worker.sleeping) {
    take_from_sleep(worker, Urgency{UINT32_MAX}, section);
  } else {
    wake_too(worker, section);
  }
}

void lie_down(Worker & worker) noexcept
{
  uint32_t expected = Worker::kAwakeAndHeld;
  // Acquire, if it fails: pairs with the store of the thread that held it and may not touch the worker any more.
  // The other stores are relaxed: published by the unlock, before anybody can find the worker.
  const bool is_held = worker.word.compare_exchange_strong(
    expected, Worker::kAsleep, std::memory_order_acquire, std::memory_order_acquire);
  if (is_held) {
    worker.waker = &worker;  // whoever
  } else {
    worker.word.store(Worker::kAsleep, std::memory_order_relaxed);
  }
  worker.sleeping = !is_held;
  if (worker.lane && is_held) {
    worker.lane->coming.push_back(worker);
  } else if (worker.lane) {
    worker.lane->idle.push_front(worker);
  }
}

void wake_up(Worker & worker) noexcept
{
  Lane::Workers * list = nullptr;
  if (worker.sleeping) {  // the time is up and nobody has taken the worker: it takes itself
    worker.sleeping = false;
    worker.word.store(Worker::kAwake, std::memory_order_relaxed);  // under the lock
    list = worker.lane ? &worker.lane->idle : nullptr;
  } else {
    list = worker.lane ? &worker.lane->coming : nullptr;
    // If the time is up and its waker has not woken it yet, the worker does not wait for that.
    uint32_t expected = Worker::kAsleep;
    worker.word.compare_exchange_strong(
      expected, Worker::kAwakeAndHeld, std::memory_order_acquire, std::memory_order_acquire);
  }
  worker.waker = nullptr;
  if (list) {
    list->erase(list->iterator_to(worker));
  }
}

}  // namespace rclrt_core
