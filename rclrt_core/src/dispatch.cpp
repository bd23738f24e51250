// Copyright 2026 The rclrt Authors
// SPDX-License-Identifier: Apache-2.0

// Release -> queue -> pick -> finish. Everything here runs under the engine's lock and costs O(log n), but for
// reorder() and the demand of a queue.

#include <algorithm>

#include "engine_impl.hpp"

namespace rclrt_core
{
namespace
{

template <typename Set, typename Node>
void erase_from(Set & set, Node & node)
{
  set.erase(set.iterator_to(node));
}

}  // namespace

void Engine::Impl::unlink(GroupQueue & queue) noexcept
{
  if (queue.in_lane.is_linked()) {
    erase_from(queue.lane->ready, queue);
  }
}

void Engine::Impl::link(GroupQueue & queue) noexcept
{
  if (!queue.in_lane.is_linked() && !queue.callbacks.empty() && queue.group->has_room()) {
    queue.lane->ready.insert(queue);
  }
}

// A queue's place in its lane follows from its most urgent callback: it leaves the lane before the
// callback's key changes and comes back after.
void Engine::Impl::unlink(CallbackNode & callback) noexcept
{
  unlink(*callback.queue);
  if (callback.in_group.is_linked()) {
    erase_from(callback.queue->callbacks, callback);
  }
}

void Engine::Impl::link(CallbackNode & callback) noexcept
{
  insert(callback);
  link(*callback.queue);
}

// A later message with an earlier deadline waits for the oldest to be run, and lends it its own.
TimePoint Engine::Impl::deadline_while_waiting(const CallbackNode & callback) const noexcept
{
  const TimePoint earliest = callback.backlog.earliest_deadline();
  // Who has never handed anything on will not do so with what others have taken, which may be long past.
  return callback.in_bring.is_linked() ? std::min(earliest, earliest_to_bring_together(callback))
                                       : earliest;
}

void Engine::Impl::insert(CallbackNode & callback) noexcept
{
  if (callback.backlog.empty()) {
    return;
  }
  const Job place = callback.head;
  callback.head = {callback.backlog.front(), callback.priority};
  if (callback.keeps_place) {
    callback.head.release = place.release;
    callback.head.sequence = place.sequence;
  }
  callback.head.deadline = deadline_while_waiting(callback);
  callback.queue->callbacks.insert(callback);
}

// What the callbacks of a group would bring together has changed, and so may their order. O(n) in those that
// have handed something on before, O(log n) for each of them that waits and has another deadline now.
void Engine::Impl::reorder(GroupNode & group) noexcept
{
  for (CallbackNode & callback : group.bring_together) {
    const bool waits = callback.in_group.is_linked();
    if (waits && callback.head.deadline != deadline_while_waiting(callback)) {
      unlink(callback);
      link(callback);
    }
  }
}

void Engine::Impl::notify(CallbackNode & callback, std::size_t count) noexcept
{
  if (count == 0) {
    return;
  }
  const TimePoint now = platform.now();
  WakeList wakes;
  Worker * const publisher = running_here ? running_here->worker : nullptr;
  if (publisher) {
    publisher->handed_on = true;
  }
  {
    Lock lock(*mutex);
    if (callback.removed) {
      return;
    }
    inherit_from_publisher(callback);
    release(callback, now, now, count, publisher ? &publisher->job : nullptr, wakes);
  }
  wakes.wake_or_defer();
}

void Engine::Impl::release(
  CallbackNode & callback, TimePoint release, TimePoint now, std::size_t count,
  const Job * publisher, WakeList & wakes) noexcept
{
  Backlog & backlog = callback.backlog;
  CallbackStatistics & statistics = callback.statistics;
  ReleaseStamp job;
  job.release = release;
  job.ready = now;
  TimePoint inherited = kNever;
  if (publisher) {
    inherited = publisher->deadline;
  } else if (callback.learned >= Duration::zero()) {
    inherited = add_saturating(release, callback.learned);
    job.is_expected = true;
  }
  job.deadline = callback.deadline(release, inherited);
  statistics.released += count;
  // Of a burst only the newest ones can wait: account for the others without a loop.
  const std::size_t kept = std::min<std::size_t>(count, backlog.depth());
  switch (callback.overrun_rule) {
    case OverrunRule::kQueueAll:
      unlink(callback);
      job.sequence = next_job + (count - kept);
      next_job += count;
      statistics.dropped += count - kept + backlog.push(job, static_cast<uint32_t>(kept));
      break;
    case OverrunRule::kSkip:
      if (!backlog.empty() || callback.running > 0) {
        statistics.skipped += count;
        return;
      }
      unlink(callback);
      statistics.skipped += count - 1;
      job.sequence = next_job++;
      backlog.push(job);
      break;
    case OverrunRule::kKeepLatest:
      unlink(callback);
      statistics.skipped += count - 1 + backlog.size();
      // The newest release, but in the place of the first: who waits longest stays first in line.
      callback.keeps_place = !backlog.empty();
      backlog.clear();
      job.sequence = next_job++;
      backlog.push(job);
      break;
  }
  link(callback);
  if (callback.queue->in_lane.is_linked()) {
    wake_for(*callback.queue->lane, demand_of(callback), wakes);
  } else {
    inherit_from_waiting(callback);
  }
}

void Engine::Impl::drop_waiting(CallbackNode & callback) noexcept
{
  unlink(callback);
  callback.statistics.skipped += callback.backlog.size();
  callback.backlog.clear();
  callback.keeps_place = false;
  link(callback);
}

// Jobs that may run elsewhere are left to threads that are on their way there: who took one of them
// would have to go and wait for that CPU, too.
CallbackNode * Engine::Impl::most_urgent_for(const Worker & worker) const noexcept
{
  for (GroupQueue & queue : worker.lane->ready) {
    CallbackNode & callback = *queue.callbacks.begin();
    if (
      worker.keeps_attributes ||
      attributes.same_cpus(callback.attributes, worker.in_force.attributes) || !is_served(queue)) {
      return &callback;
    }
  }
  return nullptr;
}

CallbackNode * Engine::Impl::most_urgent_before(uint64_t before_sequence) noexcept
{
  CallbackNode * best = nullptr;
  for (Lane & lane : lanes) {
    for (GroupQueue & queue : lane.ready) {
      for (CallbackNode & callback : queue.callbacks) {
        if (best && !options.policy->more_urgent(callback.head, best->head)) {
          break;  // neither this nor any later one of the queue
        }
        if (callback.head.sequence < before_sequence) {
          best = &callback;
          break;
        }
      }
      if (best && before_sequence == UINT64_MAX) {
        break;  // the first is the most urgent of the lane
      }
    }
  }
  return best;
}

bool Engine::Impl::pick(Worker & worker, uint64_t before_sequence) noexcept
{
  CallbackNode * best = nullptr;
  if (worker.lane) {
    best = most_urgent_for(worker);
  } else if (&worker == inline_worker.get()) {
    best = most_urgent_before(before_sequence);
  }
  if (!best) {
    return false;
  }
  CallbackNode & callback = *best;
  GroupNode & group = *callback.queue->group;
  unlink(callback);
  worker.job = {callback.backlog.pop(), callback.priority};
  callback.keeps_place = false;
  worker.callback = callback.shared_from_this();
  worker.handed_on = false;
  fan_in(worker);
  ++callback.running;
  ++group.running;
  if (group.parallelism == 1) {
    group.runner = &worker;
  }
  link(callback);
  for (GroupQueue * queue : {group.queue.get(), group.timer_queue.get()}) {
    if (queue && !group.has_room()) {
      unlink(*queue);
    }
  }
  return true;
}

// A job may bring together what others of its group have taken before.
TimePoint Engine::Impl::earliest_to_bring_together(const CallbackNode & callback) const noexcept
{
  const auto & taken = callback.queue->group->taken;
  auto other = taken.begin();
  if (other != taken.end() && &*other == &callback) {
    ++other;
  }
  return other != taken.end() && callback.fans_in() ? other->taken : kNever;
}

void Engine::Impl::fan_in(Worker & worker) noexcept
{
  worker.own_deadline = worker.job.deadline;
  worker.job.deadline = std::min(worker.job.deadline, earliest_to_bring_together(*worker.callback));
}

// What the job has taken waits for whoever hands it on; the newest of a callback stands for all it took.
void Engine::Impl::keep_or_hand_on(const Worker & worker, bool found_work) noexcept
{
  CallbackNode & callback = *worker.callback;
  GroupNode & group = *callback.queue->group;
  if (
    worker.handed_on && callback.fans_in() && !callback.removed && !callback.in_bring.is_linked()) {
    group.bring_together.push_back(callback);
  }
  if (worker.handed_on && !group.taken.empty()) {
    group.taken.clear_and_dispose([](CallbackNode * other) { other->taken = kNever; });
    reorder(group);
  } else if (
    !worker.handed_on && found_work && callback.inherits_deadlines() && !callback.removed &&
    callback.taken != worker.own_deadline) {
    if (callback.in_taken.is_linked()) {
      erase_from(group.taken, callback);
    }
    callback.taken = worker.own_deadline;
    if (callback.taken != kNever) {
      group.taken.insert(callback);
    }
    reorder(group);
  }
}

// By the worker's own thread, for the job that it runs.
void Engine::Impl::inherit_deadline(std::optional<TimePoint> carried) noexcept
{
  Worker & worker = *running_here->worker;
  if (!worker.callback->inherits_deadlines()) {
    return;
  }
  Lock lock(*mutex);
  const bool is_later = inherit_deadline(worker, carried);
  lock.unlock();
  if (is_later) {
    worker.deadlines->give_way();
  }
}

// Returns whether the worker's deadline in force is later than before.
bool Engine::Impl::inherit_deadline(Worker & worker, std::optional<TimePoint> carried) noexcept
{
  CallbackNode & callback = *worker.callback;
  const TimePoint known = carried.value_or(kNever);
  callback.learned =
    known == kNever ? Duration{-1} : std::max(known - worker.job.release, Duration::zero());
  if (!carried && !worker.job.is_expected) {
    return false;
  }
  worker.job.is_expected = false;
  worker.job.deadline = callback.deadline(worker.job.release, known);
  fan_in(worker);
  if (worker.keeps_attributes || !worker.deadline_active) {
    return false;
  }
  const Demand demand{worker.in_force.attributes, own_or_lent_deadline(worker)};
  const TimePoint before = worker.in_force.deadline;
  if (!(demand == worker.in_force)) {
    give(worker, demand);  // what the OS refuses now it had granted before
  }
  return worker.deadline_active && before < worker.in_force.deadline;
}

// Who waits for the worker's job to end lends it its deadline.
TimePoint Engine::Impl::own_or_lent_deadline(const Worker & worker) const noexcept
{
  TimePoint earliest = worker.job.deadline;
  const GroupNode & group = *worker.callback->queue->group;
  for (const GroupQueue * queue : {group.queue.get(), group.timer_queue.get()}) {
    if (group.runner == &worker && queue) {
      for (const CallbackNode & waiting : queue->callbacks) {
        earliest = std::min(earliest, demand_of(waiting).deadline);
      }
    }
  }
  return earliest;
}

void Engine::Impl::finish(Worker & worker, bool found_work, WakeList & wakes) noexcept
{
  CallbackNode & callback = *worker.callback;
  GroupNode & group = *callback.queue->group;
  --callback.running;
  --group.running;
  group.runner = nullptr;
  keep_or_hand_on(worker, found_work);
  if (callback.timer && callback.timer->releases_when_done() && callback.backlog.empty()) {
    const TimePoint now = platform.now();
    release(callback, now, now, 1, nullptr, wakes);
  }
  for (GroupQueue * queue : {group.queue.get(), group.timer_queue.get()}) {
    if (!queue) {
      continue;
    }
    link(*queue);
    // The worker asks for the next job of its own lane itself.
    if (queue->in_lane.is_linked() && queue->lane != worker.lane) {
      wake_for(*queue->lane, demand_of(*queue), wakes);
    }
  }
}

Demand Engine::Impl::demand_of(const CallbackNode & waiting) const noexcept
{
  return {
    waiting.attributes, attributes.is_ext(waiting.attributes) ? waiting.head.deadline : kNever};
}

Demand Engine::Impl::demand_of(const GroupQueue & queue) const noexcept
{
  const Demand first = demand_of(*queue.callbacks.begin());
  if (queue.group->parallelism > 1) {
    return first;
  }
  Demand most_urgent = first;
  for (const CallbackNode & waiting : queue.callbacks) {
    const Demand demand = demand_of(waiting);
    if (
      !(demand == most_urgent) && attributes.same_cpus(demand.attributes, first.attributes) &&
      attributes.more_urgent(demand, most_urgent)) {
      most_urgent = demand;
    }
  }
  return most_urgent;
}

// Of this engine only: its timer thread and the middleware's threads outrank all its callbacks, and would not
// know of what comes from another one.
void Engine::Impl::inherit_from_publisher(CallbackNode & callback) noexcept
{
  if (
    !callback.inherit_priority || !running_here || running_here->engine != this ||
    running_here->worker->job.priority <= callback.priority) {
    return;
  }
  unlink(callback);
  callback.priority = running_here->worker->job.priority;
  Attributes raised = attributes.complete(callback.attributes);
  if (raised.policy == SchedulingPolicy::kFifo || raised.policy == SchedulingPolicy::kRoundRobin) {
    raised.priority = std::max(raised.priority, callback.priority);
    raised.cpu_affinity = attributes.asked(callback.attributes).cpu_affinity;
    callback.attributes = attributes.intern_without_allocating(raised, callback.attributes);
  }
  link(callback);
}

}  // namespace rclrt_core
