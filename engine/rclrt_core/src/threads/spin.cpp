// Copyright 2026 The rclrt Authors
// SPDX-License-Identifier: Apache-2.0

// Threads start, are let run, and end. What holds when: life.hpp.

#include <algorithm>

#include "engine_impl.hpp"

namespace rclrt_core
{
namespace
{

// Full rings of threads that have ended, kept until they are read.
constexpr std::size_t kLeftoverRings = 64;
// Of threads that outrank everything: more often would leave little for the rest.
constexpr Duration kShortestBeat = std::chrono::microseconds(50);

}  // namespace

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
  return std::max<std::size_t>(1, std::min(options.max_threads, lane.parallelism));
}

std::shared_ptr<Worker> Engine::Impl::new_worker(const std::string & name, Lane * lane)
{
  auto worker = std::make_shared<Worker>(
    platform, *mutex, table.nothing(), options.trace_capacity, options.trace_memory.get());
  worker->name = name;
  worker->lane = lane;
  worker->is_left_alone = options.attributes_mode == AttributesMode::kOff;
  return worker;
}

// Under `configuration`.
Status Engine::Impl::start_thread(
  const std::shared_ptr<Worker> & worker, const AttributesEntry & first)
{
  ThreadOptions thread_options;
  thread_options.name = worker->name;
  thread_options.stack_size = options.stack_size;
  const AttributesEntry & above =
    is_fixed_priority(timer_thread.policy) ? table.intern(timer_thread) : table.nothing();
  if (!worker->is_left_alone) {
    // Not what the thread that adds a group while spinning happens to have. Above all jobs, until it sleeps or has a job:
    // one of them could keep the CPU from a thread that a more urgent job will need.
    thread_options.attributes = above.complete;
    worker->first.store(&first, std::memory_order_relaxed);
  }
  const auto body = [this, worker, &above] {
    worker->thread_id.store(platform.current_thread(), std::memory_order_relaxed);
    enter_deadlines(*worker);
    begin(*worker, above);
    work(*worker);
    worker->urgency.end();
  };
  return life.start(
    worker, thread_options, body, [this](const Finding & finding) { add_finding(finding); });
}

// By the worker's thread. What it is refused is not told here: without the permission it begins as one without
// attributes.
void Engine::Impl::begin(Worker & worker, const AttributesEntry & above)
{
  {
    const Lock lock(*mutex);
    const Demand undecided{&table.nothing(), &table.nothing()};
    // Of the timer thread somebody may have decided something else already.
    if (!worker.is_left_alone && worker.urgency.decided() == undecided) {
      worker.urgency.decide({&above, &table.nothing()});
    }
  }
  worker.urgency.begin();
  worker.urgency.settle_itself();
}

// Under the lock, by a worker that goes to sleep for the first time.
void Engine::Impl::decide_first(Worker & worker, const AttributesEntry & first) noexcept
{
  Demand demand{&first, &first};
  demand.rests = first.is_ext();
  if (!first.is_ext() || worker.has_slot) {
    worker.urgency.decide(demand);
  }
}

// The same worker, after it has left the lock.
void Engine::Impl::settle_first(Worker & worker, const AttributesEntry & first) noexcept
{
  const ThreadUrgency::Outcome outcome = worker.urgency.settle_itself();
  const bool is_of_first = outcome.wanted.policy == &first && outcome.wanted.cpus == &first;
  int error =
    is_of_first ? outcome.error : 0;  // else a job has been given to it, and asks for itself
  if (worker.urgency.take_left_out()) {
    error = kCpusLeftOut;
  }
  if (error != 0) {
    add_finding(platform.explain("thread '" + worker.name + "'", first.complete, error));
  }
  worker.first.store(nullptr, std::memory_order_release);
}

// By the worker's thread.
void Engine::Impl::enter_deadlines(Worker & worker)
{
  DeadlineScheduler * chosen = nullptr;
  {
    const Lock lock(*mutex);
    worker.asked_for_slot = deadlines != nullptr;
    const bool needs_none = worker.is_left_alone || !worker.lane;  // runs no jobs
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
    const Status started = start_thread(new_worker(name, &lane), *lane.first);
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
  auto driver = new_worker("rclrt timers", timer_lane);
  driver->drives_timers = true;
  const AttributesEntry & first = table.intern(timer_thread);
  {
    const Lock lock(*mutex);
    timer_driver = driver.get();
  }
  Status status = start_thread(driver, first);
  if (!status.ok()) {
    const Lock lock(*mutex);
    timer_driver = nullptr;
  }
  if (status.ok()) {
    status = watch_budgets();
  }
  for (auto lane = lanes.begin(); status.ok() && lane != lanes.end(); ++lane) {
    status = grow(*lane);
  }
  return status;
}

Status Engine::Impl::start_beat()
{
  Attributes attributes;
  {
    const Lock configuration_lock(*configuration);
    attributes = timer_thread;
  }
  const bool is_wanted = options.waiting.beat > Duration::zero() &&
                         options.attributes_mode != AttributesMode::kOff &&
                         is_fixed_priority(attributes.policy);
  if (!is_wanted) {
    return {};
  }
  // Below all jobs: one that computes needs no reminder, and must not be driven to another CPU.
  attributes = {};
  attributes.policy = SchedulingPolicy::kFifo;
  attributes.priority = 1;
  beat = std::make_unique<Beat>(platform);
  return beat->start(
    std::max(options.waiting.beat, kShortestBeat), attributes,
    [this](const Finding & finding) { add_finding(finding); });
}

void Engine::Impl::let_run()
{
  Section section(*mutex);
  life.let_run();
  wake_timer_driver(section.calls);
  for (Lane & lane : lanes) {
    dispatch.begin(lane, section.calls);
  }
}

void Engine::Impl::join_all()
{
  Workers ended;
  {
    const Lock configuration_lock(*configuration);
    ended = life.take_all();
  }
  join(ended);
  std::shared_ptr<Worker> out;
  {
    const Lock configuration_lock(*configuration);
    out = courier;
  }
  // Since stop() nothing is bound to it, nor to one that is made now. Its job may need `configuration`.
  if (out) {
    life.wait_until_let_go(*out);
  }
  const Lock configuration_lock(*configuration);
  budgets.end_watch();
  const Lock lock(*mutex);
  life.let_run(false);
  timer_driver = nullptr;
  for (Lane & lane : lanes) {
    lane.threads = 0;
  }
}

void Engine::Impl::join(const Workers & ended)
{
  for (const auto & worker : ended) {
    if (worker->thread) {  // else it is the one that spins
      worker->thread->join();
    }
    keep_trace(*worker);
  }
}

void Engine::Impl::keep_trace(Worker & worker)
{
  const Lock lock(*trace_mutex);
  worker.reader.read(
    worker.ring, [this](const rclrt_job_record & record) { leftover.push_back(record); });
  leftover_dropped += worker.reader.missed(worker.ring);
  // Of a user who never reads, keep no more than this.
  for (; leftover.size() > kLeftoverRings * options.trace_capacity; ++leftover_dropped) {
    leftover.pop_front();
  }
}

// The thread that spins is one of the engine's.
std::shared_ptr<Worker> Engine::Impl::join_in()
{
  const Lock configuration_lock(*configuration);
  auto worker = new_worker("rclrt events", shared_lane);
  worker->thread_id.store(platform.current_thread(), std::memory_order_relaxed);
  worker->urgency.belongs_to_the_user();
  enter_deadlines(*worker);
  worker->urgency.begin();
  life.add(worker);
  const Lock lock(*mutex);
  shared_lane->only = worker.get();
  return worker;
}

// It has what it had before.
void Engine::Impl::step_out(Worker & worker)
{
  const AttributesEntry & nothing = table.nothing();
  {
    const Lock lock(*mutex);
    shared_lane->only = nullptr;
    if (!worker.is_left_alone) {
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
  if (!life.begin()) {
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
    life.wait_for_arrivals(here.get());
    status = check_slots();
  }
  if (status.ok()) {
    status = start_beat();
  }
  if (status.ok()) {
    let_run();
    if (here) {
      work(*here);
    } else {
      life.wait_until_stopped();
    }
  }
  if (here) {
    step_out(*here);
  }
  stop();
  beat.reset();
  join_all();
  {
    Section section(*mutex);
    while (release_held(section.calls)) {
      section.leave();
      section.enter();
    }
  }
  life.end();
  return status;
}

void Engine::Impl::stop() noexcept
{
  {
    Section section(*mutex);
    life.stop();
    const auto wake = [&section](Worker & worker) {
      if (worker.sleeping) {
        take_from_sleep(worker, {}, section.calls);
      }
    };
    for (const auto & worker : life.workers()) {  // O(n^2) in those that sleep: see Wakes::add()
      wake(*worker);
    }
    wake(*visitor);
  }
  life.wake_who_spins();
}

}  // namespace rclrt_core
