// Copyright 2026 The rclrt Authors
// SPDX-License-Identifier: Apache-2.0

// Threads start and end.

#include <algorithm>
#include <cerrno>
#include <iterator>

#include "engine_impl.hpp"

namespace rclrt_core
{
namespace
{

// Full rings of threads that have ended, kept until they are read.
constexpr std::size_t kLeftoverRings = 64;

const char * const kSlotFix =
  "Every thread that runs such jobs needs a slot: run fewer (EngineOptions::max_threads), or end "
  "programs that hold slots";

}  // namespace

const char * const Engine::Impl::kTimerThreadExt =
  "the timer thread: scheduling_policy ext goes by deadlines, and it has none: give it fifo, more "
  "urgent than the jobs it releases";

std::size_t Engine::Impl::threads_of(const Lane & lane) const noexcept
{
  switch (options.model) {
    case ExecutionModel::kEvents:
      return 0;  // the thread that spins; with release-and-execute also the timer thread
    case ExecutionModel::kIsolated:
      return lane.parallelism;
    case ExecutionModel::kPool:
      break;
  }
  return std::max<std::size_t>(
    1, std::min(options.max_threads, std::max(options.min_threads, lane.parallelism)));
}

std::shared_ptr<Worker> Engine::Impl::new_worker(const std::string & name, Lane * lane)
{
  auto worker = std::make_shared<Worker>(platform, options.trace_capacity);
  worker->name = name;
  worker->lane = lane;
  worker->keeps_attributes = options.attributes_mode == AttributesMode::kOff;
  return worker;
}

// Under threads_mutex.
Status Engine::Impl::start_thread(
  const std::shared_ptr<Worker> & worker, const Attributes & first_attributes)
{
  ThreadOptions thread_options;
  thread_options.name = worker->name;
  thread_options.stack_size = options.stack_size;
  {
    Lock lock(*mutex);
    if (!worker->keeps_attributes) {
      // Not what the thread that adds a group while spinning happens to have.
      thread_options.attributes = attributes.complete(0);
    }
    workers.push_back(worker);
  }
  const auto body = [this, worker, first_attributes] {
    worker->thread_id.store(platform.current_thread(), std::memory_order_relaxed);
    platform.prefault_stack(options.stack_prefault);
    enter_deadlines(*worker);
    begin(*worker, first_attributes);
    work(*worker);
    leave_deadlines(*worker);
  };
  const Status started = platform.start_thread(
    thread_options, body, [this](const Finding & finding) { add_finding(finding); },
    &worker->thread);
  if (!started.ok()) {
    Lock lock(*mutex);
    workers.erase(std::find(workers.begin(), workers.end(), worker));
  }
  return started;
}

// By the worker's thread, before it first sleeps: nobody else touches `in_force` until it has begun. Those of
// the timer thread may be changed meanwhile; so each change is put in force here, or by who makes it.
void Engine::Impl::begin(Worker & worker, const Attributes & first_attributes)
{
  const bool is_timer_thread = worker.drives_timers && !worker.lane;
  AttributesId asked = 0;
  while (!worker.keeps_attributes) {
    Attributes wanted;
    {
      Lock lock(*mutex);
      const AttributesId id = attributes.intern(is_timer_thread ? timer_thread : first_attributes);
      if (id == asked) {
        worker.begun = true;
        return;
      }
      asked = id;
      wanted = attributes.complete(id);
    }
    // Without the lock: to move to a busy CPU may take long.
    const int error = set(worker, wanted, {asked});
    if (error != 0 && error != kNoSlot) {
      add_finding(platform.explain("thread '" + worker.name + "'", wanted, error));
    }
  }
}

// By the worker's thread.
void Engine::Impl::enter_deadlines(Worker & worker)
{
  DeadlineScheduler * chosen = nullptr;
  {
    Lock lock(*mutex);
    worker.asked_for_slot = deadlines != nullptr;
    const bool needs_none = worker.keeps_attributes || !worker.lane;  // runs no jobs
    chosen = needs_none ? nullptr : deadlines.get();
  }
  if (!chosen) {
    return;
  }
  DeadlineScheduler::Slot slot = 0;
  const Status entered = chosen->enter(&slot);
  if (entered.ok()) {
    Lock lock(*mutex);
    worker.slot = slot;
    worker.deadlines = chosen;
  } else {
    add_finding(
      {"thread '" + worker.name + "'",
       entered.message() +
         "; jobs with scheduling_policy ext that it runs go without, until the next spin",
       0, kSlotFix});
  }
}

void Engine::Impl::leave_deadlines(Worker & worker)
{
  if (worker.deadlines) {
    worker.deadlines->leave(worker.slot);
  }
}

// Under threads_mutex.
Status Engine::Impl::grow(Lane & lane)
{
  while (lane.threads < threads_of(lane)) {
    const std::string name = lane.name + " " + std::to_string(lane.threads);
    const Status started = start_thread(new_worker(name, &lane), lane.attributes);
    if (!started.ok()) {
      return started;
    }
    ++lane.threads;
  }
  return {};
}

Status Engine::Impl::start_threads()
{
  Lock threads_lock(*threads_mutex);
  accepts_threads = true;
  auto driver = new_worker("rclrt timers", timer_lane);
  driver->drives_timers = true;
  Attributes first;
  {
    Lock lock(*mutex);
    timer_driver = driver.get();
    first = timer_thread;
  }
  Status status = start_thread(driver, first);
  if (!status.ok()) {
    Lock lock(*mutex);
    timer_driver = nullptr;
  }
  for (auto lane = lanes.begin(); status.ok() && lane != lanes.end(); ++lane) {
    status = grow(*lane);
  }
  return status;
}

// Only once all are asleep: a real-time callback might keep the CPU from threads that are not yet as
// urgent as their jobs will be.
// `here`: of the thread that spins, if that is one; it does not sleep yet.
Status Engine::Impl::let_workers_run(const Worker * here)
{
  Status status;
  WakeList wakes;
  {
    Lock lock(*mutex);
    const auto started = [here](const auto & worker) {
      return worker->sleeping || worker->ended || worker.get() == here;
    };
    while (!std::all_of(workers.begin(), workers.end(), started)) {
      const uint32_t seen = arrived.load();
      lock.unlock();
      platform.wait(arrived, seen, kNever);
      lock.lock();
    }
    status = check_slots();
    if (!status.ok()) {
      return status;
    }
    open = true;
    wake_timer_driver(wakes);
    for (Lane & lane : lanes) {
      for (const GroupQueue & queue : lane.ready) {
        wake_for(lane, demand_of(queue), wakes);
      }
    }
  }
  wakes.wake_or_defer();
  return status;
}

// Under the lock, once the threads have asked for their slots: where attributes are required, every
// thread that may run an ext callback must have one.
Status Engine::Impl::check_slots() const
{
  if (options.attributes_mode != AttributesMode::kRequire) {
    return {};
  }
  for (const auto & entry : callbacks) {
    const CallbackNode & callback = *entry.second;
    if (!attributes.is_ext(callback.attributes)) {
      continue;
    }
    for (const auto & worker : workers) {
      if (worker->lane == callback.queue->lane && !worker->deadlines && !worker->ended) {
        return Status::error(
          "callback '" + callback.name() + "' requires scheduling_policy ext, but thread '" +
          worker->name + "' has no slot of the deadline scheduler. " + kSlotFix);
      }
    }
  }
  return {};
}

void Engine::Impl::join_all()
{
  std::vector<std::shared_ptr<Worker>> ended;
  {
    Lock threads_lock(*threads_mutex);
    accepts_threads = false;
    ended = workers;
  }
  for (const auto & worker : ended) {
    if (worker->thread) {
      worker->thread->join();
    }
  }
  Lock threads_lock(*threads_mutex);
  {
    Lock lock(*mutex);
    open = false;
    timer_driver = nullptr;
    workers.clear();
    for (Lane & lane : lanes) {
      lane.threads = 0;
    }
  }
  for (const auto & worker : ended) {
    keep_trace(*worker);
  }
}

// Join threads whose group is gone. Under threads_mutex.
void Engine::Impl::reap()
{
  std::vector<std::shared_ptr<Worker>> ended;
  {
    Lock lock(*mutex);
    const auto gone = [](const auto & worker) { return worker->retired && worker->ended; };
    std::copy_if(workers.begin(), workers.end(), std::back_inserter(ended), gone);
    workers.erase(std::remove_if(workers.begin(), workers.end(), gone), workers.end());
  }
  for (const auto & worker : ended) {
    worker->thread->join();  // it has nothing left to do
    keep_trace(*worker);
  }
}

void Engine::Impl::keep_trace(Worker & worker)
{
  Lock lock(*report_mutex);
  worker.ring.drain([this](const rclrt_job_record & record) { leftover.push_back(record); });
  leftover_dropped += worker.ring.dropped();
  // Of a user who never reads, keep no more than this.
  for (; leftover.size() > kLeftoverRings * options.trace_capacity; ++leftover_dropped) {
    leftover.pop_front();
  }
}

// Ask for every set of attributes once, on a thread made for it, so that refusals are known before
// the first callback runs.
Status Engine::Impl::probe()
{
  std::map<AttributesId, std::string> asked;
  std::shared_ptr<DeadlineScheduler> scheduler;
  {
    Lock lock(*mutex);
    scheduler = deadlines;
    for (const auto & entry : callbacks) {
      asked.emplace(entry.second->attributes, entry.second->name());
    }
    asked.emplace(attributes.intern(timer_thread), "the timer thread");
  }
  asked.erase(0);
  for (const auto & [id, subject] : asked) {
    Attributes wanted;
    {
      Lock lock(*mutex);
      wanted = attributes.complete(id);
    }
    int error = 0;
    std::unique_ptr<Thread> thread;
    Status entered;
    const auto body = [&, demand = Demand{id}] {
      Worker trial(platform, 0);
      trial.thread_id.store(platform.current_thread(), std::memory_order_relaxed);
      if (wanted.policy == SchedulingPolicy::kExt && scheduler) {
        entered = scheduler->enter(&trial.slot);
        trial.asked_for_slot = true;
        trial.deadlines = entered.ok() ? scheduler.get() : nullptr;
      }
      error = set(trial, wanted, demand);
      leave_deadlines(trial);
    };
    const Status started = platform.start_thread(ThreadOptions{}, body, {}, &thread);
    if (!started.ok()) {
      return started;
    }
    thread->join();
    if (error == 0) {
      continue;
    }
    Finding finding = platform.explain(subject, wanted, error);
    if (error == kNoSlot) {
      finding = {subject, "asked for " + to_string(wanted) + ": " + entered.message(), 0, kSlotFix};
    }
    if (options.attributes_mode == AttributesMode::kRequire) {
      return Status::error(to_string(finding));
    }
    add_finding(finding);
    Lock lock(*mutex);
    for (const auto & entry : callbacks) {
      if (entry.second->attributes == id && error != ENOSPC && error != kNoSlot) {  // these pass
        entry.second->attributes = 0;
      }
    }
  }
  return {};
}

Status Engine::Impl::prepare()
{
  Attributes base;
  const int error = platform.read_back(platform.current_thread(), &base);
  bool wants_realtime = false;
  {
    Lock lock(*mutex);
    if (
      options.attributes_mode != AttributesMode::kOff &&
      timer_thread.policy == SchedulingPolicy::kExt) {
      return Status::error(kTimerThreadExt);
    }
    if (base.policy == SchedulingPolicy::kExt) {
      base.policy = SchedulingPolicy::kOther;  // somebody else's ext, without deadlines of ours
    }
    if (error == 0) {
      attributes.set_base(base);
    }
    for (const auto & entry : callbacks) {
      const SchedulingPolicy policy = attributes.complete(entry.second->attributes).policy;
      wants_realtime |= policy == SchedulingPolicy::kFifo ||
                        policy == SchedulingPolicy::kRoundRobin ||
                        policy == SchedulingPolicy::kDeadline || policy == SchedulingPolicy::kExt;
    }
  }
  if (options.lock_memory) {
    for (Finding & finding : platform.lock_memory()) {
      add_finding(std::move(finding));
    }
  }
  if (options.attributes_mode == AttributesMode::kOff) {
    return {};
  }
  for (Finding & finding : platform.check_system(wants_realtime)) {
    add_finding(std::move(finding));
  }
  return probe();
}

// The thread that spins is one of the engine's.
std::shared_ptr<Worker> Engine::Impl::join_in()
{
  auto worker = new_worker("rclrt events", shared_lane);
  worker->thread_id.store(platform.current_thread(), std::memory_order_relaxed);
  enter_deadlines(*worker);
  Lock threads_lock(*threads_mutex);
  Lock lock(*mutex);
  workers.push_back(worker);
  return worker;
}

// It has what it had before.
void Engine::Impl::step_out(Worker & worker)
{
  Attributes base;
  {
    Lock lock(*mutex);
    base = attributes.complete(0);
  }
  const int error = worker.in_force.attributes != 0 ? set(worker, base, {}) : 0;
  leave_deadlines(worker);
  if (error != 0) {
    add_finding(platform.explain("the thread that spins, afterwards", base, error));
  }
}

Status Engine::Impl::spin()
{
  if (spinning.exchange(true)) {
    return Status::error("spin() called while already spinning");
  }
  Status status = prepare();
  if (status.ok()) {
    status = start_threads();
  }
  std::shared_ptr<Worker> here;
  if (status.ok() && options.model == ExecutionModel::kEvents) {
    here = join_in();
  }
  if (status.ok()) {
    status = let_workers_run(here.get());
  }
  if (status.ok() && here) {
    work(*here);
  } else if (status.ok()) {
    // Acquire: what the thread that stopped us did before is visible to who called spin().
    while (stop_word.load(std::memory_order_acquire) == 0) {
      platform.wait(stop_word, 0, kNever);
    }
  }
  if (here) {
    step_out(*here);
  }
  stop();
  join_all();
  stop_word.store(0, std::memory_order_relaxed);  // no thread is left to read it
  spinning.store(false);
  return status;
}

void Engine::Impl::stop() noexcept
{
  WakeList wakes;
  {
    Lock lock(*mutex);
    stop_word.store(1, std::memory_order_release);
    for (const auto & worker : workers) {
      if (worker->sleeping) {
        take_from_sleep(*worker, wakes);
      }
    }
    if (inline_worker->sleeping) {
      take_from_sleep(*inline_worker, wakes);
    }
  }
  wakes.wake_or_defer();
  platform.wake_one(stop_word);
}

// Under the lock, where the workers read the word: they all see the stop, or none of them.
void Engine::Impl::clear_stop() noexcept
{
  Lock lock(*mutex);
  if (!spinning.load()) {
    stop_word.store(0, std::memory_order_release);
  }
}

}  // namespace rclrt_core
