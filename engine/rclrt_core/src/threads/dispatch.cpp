// Copyright 2026 The rclrt Authors
// SPDX-License-Identifier: Apache-2.0

#include "threads/dispatch.hpp"

#include <algorithm>
#include <utility>

#include "budgets/budgets.hpp"
#include "timers/timer_clocks.hpp"

namespace rclrt_core
{

bool suffices(const Worker & worker, const Demand & needed) noexcept
{
  return worker.is_left_alone || suffices(worker.urgency.decided(), needed);
}

bool has_exactly(const Worker & worker, const Demand & needed) noexcept
{
  const Demand & decided = worker.urgency.decided();
  const bool is_like = decided.attributes->asked.scheduling_policy != SchedulingPolicy::kDeadline &&
                       !outranks(decided, needed) && !outranks(needed, decided);
  return worker.is_left_alone || (worker.urgency.is_settled() && same_cpus(decided, needed) &&
                                  (decided.attributes == needed.attributes || is_like));
}

namespace
{

constexpr std::size_t kMaxLook = 64;

// Urgency is lent, CPUs are not.
void add(const GroupQueue & waits, const Worker & to, Demand * needed) noexcept
{
  const Demand waiting = waits.first().demand();
  const bool can_be_lent = !waiting.attributes->is_ext() || to.has_slot;
  if (can_be_lent && outranks(waiting, *needed)) {
    needed->attributes = waiting.attributes;
    needed->deadline = waiting.deadline;
  }
}

// To the thread that runs a job, if it needs more by now.
void lend(Worker & runner, Section & section) noexcept
{
  if (runner.is_left_alone) {
    return;
  }
  const Demand needed = runner.needs();
  if (outranks(needed, runner.urgency.decided())) {
    runner.urgency.decide(needed);
    section.settle(runner);
  }
}

// All threads are busy or on their way, and none of these suffices: one that waits for a CPU with too little
// urgency is lent more, since whoever runs now is no more urgent than it should be.
void lend_to_coming(Lane & lane, const Demand & wanted, Section & section) noexcept
{
  if (lane.coming_for(wanted) > 0) {
    return;
  }
  for (Worker & worker : lane.coming) {
    if (!worker.is_left_alone && (!wanted.attributes->is_ext() || worker.has_slot)) {
      worker.urgency.decide(wanted);
      section.settle(worker);
      return;
    }
  }
}

// Whether the threads on their way will take all there is, and those that suffice for `wanted` all of its like.
// More than one a CPU need not be coming: the first that arrives sends for the next, and the notifying thread is
// spared the wake-up.
bool enough_are_coming(const Lane & lane, const CallbackNode & callback) noexcept
{
  if (lane.coming.empty()) {
    return false;
  }
  const Demand wanted = callback.demand();
  if (callback.is_short()) {
    return lane.coming_for(wanted) > 0;
  }
  if (lane.coming.size() < std::min(lane.ready.size(), lane.cpus)) {
    return false;
  }
  const std::size_t able = lane.coming_for(wanted);
  std::size_t waiting = 0;
  std::size_t looked_at = 0;
  for (const GroupQueue & queue : lane.ready) {
    const Demand demand = queue.first().demand();
    // The others are less urgent still.
    if (
      outranks(wanted, demand) || waiting > able || waiting == lane.cpus || looked_at == kMaxLook) {
      break;
    }
    waiting += same_cpus(demand, wanted) ? 1 : 0;
    ++looked_at;
  }
  return able > 0 && able >= waiting;
}

// What so many short jobs take is worth a wake-up.
constexpr int64_t kWorthWaking_ns = 50'000;
constexpr Duration kToLook = std::chrono::milliseconds(10);

// Whether its jobs are of the fair class, and nothing says that one of them is more urgent than another.
bool asks_for_nothing(const CallbackNode & callback) noexcept
{
  return callback.attributes->asked.scheduling_policy == SchedulingPolicy::kUnchanged &&
         callback.attributes->level < kFirstStrictLevel && callback.priority == 0 &&
         callback.is_short();
}

// Whether a thread that runs a short job will take this one sooner than a thread that sleeps. If that job blocks, which
// the last 255 of its callback did not, the timer thread looks.
bool is_taken_soon(const Lane & lane, const CallbackNode & callback) noexcept
{
  const Worker * const runner = lane.soon_back;
  return runner && lane.clocks->alarm.is_used() && asks_for_nothing(callback) &&
         same_cpus(callback.demand(), runner->job_demand) &&
         callback.backlog.earliest_deadline() == kNever &&
         callback.backlog.newest().ready - runner->job.ready <= CallbackNode::kPrompt &&
         static_cast<int64_t>(lane.ready.size()) * callback.usual_ns <= kWorthWaking_ns;
}

// Wake a sleeper, unless enough are coming. A reentrant group may have more work than one: whoever takes a job
// sends for the next.
bool wake_one(Lane & lane, const CallbackNode & callback, Section & section) noexcept
{
  const Demand wanted = callback.demand();
  if (lane.idle.empty()) {
    if (lane.visitor) {
      make_come(*lane.visitor, section);
    }
    lend_to_coming(lane, wanted, section);
    if (lane.spinner && lane.spinner->callback) {
      lend(*lane.spinner, section);
    }
    return false;
  }
  if (is_taken_soon(lane, callback)) {
    lane.clocks->look_by(callback.backlog.newest().ready + kToLook, section);
    return false;
  }
  if (enough_are_coming(lane, callback)) {
    return false;
  }
  Worker & worker = lane.choose(wanted);
  // A sleeper that is less urgent than its job would not get the CPU to make itself more urgent, so the waker
  // does that; the same if it may not run where the job may: its own CPU may be busy for long. To make itself less
  // urgent is the worker's own business. A sleeper has no deadline: it is always given one.
  const bool raise =
    wanted.attributes->is_ext() ? worker.has_slot : !suffices(worker.urgency.decided(), wanted);
  if (raise && !worker.is_left_alone) {
    worker.urgency.decide(wanted);
  }
  take_from_sleep(worker, callback.urgency, section);
  return true;
}

void send_for(Lane & lane, const CallbackNode & callback, Section & section) noexcept
{
  wake_one(lane, callback, section);
  // Threads that suffice do not depend on the thread that was to wake them.
  const Demand wanted = callback.demand();
  for (Worker & worker : lane.coming) {
    if (suffices(worker, wanted)) {
      wake_too(worker, section);
    }
  }
}

// Whether one of the threads that come will take this group. Each of them takes one group, the most urgent first.
bool is_served(const Lane & lane, const GroupQueue & queue) noexcept
{
  const Demand needed = queue.first().demand();
  std::size_t able = lane.coming_for(needed);
  for (auto other = lane.ready.begin(); able > 0 && &*other != &queue; ++other) {
    able -= same_cpus(other->first().demand(), needed) ? 1 : 0;
  }
  return able > 0;
}

// The first group of which `is_it` holds. Of one more group than there are threads coming, that of is_served() does
// not hold.
template <typename Predicate>
GroupQueue * find(Lane & lane, const Predicate & is_it) noexcept
{
  std::size_t left = std::min(lane.coming.size() + 1, kMaxLook);
  for (GroupQueue & queue : lane.ready) {
    if (is_it(queue)) {
      return &queue;
    }
    if (--left == 0) {
      break;
    }
  }
  return nullptr;
}

// The most urgent job has just been taken: a thread that comes for it goes for the next one, and must not preempt
// for nothing until then. If there is no room in `section`, the next one to arrive does the rest.
void give_back_by_coming(Lane & lane, Section & section) noexcept
{
  const TimePoint next =
    lane.ready.empty() ? kNever : lane.ready.begin()->first().demand().deadline;
  for (Worker & worker : lane.coming) {
    const Demand & decided = worker.urgency.decided();
    if (
      decided.attributes->is_ext() && !decided.rests && decided.deadline < next &&
      section.has_room()) {
      Demand later = decided;
      later.deadline = next;
      worker.urgency.decide(later);
      section.settle(worker);
    }
  }
}

}  // namespace

Demand Worker::needs() const noexcept
{
  Demand needed = job_demand;
  if (callback->is_demoted()) {
    needed.attributes = callback->budget->background;
    needed.deadline = kNever;
  }
  const GroupNode & group = *callback->queue->group;
  for (const GroupQueue * queue : {group.queue.get(), group.timer_queue.get()}) {
    if (group.runner == this && queue && !queue->callbacks.empty()) {
      add(*queue, *this, &needed);
    }
  }
  if (lane && lane->spinner == this && !lane->ready.empty()) {
    add(*lane->ready.begin(), *this, &needed);
  }
  return needed;
}

void Lane::released(const CallbackNode & callback, Section & section) noexcept
{
  if (callback.queue->in_lane.is_linked()) {
    send_for(*this, callback, section);
  } else if (Worker * const runner = callback.queue->group->runner) {
    lend(*runner, section);
  }
}

rclrt_job_wait Lane::what_is_busy(const CallbackNode & callback) const noexcept
{
  if (!callback.queue->group->has_room()) {
    return RCLRT_WAITED_FOR_GROUP;
  }
  const bool is_for_releaser = has_releaser && ready.empty();
  const bool any_sleeps =
    ((!idle.empty() || is_for_releaser) && !is_full()) || (visitor && visitor->sleeping);
  return any_sleeps ? RCLRT_WAITED_FOR_NOTHING : RCLRT_WAITED_FOR_THREAD;
}

void Lane::begin(Section & section) noexcept
{
  for (const GroupQueue & queue : ready) {
    send_for(*this, queue.first(), section);
  }
}

// A job that may run elsewhere is left to a thread that is on its way there: the worker that asks would have to go
// there and wait for that CPU, too.
CallbackNode * Lane::next_for(const Worker & worker) noexcept
{
  if (is_full()) {
    return nullptr;
  }
  GroupQueue * const queue = find(*this, [&](const GroupQueue & next) {
    return worker.is_left_alone || same_cpus(next.first().demand(), worker.urgency.decided()) ||
           !is_served(*this, next);
  });
  return queue ? &queue->first() : nullptr;
}

void Lane::look(Section & section) noexcept
{
  soon_back = nullptr;
  if (!ready.empty()) {
    send_for(*this, ready.begin()->first(), section);
  }
}

void Lane::taken(Worker & taker, Section & section) noexcept
{
  ++running;
  if (asks_for_nothing(*taker.callback) && taker.callback->prompt_jobs == UINT8_MAX) {
    soon_back = &taker;
  }
  give_back_by_coming(*this, section);
  if (ready.empty()) {
    return;
  }
  const GroupQueue * const next =
    find(*this, [this](const GroupQueue & queue) { return !is_served(*this, queue); });
  if (next && wake_one(*this, next->first(), section)) {
    return;
  }
  // The others depend on their wakers. A waker that has come to the word is about to make the system call, and another
  // call for each thread would be too much. But the waker may have lost its CPU in between, and nobody knows how urgent
  // it is. So this thread also wakes the one that will take the most urgent job which waits.
  const Demand waiting = ready.begin()->first().demand();
  bool is_served = false;
  for (Worker & worker : coming) {
    const bool is_not_told = worker.word.load(std::memory_order_relaxed) == Worker::kAsleep;
    const bool is_for_the_first = !is_served && suffices(worker, waiting);
    is_served |= is_for_the_first;
    if (is_not_told || is_for_the_first) {
      wake_too(worker, section);
    }
  }
}

void Lane::taken_by(Worker & courier) noexcept
{
  courier.place = this;
  ++running;
  has_courier = true;
}

// A worker of the lane asks for the next job itself. The courier does not, and threads that came meanwhile may have found
// no place.
void Lane::ended(Worker & worker, Section & section) noexcept
{
  if (worker.lane) {
    --worker.lane->running;
    if (worker.lane->soon_back == &worker) {
      worker.lane->soon_back = nullptr;
    }
  } else if (Lane * const lane = std::exchange(worker.place, nullptr)) {
    --lane->running;
    lane->has_courier = false;
    if (!lane->ready.empty()) {
      send_for(*lane, lane->ready.begin()->first(), section);
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

}  // namespace rclrt_core
