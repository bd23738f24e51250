// Copyright 2026 The rclrt Authors
// SPDX-License-Identifier: Apache-2.0

// What a thread of the engine does, and how it is woken.
//
//            pick()                     finish()
//   asking ---------> running a job ---------------> asking
//     |  ^
//     |  | word is not kAsleep any more (by the waker, or by who is in a hurry)
//     v  |
//   sleeping: in its lane's idle list until take_from_sleep(), then on the waker's list

#include <algorithm>
#include <cerrno>
#include <optional>
#include <utility>

#include "engine_impl.hpp"

namespace rclrt_core
{
namespace
{

struct DeferredWakes
{
  int depth = 0;
  WakeList wakes;
};

thread_local DeferredWakes deferred;

}  // namespace

thread_local const Engine::Impl::Running * Engine::Impl::running_here = nullptr;

const Job * current_job() noexcept
{
  return Engine::Impl::running_here ? &Engine::Impl::running_here->worker->job : nullptr;
}

TimePoint deadline_to_publish() noexcept
{
  if (!Engine::Impl::running_here) {
    return kNever;
  }
  Worker & worker = *Engine::Impl::running_here->worker;
  worker.handed_on = true;
  return worker.job.deadline;
}

void inherit_deadline(std::optional<TimePoint> carried) noexcept
{
  if (Engine::Impl::running_here) {
    Engine::Impl::running_here->engine->inherit_deadline(carried);
  }
}

// Whether this thread is inside a callback of this engine.
bool Engine::Impl::is_here() const noexcept
{
  const Running * running = running_here;
  while (running && running->engine != this) {
    running = running->outer;
  }
  return running != nullptr;
}

const void * WakeList::owner() noexcept { return &deferred; }

void WakeList::append(WakeList & other) noexcept
{
  if (other.first_) {
    *(last_ ? &last_->next_to_wake : &first_) = other.first_;
    last_ = other.last_;
  }
  for (std::size_t i = 0; i < other.again_count_; ++i) {
    add(other.again_[i]);
  }
  other.clear();
}

WakeBatch::WakeBatch() noexcept { ++deferred.depth; }

WakeBatch::~WakeBatch()
{
  if (--deferred.depth == 0) {
    deferred.wakes.wake_all();
  }
}

void WakeList::wake_or_defer() noexcept
{
  if (deferred.depth > 0) {
    deferred.wakes.append(*this);
  } else {
    wake_all();
  }
}

void WakeList::wake_all() noexcept
{
  for (std::size_t i = 0; i < again_count_; ++i) {
    again_[i].platform->wake_one(*again_[i].word);
  }
  for (Worker * next = first_; next;) {
    Worker & worker = *next;
    next = worker.next_to_wake;
    // From the store on the worker may run, end and be gone: the word's address is only compared
    // by the kernel, never read through.
    Platform & platform = worker.platform;
    const std::atomic<uint32_t> & word = worker.word;
    worker.word.store(Worker::kAwake, std::memory_order_release);
    platform.wake_one(word);
  }
  clear();
}

// Under the lock, or by the worker's own thread before anybody can find it. `worker.in_force` becomes
// `to` if nothing is refused. `change` is what the OS is to be asked for. ENOTSUP: nobody orders deadlines;
// ENOSPC: somebody does, but has no room for this job now.
int Engine::Impl::set(Worker & worker, const Attributes & change, const Demand & to) noexcept
{
  const bool is_ext = change.policy == SchedulingPolicy::kExt;
  if (is_ext && !worker.deadlines) {
    return worker.asked_for_slot ? kNoSlot : ENOTSUP;
  }
  if (worker.deadline_class && !is_ext) {
    worker.deadlines->forget(worker.slot);
    worker.deadline_class = worker.deadline_active = false;
  }
  Attributes other = change;
  if (is_ext) {
    other.policy = SchedulingPolicy::kUnchanged;  // that is up to the deadline scheduler
  }
  int error = is_ext && other.cpu_affinity.empty()
                ? 0
                : worker.platform.apply(worker.thread_id.load(std::memory_order_relaxed), other);
  if (error == 0 && is_ext) {
    error = worker.deadlines->start(worker.slot, to.deadline);
    worker.deadline_class = true;
    worker.deadline_active = error == 0;
  }
  // What is refused in part is in force in part.
  worker.in_force = error == 0 ? to : Demand{kUnknownAttributes};
  return error;
}

void Engine::Impl::sleep(Worker & worker, TimePoint until, Lock & lock, WakeList & wakes) noexcept
{
  if (worker.deadline_active) {
    worker.deadlines->stop(worker.slot);
    worker.deadline_active = false;
    worker.in_force.deadline = kNever;
  }
  uint32_t expected = Worker::kAwakeAndHeld;
  // Acquire, if it fails: pairs with the store of the one that held it, which may not touch the worker any
  // more. The other stores are relaxed: published by the unlock, before anybody can find the worker.
  const bool is_held = worker.word.compare_exchange_strong(
    expected, Worker::kAsleep, std::memory_order_acquire, std::memory_order_acquire);
  if (is_held) {
    worker.waker = &worker;  // whoever
  } else {
    worker.word.store(Worker::kAsleep, std::memory_order_relaxed);
  }
  worker.sleeping = !is_held;
  if (worker.lane && is_held) {
    worker.lane->woken.push_back(worker);
  } else if (worker.lane) {
    worker.lane->idle.push_front(worker);
  }
  const bool just_started = !open;
  lock.unlock();
  if (just_started) {
    arrived.fetch_add(1);
    platform.wake_one(arrived);
  }
  wakes.wake_or_defer();
  // Acquire: pairs with the release of who changes the word.
  while (worker.word.load(std::memory_order_acquire) == Worker::kAsleep) {
    platform.wait(worker.word, Worker::kAsleep, until);
    if (worker.word.load(std::memory_order_acquire) == Worker::kAsleep && platform.now() >= until) {
      break;
    }
  }
  lock.lock();
  wake_up(worker);
}

void Engine::Impl::wake_up(Worker & worker) noexcept
{
  Lane::Workers * list = nullptr;
  if (worker.sleeping) {  // the time is up and nobody has taken the worker: it takes itself
    worker.sleeping = false;
    worker.word.store(Worker::kAwake, std::memory_order_relaxed);  // under the lock
    list = worker.lane ? &worker.lane->idle : nullptr;
  } else {
    list = worker.lane ? &worker.lane->woken : nullptr;
    // If the time is up and who has taken it has not woken it yet, the worker does not wait for that.
    uint32_t expected = Worker::kAsleep;
    worker.word.compare_exchange_strong(
      expected, Worker::kAwakeAndHeld, std::memory_order_acquire, std::memory_order_acquire);
  }
  worker.waker = nullptr;
  if (list) {
    list->erase(list->iterator_to(worker));
  }
}

// Under the lock, so that a boost by inherit_from_waiting() is not undone by a late setting. But a thread
// that moves to a busy CPU waits for it: boosts leave the CPUs alone, so it moves without the lock.
int Engine::Impl::put_in_force(
  Worker & worker, Attributes * asked, CpuSet * move_to, bool * is_later) noexcept
{
  const CallbackNode & callback = *worker.callback;
  const bool is_ext = attributes.is_ext(callback.attributes);
  const Demand demand{callback.attributes, is_ext ? own_or_lent_deadline(worker) : kNever};
  if (worker.keeps_attributes) {
    return 0;
  }
  if (is_ext && worker.asked_for_slot && !worker.deadlines) {
    // The thread has no slot and said so when it began. Its job goes without; others have one.
    if (worker.in_force == Demand{}) {
      inherit_from_group(worker);
    } else {
      go_without_attributes(worker);
    }
    return 0;
  }
  if (worker.in_force == demand && worker.deadline_active == is_ext) {
    inherit_from_group(worker);
    return 0;
  }
  *asked = attributes.change(worker.in_force.attributes, demand.attributes);
  Attributes now = *asked;
  // The OS makes nobody a SCHED_DEADLINE thread who may not run on all CPUs, where it is already.
  if (now.policy != SchedulingPolicy::kDeadline) {
    std::swap(now.cpu_affinity, *move_to);
  }
  const bool was_active = worker.deadline_active;
  const TimePoint before = worker.in_force.deadline;
  int error = set(worker, now, demand);
  if (error == ENOSPC) {  // it passes: for this job only
    *move_to = CpuSet();
    go_without_attributes(worker);
    error = std::exchange(told_of_no_room, true) ? 0 : error;
  } else if (error != 0) {
    *move_to = CpuSet();
    give_up_attributes(worker, demand.attributes);
  } else {
    inherit_from_group(worker);
    *is_later = was_active && worker.deadline_active && before < worker.in_force.deadline;
  }
  return error;
}

// What is refused is not asked for again, unless somebody has asked for something else meanwhile.
void Engine::Impl::give_up_attributes(Worker & worker, AttributesId refused) noexcept
{
  if (worker.callback->attributes == refused) {
    worker.callback->attributes = 0;
  }
  go_without_attributes(worker);
}

// Nothing is left of what was refused, and nothing of the previous job.
void Engine::Impl::go_without_attributes(Worker & worker) noexcept
{
  set(worker, attributes.complete(0), {});
  inherit_from_group(worker);
}

// Under the lock.
int Engine::Impl::give(Worker & worker, const Demand & demand) noexcept
{
  return set(worker, attributes.change(worker.in_force.attributes, demand.attributes), demand);
}

// Of a thread that has work already: if more is refused, it keeps what it has.
int Engine::Impl::give_or_leave(Worker & worker, const Demand & demand) noexcept
{
  const Demand before = worker.in_force;
  const int error = give(worker, demand);
  if (error != 0 && !(worker.in_force == before)) {
    give(worker, before);
  }
  return error;
}

void Engine::Impl::handle_exception(const Callback & callback) noexcept
{
  const std::exception_ptr thrown = std::current_exception();
  const ExceptionAction action =
    options.on_exception ? options.on_exception(callback, thrown) : ExceptionAction::kStop;
  if (action == ExceptionAction::kStop) {
    {
      Lock lock(*mutex);
      if (!exception) {
        exception = thrown;
      }
    }
    stop();
  }
}

bool Engine::Impl::execute(Worker & worker, Lock & lock, WakeList & wakes) noexcept
{
  Attributes asked;
  CpuSet move_to;
  const AttributesId wanted = worker.callback->attributes;
  bool is_later = false;
  int refusal = put_in_force(worker, &asked, &move_to, &is_later);
  if (worker.lane) {
    lower_on_their_way(*worker.lane);
    wake_next(*worker.lane, wakes);
  }
  lock.unlock();
  wakes.wake_or_defer();

  const CallbackNode & callback = *worker.callback;
  if (is_later) {
    worker.deadlines->give_way();
  }
  if (!move_to.empty()) {
    Attributes affinity;
    affinity.cpu_affinity = move_to;
    refusal = platform.apply(worker.thread_id.load(std::memory_order_relaxed), affinity);
    if (refusal != 0) {
      lock.lock();
      give_up_attributes(worker, wanted);
      lock.unlock();
    }
  }
  if (refusal != 0) {
    add_finding(platform.explain(callback.name(), asked, refusal));
  }
  const Running running{this, &worker, running_here};
  running_here = &running;
  const int cpu = platform.current_cpu();
  const int64_t preemptions_before = platform.current_preemptions();
  const TimePoint start = platform.now();
  rclrt_job_outcome outcome = RCLRT_JOB_DONE;
  try {
    outcome = callback.run(worker.job) ? RCLRT_JOB_DONE : RCLRT_JOB_EMPTY;
  } catch (...) {
    outcome = RCLRT_JOB_EXCEPTION;
    handle_exception(callback);
  }
  const TimePoint end = platform.now();
  running_here = running.outer;

  rclrt_job_record record{};
  record.release_ns = nanoseconds_of(worker.job.release);
  record.ready_ns = nanoseconds_of(worker.job.ready);
  record.start_ns = nanoseconds_of(start);
  record.end_ns = nanoseconds_of(end);
  record.deadline_ns = nanoseconds_of(worker.job.deadline);
  record.sequence = worker.job.sequence;
  record.callback = callback.id();
  record.thread = static_cast<uint32_t>(worker.thread_id.load(std::memory_order_relaxed));
  record.preemptions =
    preemptions_before < 0
      ? RCLRT_TRACE_UNKNOWN
      : static_cast<int32_t>(platform.current_preemptions() - preemptions_before);
  record.cpu = static_cast<uint16_t>(cpu);
  record.outcome = static_cast<uint8_t>(outcome);
  worker.ring.push(record);

  lock.lock();
  ++worker.jobs;
  CallbackStatistics & statistics = worker.callback->statistics;
  statistics.executed += outcome != RCLRT_JOB_EMPTY ? 1 : 0;
  statistics.empty += outcome == RCLRT_JOB_EMPTY ? 1 : 0;
  statistics.exceptions += outcome == RCLRT_JOB_EXCEPTION ? 1 : 0;
  if (outcome != RCLRT_JOB_EMPTY) {
    statistics.deadline_misses += end > worker.job.deadline ? 1 : 0;
    statistics.max_response = std::max(statistics.max_response, end - worker.job.release);
  }
  finish(worker, outcome != RCLRT_JOB_EMPTY, wakes);

  std::shared_ptr<CallbackNode> finished = std::move(worker.callback);
  const bool awaited = finished->idle_waiters > 0 && finished->running == 0;
  if (awaited || finished->removed) {
    // Possibly the last owner: what the callback holds is destroyed here, without the lock.
    lock.unlock();
    if (awaited) {
      finished->idle_word.store(1, std::memory_order_release);
      platform.wake_one(finished->idle_word);
    }
    finished.reset();
    lock.lock();
  }
  return outcome != RCLRT_JOB_EMPTY;
}

void Engine::Impl::work(Worker & worker) noexcept
{
  WakeList wakes;
  Lock lock(*mutex);
  while (stop_word.load(std::memory_order_relaxed) == 0 && !worker.retired) {
    if (deadlines && !worker.asked_for_slot) {
      lock.unlock();
      wakes.wake_or_defer();
      enter_deadlines(worker);
      lock.lock();
      continue;  // it may have been told to stop meanwhile
    }
    if (worker.drives_timers && open) {
      release_due(wakes);
    }
    if (open && pick(worker, UINT64_MAX)) {
      execute(worker, lock, wakes);
    } else {
      sleep(worker, worker.drives_timers && open ? next_timer_release() : kNever, lock, wakes);
    }
  }
  // Whose list it is on reads from it.
  while (worker.word.load(std::memory_order_acquire) == Worker::kAwakeAndHeld) {
    lock.unlock();
    wakes.wake_or_defer();
    platform.wait(worker.word, Worker::kAwakeAndHeld, kNever);
    lock.lock();
  }
  worker.ended = true;
  if (worker.retired) {
    --worker.lane->threads;
  }
  lock.unlock();
  arrived.fetch_add(1);  // it may have ended before anybody let it run
  platform.wake_one(arrived);
  wakes.wake_or_defer();
}

bool Engine::Impl::run_one(TimePoint until, uint64_t before_sequence)
{
  Worker & worker = *inline_worker;
  WakeList wakes;
  bool ran = false;
  Lock lock(*mutex);
  worker.thread_id.store(platform.current_thread(), std::memory_order_relaxed);
  inline_active = true;
  timer_driver = &worker;
  while (stop_word.load(std::memory_order_relaxed) == 0) {
    release_due(wakes);
    if (pick(worker, before_sequence)) {
      if (worker.callback->attributes != 0 && !told_of_inline) {
        told_of_inline = true;
        lock.unlock();
        add_finding(
          {worker.callback->name(),
           "has attributes, but runs with those of the thread that called a function like "
           "spin_some()",
           0, "Attributes are in force under spin()."});
        lock.lock();
      }
      ran = execute(worker, lock, wakes);
      if (ran) {
        break;
      }
      continue;
    }
    if (platform.now() >= until) {
      break;
    }
    sleep(worker, std::min(until, next_timer_release()), lock, wakes);
  }
  inline_active = false;
  timer_driver = nullptr;
  lock.unlock();
  wakes.wake_or_defer();
  return ran;
}

uint64_t Engine::Impl::next_sequence()
{
  WakeList wakes;
  uint64_t next = 0;
  {
    Lock lock(*mutex);
    release_due(wakes);
    next = next_job;
  }
  wakes.wake_or_defer();
  return next;
}

}  // namespace rclrt_core
