// Copyright 2026 The rclrt Authors
// SPDX-License-Identifier: Apache-2.0

// Release -> queue -> pick -> finish, and whom to wake. Everything here runs under the engine's lock
// and costs O(log n); the only system call is the boost of a runner whose group has a more urgent
// job waiting.

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
  if (!callback.backlog.empty()) {
    const Job place = callback.head;
    callback.head = {callback.backlog.front(), callback.priority};
    if (callback.keeps_place) {
      callback.head.release = place.release;
      callback.head.sequence = place.sequence;
    }
    callback.queue->callbacks.insert(callback);
  }
  link(*callback.queue);
}

void Engine::Impl::notify(CallbackNode & callback, std::size_t count) noexcept
{
  if (count == 0) {
    return;
  }
  const TimePoint now = platform.now();
  WakeList wakes;
  if (worker_here) {
    worker_here->handed_on = true;
  }
  {
    Lock lock(*mutex);
    if (callback.removed) {
      return;
    }
    inherit_from_publisher(callback);
    release(callback, now, now, count, engine_here == this ? &worker_here->job : nullptr, wakes);
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
  }
  job.deadline = callback.deadline(release, inherited);
  statistics.released += count;
  // Of a burst only the newest ones can wait: account for the others without a loop.
  const std::size_t kept = std::min<std::size_t>(count, backlog.depth());
  switch (callback.overrun_rule) {
    case OverrunRule::kQueueAll:
      statistics.dropped += count - kept;
      next_job += count - kept;
      unlink(callback);
      for (std::size_t i = 0; i < kept; ++i) {
        if (backlog.full()) {
          backlog.pop();
          ++statistics.dropped;
        }
        job.sequence = next_job++;
        backlog.push(job);
      }
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

// The worker's job may bring together what others of its group have taken before.
void Engine::Impl::fan_in(Worker & worker) noexcept
{
  const CallbackNode & callback = *worker.callback;
  const GroupNode & group = *callback.queue->group;
  if (
    callback.fan_in == FanIn::kEarliest && callback.inherits_deadlines() &&
    group.taken_by != &callback) {
    worker.job.deadline = std::min(worker.job.deadline, group.taken);
  }
}

// By the worker's own thread, for the job that it runs.
void Engine::Impl::inherit_deadline(TimePoint carried) noexcept
{
  Worker & worker = *worker_here;
  Lock lock(*mutex);
  CallbackNode & callback = *worker.callback;
  if (!callback.inherits_deadlines()) {
    return;
  }
  callback.learned =
    carried == kNever ? Duration{-1} : std::max(carried - worker.job.release, Duration::zero());
  worker.job.deadline = callback.deadline(worker.job.release, carried);
  fan_in(worker);
  if (worker.keeps_attributes || !worker.deadline_active) {
    return;
  }
  Demand demand{worker.in_force.attributes, worker.job.deadline};
  const GroupNode & group = *callback.queue->group;
  for (const GroupQueue * queue : {group.queue.get(), group.timer_queue.get()}) {
    // Who waits for this job goes on lending it its deadline.
    if (group.runner == &worker && queue && !queue->callbacks.empty()) {
      demand.deadline = std::min(demand.deadline, demand_of(*queue->callbacks.begin()).deadline);
    }
  }
  if (!(demand == worker.in_force)) {
    give(worker, demand);  // what the OS refuses now it had granted before
  }
}

void Engine::Impl::finish(Worker & worker, WakeList & wakes) noexcept
{
  CallbackNode & callback = *worker.callback;
  GroupNode & group = *callback.queue->group;
  --callback.running;
  --group.running;
  group.runner = nullptr;
  if (worker.handed_on) {
    group.taken = kNever;
    group.taken_by = nullptr;
  } else if (
    callback.inherits_deadlines() &&
    (worker.job.deadline < group.taken || group.taken_by == &callback)) {
    group.taken = worker.job.deadline;
    group.taken_by = &callback;
  }
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
      wake_for(*queue->lane, demand_of(*queue->callbacks.begin()), wakes);
    }
  }
}

Demand Engine::Impl::demand_of(const CallbackNode & waiting) const noexcept
{
  return {
    waiting.attributes, attributes.is_ext(waiting.attributes) ? waiting.head.deadline : kNever};
}

// Whether a thread with `present` can do the work of one with `needed`: a less urgent one might not get
// a CPU for a long time, nor might one that may not run where the job may.
bool Engine::Impl::suffices(const Demand & present, const Demand & needed) const noexcept
{
  return present == needed || (attributes.same_cpus(present.attributes, needed.attributes) &&
                               !attributes.more_urgent(needed, present));
}

std::size_t Engine::Impl::on_their_way(const Lane & lane, const Demand & needed) const noexcept
{
  return static_cast<std::size_t>(std::count_if(
    lane.woken.begin(), lane.woken.end(),
    [&](const Worker & worker) { return suffices(worker.woken_with, needed); }));
}

// Of the threads on their way each takes one job, the most urgent first.
bool Engine::Impl::is_served(const GroupQueue & queue) const noexcept
{
  const Demand needed = demand_of(*queue.callbacks.begin());
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
  return able >= waiting;
}

// One sleeper is woken for every group with work, up to the number of CPUs; those already on their
// way count. A reentrant group may have more work than one: whoever picks a job wakes the next.
void Engine::Impl::wake_for(Lane & lane, const Demand & wanted, WakeList & wakes) noexcept
{
  if (lane.idle.empty()) {
    if (inline_active && inline_worker->sleeping) {
      take_from_sleep(*inline_worker, wakes);
    }
    raise_on_its_way(lane, wanted);
    return;
  }
  if (enough_are_woken(lane, wanted)) {
    return;
  }
  // The warmest thread that has the attributes already; if none has, the coldest, so that the warm
  // ones keep theirs and a steady load needs no scheduling calls.
  auto chosen = std::find_if(lane.idle.begin(), lane.idle.end(), [&wanted](const Worker & worker) {
    return worker.in_force.attributes == wanted.attributes;
  });
  if (chosen == lane.idle.end()) {
    --chosen;
  }
  Worker & worker = *chosen;
  // A sleeper that is less urgent than its job would not get the CPU to make itself more urgent, so
  // the waker does that. Making itself less urgent is the worker's own business.
  const AttributesId present = worker.in_force.attributes;
  const bool is_ext = attributes.is_ext(wanted.attributes);
  if ((is_ext || present != wanted.attributes) && !worker.keeps_attributes) {
    // The same if it may not run where the job may: its own CPU may be busy for long. A sleeper has no
    // deadline: it is always given one.
    if (
      is_ext || attributes.more_urgent(wanted, worker.in_force) ||
      !attributes.same_cpus(wanted.attributes, present)) {
      worker.raise_before_wake = true;
      worker.raise = attributes.change(present, wanted.attributes);
      worker.raise_to = wanted;
    }
  }
  take_from_sleep(worker, wakes);
}

// The most urgent job has just been taken: who is on its way for it goes for the next one, and must not
// preempt for nothing until then.
void Engine::Impl::lower_on_their_way(Lane & lane) noexcept
{
  const TimePoint next =
    lane.ready.empty() ? kNever : demand_of(*lane.ready.begin()->callbacks.begin()).deadline;
  for (Worker & worker : lane.woken) {
    // Acquire: as in raise_on_its_way().
    if (
      worker.woken_with.deadline < next && worker.word.load(std::memory_order_acquire) != 0 &&
      worker.deadline_active && give(worker, {worker.woken_with.attributes, next}) == 0) {
      worker.woken_with.deadline = next;
    }
  }
}

// All threads are busy or on their way, and none of these suffices: the one that waits for a CPU with
// too little urgency is given more, since whoever runs now is no more urgent than it should be. One
// that its waker has not let go of yet (word 0) is left alone: it belongs to the waker.
void Engine::Impl::raise_on_its_way(Lane & lane, const Demand & wanted) noexcept
{
  if (lane.woken.empty() || on_their_way(lane, wanted) > 0) {
    return;
  }
  for (Worker & worker : lane.woken) {
    // Acquire: pairs with the waker's release; `in_force` is ours to change from then on.
    if (worker.keeps_attributes || worker.word.load(std::memory_order_acquire) == 0) {
      continue;
    }
    if (give(worker, wanted) == 0) {
      worker.woken_with = wanted;
      return;
    }
  }
}

void Engine::Impl::wake_next(Lane & lane, WakeList & wakes) noexcept
{
  const auto next = std::find_if(
    lane.ready.begin(), lane.ready.end(), [this](const auto & queue) { return !is_served(queue); });
  if (next != lane.ready.end()) {
    wake_for(lane, demand_of(*next->callbacks.begin()), wakes);
  }
}

void Engine::Impl::take_from_sleep(Worker & worker, WakeList & wakes) noexcept
{
  worker.sleeping = false;
  worker.woken_with = worker.raise_before_wake ? worker.raise_to : worker.in_force;
  if (worker.lane) {
    worker.lane->idle.erase(worker.lane->idle.iterator_to(worker));
    worker.lane->woken.push_back(worker);
  }
  wakes.add(worker);
}

void Engine::Impl::wake_timer_driver(WakeList & wakes) noexcept
{
  if (timer_driver && timer_driver->sleeping) {
    take_from_sleep(*timer_driver, wakes);
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
    give(*runner, demand);
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

void Engine::Impl::inherit_from_publisher(CallbackNode & callback) noexcept
{
  if (
    !callback.inherit_priority || engine_here != this ||
    worker_here->job.priority <= callback.priority) {
    return;
  }
  unlink(callback);
  callback.priority = worker_here->job.priority;
  Attributes raised = attributes.asked(callback.attributes);
  if (raised.policy == SchedulingPolicy::kFifo || raised.policy == SchedulingPolicy::kRoundRobin) {
    raised.priority = std::max(raised.priority, callback.priority);
    callback.attributes = attributes.intern_without_allocating(raised, callback.attributes);
  }
  link(callback);
}

}  // namespace rclrt_core
