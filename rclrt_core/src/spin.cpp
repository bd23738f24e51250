// Copyright 2026 The rclrt Authors
// SPDX-License-Identifier: Apache-2.0

// Threads start and end.

#include <algorithm>
#include <cerrno>
#include <map>

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
  auto worker =
    std::make_shared<Worker>(platform, *mutex, attributes.nothing(), options.trace_capacity);
  worker->name = name;
  worker->lane = lane;
  worker->keeps_attributes = options.attributes_mode == AttributesMode::kOff;
  return worker;
}

// Under `configuration`. Whoever reads the list under `mutex` sees the old one or the new one.
void Engine::Impl::set_workers(Workers next)
{
  const Lock lock(*mutex);
  workers.swap(next);
}

// Under `configuration`.
Status Engine::Impl::start_thread(
  const std::shared_ptr<Worker> & worker, const AttributesEntry & first)
{
  ThreadOptions thread_options;
  thread_options.name = worker->name;
  thread_options.stack_size = options.stack_size;
  if (!worker->keeps_attributes) {
    // Not what the thread that adds a group while spinning happens to have.
    thread_options.attributes = attributes.nothing().complete;
  }
  const auto body = [this, worker, &first] {
    worker->thread_id.store(platform.current_thread(), std::memory_order_relaxed);
    platform.prefault_stack(options.stack_prefault);
    enter_deadlines(*worker);
    begin(*worker, first);
    work(*worker);
    worker->urgency.end();
  };
  Workers more = workers;
  more.push_back(worker);
  const Workers before = workers;
  set_workers(std::move(more));
  Status started = platform.start_thread(
    thread_options, body, [this](const Finding & finding) { add_finding(finding); },
    &worker->thread);
  if (!started.ok()) {
    set_workers(before);
  }
  return started;
}

// By the worker's thread, before it first sleeps. Without a lock: to move to a busy CPU may take long.
void Engine::Impl::begin(Worker & worker, const AttributesEntry & first)
{
  if (worker.keeps_attributes) {
    return;
  }
  {
    const Lock lock(*mutex);
    const bool is_ext = first.is_ext();
    if (!is_ext || worker.has_slot) {
      Demand demand{&first, &first};
      demand.rests = is_ext;
      // Of the timer thread somebody may have decided something else already.
      if (worker.urgency.decided() == Demand{&attributes.nothing(), &attributes.nothing()}) {
        worker.urgency.decide(demand);
      }
    }
  }
  worker.urgency.begin();
  ThreadUrgency::Outcome outcome = worker.urgency.settle(true);
  if (outcome.error == 0 && !outcome.move_to.empty()) {
    outcome.error = worker.urgency.move(outcome.move_to);
  }
  if (outcome.left_out) {
    outcome.error = kCpusLeftOut;
  }
  if (outcome.error != 0) {
    add_finding(platform.explain("thread '" + worker.name + "'", first.complete, outcome.error));
  }
}

// By the worker's thread.
void Engine::Impl::enter_deadlines(Worker & worker)
{
  DeadlineScheduler * chosen = nullptr;
  {
    const Lock lock(*mutex);
    worker.asked_for_slot = deadlines != nullptr;
    const bool needs_none = worker.keeps_attributes || !worker.lane;  // runs no jobs
    chosen = needs_none ? nullptr : deadlines.get();
  }
  if (!chosen) {
    return;
  }
  const Status entered = worker.urgency.enter(*chosen);
  if (entered.ok()) {
    const Lock lock(*mutex);
    worker.has_slot = true;
  } else {
    add_finding(
      {"thread '" + worker.name + "'",
       entered.message() +
         "; jobs with scheduling_policy ext that it runs go without, until the next spin",
       0, kSlotFix});
  }
}

// Under `configuration`.
Status Engine::Impl::grow(Lane & lane)
{
  while (lane.threads < threads_of(lane)) {
    const std::string name = lane.name + " " + std::to_string(lane.threads);
    const Status started = start_thread(new_worker(name, &lane), *lane.attributes);
    if (!started.ok()) {
      return started;
    }
    const Lock lock(*mutex);  // a thread that ends counts itself out
    ++lane.threads;
  }
  return {};
}

Status Engine::Impl::start_threads()
{
  const Lock configuration_lock(*configuration);
  accepts_threads = true;
  auto driver = new_worker("rclrt timers", timer_lane);
  driver->drives_timers = true;
  const AttributesEntry & first = attributes.intern(timer_thread);
  {
    const Lock lock(*mutex);
    timer_driver = driver.get();
  }
  Status status = start_thread(driver, first);
  if (!status.ok()) {
    const Lock lock(*mutex);
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
  Calls calls;
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
  }
  const Status status = check_slots();
  if (!status.ok()) {
    return status;
  }
  {
    const Lock configuration_lock(*configuration);  // no lane comes
    const Lock lock(*mutex);
    open = true;
    wake_timer_driver(calls);
    for (Lane & lane : lanes) {
      dispatch.begin(lane, calls);
    }
  }
  calls.go();
  return status;
}

// Once the threads have asked for their slots: where attributes are required, every thread that may run an ext
// callback must have one.
Status Engine::Impl::check_slots() const
{
  if (options.attributes_mode != AttributesMode::kRequire) {
    return {};
  }
  const Lock configuration_lock(*configuration);
  const Lock lock(*mutex);  // no job has run yet
  for (const auto & entry : callbacks) {
    const CallbackNode & callback = *entry.second;
    if (!callback.policy->is_ext()) {
      continue;
    }
    for (const auto & worker : workers) {
      if (worker->lane == callback.queue->lane && !worker->has_slot && !worker->ended) {
        return Status::error(
          "callback '" + callback.name() + "' requires scheduling_policy ext, but thread '" +
          worker->name + "' has no slot of the deadline scheduler. " + kSlotFix);
      }
    }
  }
  return {};
}

// Each thread is joined by whoever has taken it off the list, here or in join_retired().
void Engine::Impl::join_all()
{
  Workers ended;
  {
    const Lock configuration_lock(*configuration);
    accepts_threads = false;
    const Lock lock(*mutex);
    ended.swap(workers);
  }
  for (const auto & worker : ended) {
    if (worker->thread) {
      worker->thread->join();
    }
  }
  {
    const Lock configuration_lock(*configuration);
    const Lock lock(*mutex);
    open = false;
    timer_driver = nullptr;
    for (Lane & lane : lanes) {
      lane.threads = 0;
    }
  }
  for (const auto & worker : ended) {
    keep_trace(*worker);
  }
}

// Threads whose group is gone. Under `configuration`.
void Engine::Impl::join_retired()
{
  Workers left;
  Workers ended;
  {
    const Lock lock(*mutex);
    const auto has_ended = [](const auto & worker) { return worker->retired && worker->ended; };
    if (std::none_of(workers.begin(), workers.end(), has_ended)) {
      return;
    }
  }
  for (const auto & worker : workers) {
    const Lock lock(*mutex);
    (worker->retired && worker->ended ? ended : left).push_back(worker);
  }
  set_workers(std::move(left));
  for (const auto & worker : ended) {
    worker->thread->join();  // it has nothing left to do
    keep_trace(*worker);
  }
}

void Engine::Impl::keep_trace(Worker & worker)
{
  const Lock lock(*trace_mutex);
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
  const Lock configuration_lock(*configuration);
  std::map<const AttributesEntry *, std::string> asked;
  for (const auto & entry : callbacks) {
    asked.emplace(entry.second->policy, entry.second->name());
  }
  asked.emplace(&attributes.intern(timer_thread), "the timer thread");
  asked.erase(&attributes.nothing());
  for (const auto & [entry, subject] : asked) {
    const Status tried = try_on(*entry, subject);
    if (!tried.ok()) {
      return tried;
    }
  }
  return {};
}

// Under `configuration`.
Status Engine::Impl::try_on(const AttributesEntry & entry, const std::string & subject)
{
  int error = 0;
  int error_without_cpus = 0;
  bool left_out = false;
  std::unique_ptr<Thread> thread;
  Status entered;
  const auto body = [&] {
    ThreadUrgency trial(platform, *mutex, attributes.nothing());
    if (entry.is_ext() && deadlines) {
      entered = trial.enter(*deadlines);
    }
    trial.begin();
    const auto ask = [&](const AttributesEntry & cpus) {
      {
        const Lock lock(*mutex);
        trial.decide({&entry, &cpus});
      }
      const ThreadUrgency::Outcome outcome = trial.settle(true);
      const bool moves = outcome.error == 0 && !outcome.move_to.empty();
      const int result = moves ? trial.move(outcome.move_to) : outcome.error;
      left_out |= outcome.left_out || result == kCpusLeftOut;
      return result == kCpusLeftOut ? 0 : result;
    };
    error = entered.ok() ? ask(entry) : 0;
    error_without_cpus = error == EINVAL ? ask(attributes.nothing()) : error;
    trial.end();
  };
  const Status started = platform.start_thread(ThreadOptions{}, body, {}, &thread);
  if (!started.ok()) {
    return started;
  }
  thread->join();
  if (error == 0 && entered.ok() && !left_out) {
    return {};
  }
  error = left_out ? kCpusLeftOut : error;
  Finding finding = platform.explain(subject, entry.complete, error);
  if (!entered.ok()) {
    finding = {
      subject, "asked for " + to_string(entry.complete) + ": " + entered.message(), 0, kSlotFix};
  }
  if (options.attributes_mode == AttributesMode::kRequire) {
    return Status::error(to_string(finding));
  }
  add_finding(finding);
  if (error == ENOSPC || !entered.ok() || left_out) {
    return {};  // these pass, or the rest is in force
  }
  const Lock lock(*mutex);
  for (const auto & other : callbacks) {
    CallbackNode & callback = *other.second;
    if (callback.policy == &entry) {
      ready.change(callback, [&] {
        callback.policy = error_without_cpus == 0 ? &entry : &attributes.nothing();
        callback.cpus = &attributes.nothing();
      });
    }
  }
  return {};
}

Status Engine::Impl::prepare()
{
  Attributes base;
  const int error = platform.read_back(platform.current_thread(), &base);
  if (base.policy == SchedulingPolicy::kExt) {
    base.policy = SchedulingPolicy::kOther;  // somebody else's ext, without deadlines of ours
  }
  bool wants_realtime = false;
  {
    const Lock configuration_lock(*configuration);
    if (
      options.attributes_mode != AttributesMode::kOff &&
      timer_thread.policy == SchedulingPolicy::kExt) {
      return Status::error(kTimerThreadExt);
    }
    const Lock lock(*mutex);  // O(n log n) in the callbacks, before anything runs
    if (error == 0) {
      attributes.set_base(base);
    }
    for (const auto & entry : callbacks) {
      ready.change(*entry.second, [] {});  // urgencies depend on the base
      const SchedulingPolicy policy = entry.second->policy->complete.policy;
      wants_realtime |= is_fixed_priority(policy) || policy == SchedulingPolicy::kDeadline ||
                        policy == SchedulingPolicy::kExt;
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
  const Lock configuration_lock(*configuration);
  auto worker = new_worker("rclrt events", shared_lane);
  worker->thread_id.store(platform.current_thread(), std::memory_order_relaxed);
  worker->urgency.is_lent_by_the_user();
  enter_deadlines(*worker);
  worker->urgency.begin();
  Workers more = workers;
  more.push_back(worker);
  set_workers(std::move(more));
  const Lock lock(*mutex);
  shared_lane->only = worker.get();
  return worker;
}

// It has what it had before.
void Engine::Impl::step_out(Worker & worker)
{
  const AttributesEntry & nothing = attributes.nothing();
  {
    const Lock lock(*mutex);
    shared_lane->only = nullptr;
    if (!worker.keeps_attributes) {
      worker.urgency.decide({&nothing, &nothing});
    }
  }
  const int error = worker.urgency.is_settled() ? 0 : worker.urgency.settle().error;
  worker.urgency.end();
  if (error != 0) {
    add_finding(platform.explain("the thread that spins, afterwards", nothing.complete, error));
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
  Calls calls;
  {
    const Lock lock(*mutex);
    stop_word.store(1, std::memory_order_release);
    for (const auto & worker : workers) {  // O(n) in the threads
      if (worker->sleeping) {
        take_from_sleep(*worker, {}, calls);
      }
    }
    if (inline_worker->sleeping) {
      take_from_sleep(*inline_worker, {}, calls);
    }
  }
  calls.go();
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
