// Copyright 2026 The rclrt Authors
// SPDX-License-Identifier: Apache-2.0

// What a thread does: take a job, put in force what it needs, run it, sleep.

#include <algorithm>
#include <cerrno>
#include <utility>

#include "engine_impl.hpp"

namespace rclrt_core
{

void Engine::Impl::sleep(Worker & worker, TimePoint until, Lock & lock, Calls & calls) noexcept
{
  Demand rest = worker.urgency.decided();
  if (rest.policy->is_ext()) {
    rest.deadline = kNever;
    rest.rests = true;
    worker.urgency.decide(rest);
  }
  lie_down(worker);
  const bool just_started = !open;
  lock.unlock();
  if (!worker.urgency.is_settled()) {
    worker.urgency.settle();
  }
  if (just_started) {
    arrived.fetch_add(1);
    platform.wake_one(arrived);
  }
  calls.go();
  // Acquire: pairs with the release of the thread that changes the word.
  while (worker.word.load(std::memory_order_acquire) == Worker::kAsleep) {
    platform.wait(worker.word, Worker::kAsleep, until);
    if (worker.word.load(std::memory_order_acquire) == Worker::kAsleep && platform.now() >= until) {
      break;
    }
  }
  lock.lock();
  wake_up(worker);
}

bool Engine::Impl::pick(Worker & worker, uint64_t before_sequence) noexcept
{
  CallbackNode * best = nullptr;
  if (worker.lane) {
    best = dispatch.next_for(worker);
  } else if (&worker == inline_worker.get()) {
    best = Dispatch::next_before(lanes, before_sequence);
  }
  if (!best) {
    return false;
  }
  worker.job = ready.take(*best, worker);
  worker.callback = best->shared_from_this();
  worker.handed_on = false;
  fan_in(worker);
  worker.job_demand = {
    best->policy, best->cpus, best->policy->is_ext() ? worker.job.deadline : kNever};
  if (best->policy->is_ext() && worker.asked_for_slot && !worker.has_slot) {
    // The thread has no slot and said so when it began. Its job goes without; other threads have one.
    worker.job_demand = {&attributes.nothing(), &attributes.nothing()};
  }
  if (!worker.keeps_attributes) {
    worker.urgency.decide(Dispatch::needs(worker));
  }
  return true;
}

// A job does not begin before its thread has what it needs, or has been refused it.
void Engine::Impl::put_in_force(Worker & worker) noexcept
{
  int refusal = 0;
  for (int tries = 0; tries < 4 && !worker.urgency.is_settled(); ++tries) {
    const ThreadUrgency::Outcome outcome = worker.urgency.settle(true);
    int error = outcome.error;
    if (outcome.is_later) {
      worker.urgency.give_way();
    }
    if (error == 0 && !outcome.move_to.empty()) {
      error = worker.urgency.move(outcome.move_to);
    }
    if (outcome.left_out || error == kCpusLeftOut) {
      tell_refusal(worker, worker.job_demand, kCpusLeftOut);  // the rest is in force
      error = error == kCpusLeftOut ? 0 : error;
    }
    if (error != 0) {
      const Demand asked = worker.job_demand;
      refusal = go_on_without(worker, error);
      if (refusal != 0) {
        tell_refusal(worker, asked, refusal);
      }
    }
  }
}

void Engine::Impl::tell_refusal(const Worker & worker, const Demand & asked, int error)
{
  if (error == kCpusLeftOut && asked.cpus->asked.cpu_affinity.empty()) {
    return;  // it is given all that there are, and asked for no more
  }
  Attributes refused = asked.policy->asked;
  refused.cpu_affinity = asked.cpus->asked.cpu_affinity;
  add_finding(platform.explain(worker.callback->name(), refused, error));
}

// What is refused is not asked for again, unless somebody has asked for something else meanwhile. Nothing is left
// of it, and nothing of the previous job. Returns what is to be told: 0, or the errno.
int Engine::Impl::go_on_without(Worker & worker, int error) noexcept
{
  const Lock lock(*mutex);
  CallbackNode & callback = *worker.callback;
  const Demand asked = worker.job_demand;
  const AttributesEntry & nothing = attributes.nothing();
  const bool was_lent = Dispatch::needs(worker) != asked;
  int told = 0;
  if (was_lent) {
    worker.urgency.decide(asked);  // the loan may be what was refused
    return 0;
  }
  const bool is_for_cpus = error == EINVAL && asked.cpus != &nothing &&
                           !asked.cpus->asked.cpu_affinity.empty() && asked.policy != &nothing;
  worker.job_demand = {is_for_cpus ? asked.policy : &nothing, &nothing, kNever};
  if (is_for_cpus) {
    worker.job_demand.deadline = asked.deadline;
  }
  if (error == ENOSPC) {  // it passes: for this job only
    told = std::exchange(told_of_no_room, true) ? 0 : error;
  } else {
    told = error;
    if (callback.policy == asked.policy && callback.cpus == asked.cpus) {
      ready.change(callback, [&] {
        callback.policy = worker.job_demand.policy;
        callback.cpus = worker.job_demand.cpus;
      });
    }
  }
  worker.urgency.decide(worker.job_demand);
  return told;
}

void Engine::Impl::handle_exception(const Callback & callback) noexcept
{
  const std::exception_ptr thrown = std::current_exception();
  const ExceptionAction action =
    options.on_exception ? options.on_exception(callback, thrown) : ExceptionAction::kStop;
  if (action == ExceptionAction::kStop) {
    {
      const Lock lock(*mutex);
      if (!exception) {
        exception = thrown;
      }
    }
    stop();
  }
}

bool Engine::Impl::execute(Worker & worker, Lock & lock, Calls & calls) noexcept
{
  if (worker.lane) {
    dispatch.taken(worker, calls);
  }
  lock.unlock();
  put_in_force(worker);
  calls.go();

  const CallbackNode & callback = *worker.callback;
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
  worker.jobs.fetch_add(1, std::memory_order_relaxed);

  lock.lock();
  CallbackStatistics & statistics = worker.callback->statistics;
  statistics.executed += outcome != RCLRT_JOB_EMPTY ? 1 : 0;
  statistics.empty += outcome == RCLRT_JOB_EMPTY ? 1 : 0;
  statistics.exceptions += outcome == RCLRT_JOB_EXCEPTION ? 1 : 0;
  if (outcome != RCLRT_JOB_EMPTY) {
    statistics.deadline_misses += end > worker.job.deadline ? 1 : 0;
    statistics.max_response = std::max(statistics.max_response, end - worker.job.release);
  }
  finish(worker, outcome != RCLRT_JOB_EMPTY, calls);

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

void Engine::Impl::finish(Worker & worker, bool found_work, Calls & calls) noexcept
{
  CallbackNode & callback = *worker.callback;
  GroupNode & group = *callback.queue->group;
  ready.finish(callback);
  // What the job has taken waits for a job that hands it on; the newest of a callback stands for all it took.
  if (worker.handed_on) {
    hand_on(callback);
  } else if (
    found_work && callback.inherits_deadlines() && !callback.removed &&
    callback.taken != worker.own_deadline) {
    keep_taken(callback, worker.own_deadline);
  }
  if (callback.timer && callback.timer->releases_when_done() && callback.backlog.empty()) {
    const TimePoint now = platform.now();
    release(callback, now, now, 1, nullptr, calls);
  }
  // The worker asks for the next job of its own lane itself.
  for (GroupQueue * queue : {group.queue.get(), group.timer_queue.get()}) {
    if (queue && queue->in_lane.is_linked() && queue->lane != worker.lane) {
      dispatch.ready_again(*queue, calls);
    }
  }
}

void Engine::Impl::work(Worker & worker) noexcept
{
  Calls calls;
  Lock lock(*mutex);
  while (stop_word.load(std::memory_order_relaxed) == 0 && !worker.retired) {
    if (deadlines && !worker.asked_for_slot) {
      lock.unlock();
      calls.go();
      enter_deadlines(worker);
      lock.lock();
      continue;  // it may have been told to stop meanwhile
    }
    if (worker.drives_timers && open) {
      release_all_due(lock, calls);
    }
    if (open && pick(worker, UINT64_MAX)) {
      execute(worker, lock, calls);
    } else {
      sleep(worker, worker.drives_timers && open ? next_timer_release() : kNever, lock, calls);
    }
  }
  // The thread whose list it is on reads from it.
  while (worker.word.load(std::memory_order_acquire) == Worker::kAwakeAndHeld) {
    lock.unlock();
    calls.go();
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
  calls.go();
}

bool Engine::Impl::run_one(TimePoint until, uint64_t before_sequence)
{
  Worker & worker = *inline_worker;
  Calls calls;
  bool ran = false;
  Lock lock(*mutex);
  worker.thread_id.store(platform.current_thread(), std::memory_order_relaxed);
  dispatch.set_visitor(&worker);
  timer_driver = &worker;
  while (stop_word.load(std::memory_order_relaxed) == 0) {
    release_all_due(lock, calls);
    if (pick(worker, before_sequence)) {
      const bool goes_without = worker.callback->policy != &attributes.nothing() ||
                                worker.callback->cpus != &attributes.nothing();
      if (goes_without && !std::exchange(told_of_inline, true)) {
        lock.unlock();
        add_finding(
          {worker.callback->name(),
           "has attributes, but runs with those of the thread that called a function like "
           "spin_some()",
           0, "Attributes are in force under spin()."});
        lock.lock();
      }
      ran = execute(worker, lock, calls);
      if (ran) {
        break;
      }
      continue;
    }
    if (platform.now() >= until) {
      break;
    }
    sleep(worker, std::min(until, next_timer_release()), lock, calls);
  }
  dispatch.set_visitor(nullptr);
  timer_driver = nullptr;
  lock.unlock();
  calls.go();
  return ran;
}

uint64_t Engine::Impl::next_sequence()
{
  Calls calls;
  uint64_t next = 0;
  {
    Lock lock(*mutex);
    release_all_due(lock, calls);
    next = ready.next_sequence();
  }
  calls.go();
  return next;
}

}  // namespace rclrt_core
