// Copyright 2026 The rclrt Authors
// SPDX-License-Identifier: Apache-2.0

// Whom to wake for a job, and with which urgency. Everything here runs under the engine's lock; the only
// system calls are changes of attributes, of threads that sleep or wait with too little urgency, and of
// a runner whose group has a more urgent job waiting.

#include <algorithm>
#include <iterator>

#include "engine_impl.hpp"

namespace rclrt_core
{

// Whether a thread with `present` can do the work of one with `needed`: a less urgent one might not get
// a CPU for a long time, nor might one that may not run where the job may.
bool Engine::Impl::suffices(const Demand & present, const Demand & needed) const noexcept
{
  return present == needed || (attributes.same_cpus(present.attributes, needed.attributes) &&
                               !attributes.more_urgent(needed, present));
}

// One that keeps what it has, come what may, is as good as it gets.
bool Engine::Impl::suffices(const Worker & worker, const Demand & needed) const noexcept
{
  return worker.keeps_attributes || suffices(worker.in_force, needed);
}

std::size_t Engine::Impl::on_their_way(const Lane & lane, const Demand & needed) const noexcept
{
  return static_cast<std::size_t>(std::count_if(
    lane.woken.begin(), lane.woken.end(),
    [&](const Worker & worker) { return suffices(worker, needed); }));
}

// Of the threads on their way each takes one job, the most urgent first.
bool Engine::Impl::is_served(const GroupQueue & queue) const noexcept
{
  const Demand needed = demand_of(queue);
  std::size_t left = on_their_way(*queue.lane, needed);
  for (auto other = queue.lane->ready.begin(); left > 0 && &*other != &queue; ++other) {
    left -= attributes.same_cpus(other->callbacks.begin()->attributes, needed.attributes) ? 1 : 0;
  }
  return left > 0;
}

// Whether threads on their way will take all there is, and those that suffice for `wanted` all of its
// like. More than one a CPU need not be on their way: the first that arrives sends for the next (see
// execute()), and the notifying thread is spared the wake-up.
bool Engine::Impl::enough_are_woken(const Lane & lane, const Demand & wanted) const noexcept
{
  if (lane.woken.size() < std::min(lane.ready.size(), cpus)) {
    return false;
  }
  const std::size_t able = on_their_way(lane, wanted);
  std::size_t waiting = 0;
  for (const GroupQueue & queue : lane.ready) {
    waiting += suffices(demand_of(*queue.callbacks.begin()), wanted) ? 1 : 0;
    if (waiting > able || waiting == cpus) {
      break;
    }
  }
  // `wanted` may be that of a job behind the first of its group, which is not counted.
  return able > 0 && able >= waiting;
}

void Engine::Impl::wake_for(Lane & lane, const Demand & wanted, WakeList & wakes) noexcept
{
  wake_one_more(lane, wanted, wakes);
  hurry(lane, wanted, wakes);
}

// One sleeper is woken for every group with work, up to the number of CPUs; those already on their
// way count. A reentrant group may have more work than one: whoever picks a job wakes the next.
bool Engine::Impl::wake_one_more(Lane & lane, const Demand & wanted, WakeList & wakes) noexcept
{
  if (lane.idle.empty()) {
    if (inline_active) {
      call(*inline_worker, wakes);
    }
    raise_on_its_way(lane, wanted);
    return false;
  }
  if (enough_are_woken(lane, wanted)) {
    return false;
  }
  // The warmest thread that has the attributes already; if none has, the coldest, so that the warm
  // ones keep theirs and a steady load needs no scheduling calls.
  auto chosen = std::find_if(lane.idle.begin(), lane.idle.end(), [&wanted](const Worker & worker) {
    return worker.in_force.attributes == wanted.attributes;
  });
  if (chosen == lane.idle.end()) {
    // A thread without a slot takes an ext job only if none with one is left.
    const bool needs_slot = attributes.is_ext(wanted.attributes);
    const auto coldest = std::find_if(
      lane.idle.rbegin(), lane.idle.rend(),
      [needs_slot](const Worker & worker) { return !needs_slot || worker.deadlines; });
    chosen = coldest != lane.idle.rend() ? std::prev(coldest.base()) : std::prev(chosen);
  }
  Worker & worker = *chosen;
  // A sleeper that is less urgent than its job would not get the CPU to make itself more urgent, so
  // the waker does that; the same if it may not run where the job may: its own CPU may be busy for long.
  // Making itself less urgent is the worker's own business. A sleeper has no deadline: it is always
  // given one. What is refused the worker asks for again itself, and reports it.
  const bool raise = attributes.is_ext(wanted.attributes) ? worker.deadlines != nullptr
                                                          : !suffices(worker.in_force, wanted);
  if (raise && !worker.keeps_attributes) {
    give(worker, wanted);
  }
  take_from_sleep(worker, wakes);
  return true;
}

// The most urgent job has just been taken: who is on its way for it goes for the next one, and must not
// preempt for nothing until then.
void Engine::Impl::lower_on_their_way(Lane & lane) noexcept
{
  const TimePoint next = lane.ready.empty() ? kNever : demand_of(*lane.ready.begin()).deadline;
  for (Worker & worker : lane.woken) {
    if (worker.deadline_active && worker.in_force.deadline < next) {
      give(worker, {worker.in_force.attributes, next});
    }
  }
}

// All threads are busy or on their way, and none of these suffices: the one that waits for a CPU with
// too little urgency is given more, since whoever runs now is no more urgent than it should be.
void Engine::Impl::raise_on_its_way(Lane & lane, const Demand & wanted) noexcept
{
  if (on_their_way(lane, wanted) > 0) {
    return;
  }
  for (Worker & worker : lane.woken) {
    if (worker.keeps_attributes) {
      continue;
    }
    if (give_or_leave(worker, wanted) == 0) {
      return;
    }
  }
}

void Engine::Impl::hurry(Lane & lane, const Demand & wanted, WakeList & wakes) noexcept
{
  for (Worker & worker : lane.woken) {
    if (suffices(worker, wanted)) {
      wake_too(worker, wakes);
    }
  }
}

// Whoever took it out of sleep may have lost its CPU to somebody of middle urgency, before it woke the
// worker or between the store and the system call: this thread does so too.
void Engine::Impl::wake_too(Worker & worker, WakeList & wakes) noexcept
{
  if (!worker.waker || worker.waker == WakeList::owner()) {
    return;
  }
  worker.waker = WakeList::owner();
  uint32_t expected = Worker::kAsleep;
  // Release: what the worker was given under the lock is seen by who finds the word changed. If it is not
  // kAsleep any more there is nothing to say: that of its first waker stands.
  worker.word.compare_exchange_strong(
    expected, Worker::kAwakeAndHeld, std::memory_order_release, std::memory_order_relaxed);
  wakes.add_held(worker);
}

void Engine::Impl::wake_next(Lane & lane, WakeList & wakes) noexcept
{
  if (lane.ready.empty()) {
    return;
  }
  const auto next = std::find_if(
    lane.ready.begin(), lane.ready.end(), [this](const auto & queue) { return !is_served(queue); });
  if (next != lane.ready.end() && wake_one_more(lane, demand_of(*next), wakes)) {
    return;
  }
  // Those whose waker has come to the word are about to be up; a system call for each would be too much.
  for (Worker & worker : lane.woken) {
    if (worker.word.load(std::memory_order_relaxed) == Worker::kAsleep) {
      wake_too(worker, wakes);
    }
  }
}

void Engine::Impl::take_from_sleep(Worker & worker, WakeList & wakes) noexcept
{
  worker.sleeping = false;
  worker.waker = WakeList::owner();
  if (worker.lane) {
    worker.lane->idle.erase(worker.lane->idle.iterator_to(worker));
    worker.lane->woken.push_back(worker);
  }
  wakes.add(worker);
}

// A worker that is not one of several.
void Engine::Impl::call(Worker & worker, WakeList & wakes) noexcept
{
  if (worker.sleeping) {
    take_from_sleep(worker, wakes);
  } else {
    wake_too(worker, wakes);
  }
}

void Engine::Impl::wake_timer_driver(WakeList & wakes) noexcept
{
  if (timer_driver) {
    call(*timer_driver, wakes);
  }
}

// The job that waits for an exclusive group lends its urgency to the one that runs. The runner goes
// back to what its next job needs before that job starts.
void Engine::Impl::inherit_from_waiting(const CallbackNode & waiting) noexcept
{
  Worker * runner = waiting.queue->group->runner;
  if (
    !runner || runner->keeps_attributes ||
    !attributes.more_urgent(demand_of(waiting), runner->in_force)) {
    return;
  }
  // Urgency is lent, CPUs are not.
  Attributes lent = attributes.complete(waiting.attributes);
  lent.cpu_affinity = attributes.complete(runner->in_force.attributes).cpu_affinity;
  const Demand demand{
    attributes.intern_without_allocating(lent, waiting.attributes), demand_of(waiting).deadline};
  if (attributes.more_urgent(demand, runner->in_force)) {
    give_or_leave(*runner, demand);
  }
}

// The policy may have picked a job before others of its group that the OS holds more urgent.
void Engine::Impl::inherit_from_group(Worker & worker) noexcept
{
  const GroupNode & group = *worker.callback->group;
  if (group.runner != &worker) {
    return;
  }
  for (const GroupQueue * queue : {group.queue.get(), group.timer_queue.get()}) {
    if (queue) {
      for (const CallbackNode & waiting : queue->callbacks) {
        inherit_from_waiting(waiting);
      }
    }
  }
}

}  // namespace rclrt_core
