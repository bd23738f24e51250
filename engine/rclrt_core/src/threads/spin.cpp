// Copyright 2026 The rclrt Authors
// SPDX-License-Identifier: Apache-2.0

// Threads start, are let run, and end. What holds when: life.hpp.

#include <algorithm>

#include "engine_impl.hpp"
#include "threads/lookouts.hpp"

namespace rclrt_core
{
namespace
{

// How often threads look that outrank everything: more often would leave little for the rest.
constexpr Duration kShortestBeat = std::chrono::microseconds(50);

std::size_t threads_of(const Lane & lane, const EngineOptions & options) noexcept
{
  switch (options.model) {
    case ExecutionModel::kPriorityEvents:
      return 0;  // the thread that spins; with release-and-execute also the timer thread
    case ExecutionModel::kIsolated:
      return lane.parallelism;
    case ExecutionModel::kPreemptive:
      break;
  }
  return std::max<std::size_t>(1, std::min(options.max_threads, lane.parallelism));
}

bool wants_beat(const EngineOptions & options, const Attributes & timer_thread)
{
  return options.waiting.beat > Duration::zero() &&
         options.attributes_mode != AttributesMode::kOff &&
         is_fixed_priority(timer_thread.scheduling_policy);
}

}  // namespace

void Worker::begin(Mutex & mutex, const AttributesEntry & nothing, const AttributesEntry & above)
{
  {
    const std::lock_guard<Mutex> lock(mutex);
    if (!is_left_alone && urgency.decided() == Demand{&nothing, &nothing}) {
      urgency.decide({&above, &nothing});
    }
  }
  urgency.begin();
  urgency.settle_itself();
}

void Worker::decide_first(const AttributesEntry & rest) noexcept
{
  Demand demand{&rest, &rest};
  demand.rests = rest.is_ext();
  if (!rest.is_ext() || has_slot) {
    urgency.decide(demand);
  }
}

int Worker::settle_first(const AttributesEntry & rest) noexcept
{
  const ThreadUrgency::Outcome outcome = urgency.settle_itself();
  const bool is_of_first = outcome.wanted.attributes == &rest && outcome.wanted.cpus == &rest;
  // Else a job has been given to it, and asks for itself.
  const int error = is_of_first ? outcome.error : 0;
  return urgency.take_left_out() ? kCpusLeftOut : error;
}

std::shared_ptr<Worker> Engine::Impl::new_worker(const std::string & name, Lane * lane)
{
  auto worker = std::make_shared<Worker>(
    *this, platform, *mutex, table.nothing(), options.trace_capacity, options.trace_memory.get());
  worker->name = name;
  worker->lane = lane;
  worker->is_left_alone = options.attributes_mode == AttributesMode::kOff;
  return worker;
}

// Under `configuration`.
Status Engine::Impl::start_thread(
  const std::shared_ptr<Worker> & worker, const AttributesEntry & first_rest)
{
  ThreadOptions thread_options;
  thread_options.name = worker->name;
  thread_options.stack_size = options.stack_size;
  const AttributesEntry & above = is_fixed_priority(timer_thread.scheduling_policy)
                                    ? table.intern(timer_thread)
                                    : table.nothing();
  if (!worker->is_left_alone) {
    // Not what the thread that adds a group while spinning happens to have. Above all jobs, until it sleeps or has a job:
    // one of them could keep the CPU from a thread that a more urgent job will need.
    thread_options.attributes = above.complete;
    worker->first_rest.store(&first_rest, std::memory_order_relaxed);
  }
  const auto body = [this, worker, &above] {
    worker->thread_id.store(platform.current_thread(), std::memory_order_relaxed);
    enter_deadlines(*worker);
    worker->begin(*mutex, table.nothing(), above);
    work(*worker);
    worker->urgency.end();
  };
  return life.start(
    worker, thread_options, body, [this](const Finding & finding) { findings.add(finding); });
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
    findings.add(
      {"thread '" + worker.name + "'",
       entered.message() +
         "; jobs with scheduling_policy ext that it runs go without, until the next spin",
       0, kSlotFix});
  }
}

// Under `configuration`.
Status Engine::Impl::grow(Lane & lane)
{
  while (lane.threads < threads_of(lane, options)) {
    const std::string name = lane.name + " " + std::to_string(lane.threads);
    const Status started = start_thread(new_worker(name, &lane), *lane.first_rest);
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
  auto driver = new_worker("rclrt timers", lanes.of_timers());
  driver->drives_timers = true;
  const AttributesEntry & first_rest = table.intern(timer_thread);
  const bool covers = !driver->lane && options.waiting.kind == Waiting::kBlock;
  if (covers) {
    clocks.alarm.open(platform.make_alarm());
  }
  {
    const Lock lock(*mutex);
    timer_driver = driver.get();
    clocks.alarm.use(covers);
  }
  Status status = start_thread(driver, first_rest);
  if (!status.ok()) {
    const Lock lock(*mutex);
    timer_driver = nullptr;
    clocks.alarm.use(false);
  }
  if (status.ok()) {
    status = accounts.enforce();
  }
  for (auto lane = lanes.all().begin(); status.ok() && lane != lanes.all().end(); ++lane) {
    status = grow(*lane);
  }
  return status;
}

void Engine::Impl::join_all()
{
  Workers ended;
  {
    const Lock configuration_lock(*configuration);
    ended = life.take_all();
  }
  Life::join(ended);
  trace.keep(ended);
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
  budgets.stop_enforcing();
  const Lock lock(*mutex);
  life.let_run(false);
  timer_driver = nullptr;
  clocks.alarm.use(false);
  for (Lane & lane : lanes.all()) {
    lane.threads = 0;
  }
}

// The thread that spins is one of the engine's.
std::shared_ptr<Worker> Engine::Impl::join_in()
{
  const Lock configuration_lock(*configuration);
  auto worker = new_worker("rclrt events", &lanes.shared());
  worker->thread_id.store(platform.current_thread(), std::memory_order_relaxed);
  worker->urgency.belongs_to_the_user();
  enter_deadlines(*worker);
  worker->urgency.begin();
  life.add(worker);
  const Lock lock(*mutex);
  lanes.shared().spinner = worker.get();
  return worker;
}

// It has what it had before.
void Engine::Impl::step_out(Worker & worker)
{
  const AttributesEntry & nothing = table.nothing();
  {
    const Lock lock(*mutex);
    lanes.shared().spinner = nullptr;
    if (!worker.is_left_alone) {
      worker.urgency.decide({&nothing, &nothing});
    }
  }
  const int error = worker.urgency.is_settled() ? 0 : worker.urgency.settle().error;
  worker.urgency.end();
  if (error != 0) {
    findings.add(platform.explain("the thread that spins, afterwards", nothing.complete, error));
  }
}

Status Engine::spin()
{
  if (!impl_->life.begin()) {
    return Status::error("spin() called while already spinning");
  }
  Status status = impl_->prepare();
  if (status.ok()) {
    status = impl_->start_threads();
  }
  std::shared_ptr<Worker> here;
  if (status.ok() && impl_->options.model == ExecutionModel::kPriorityEvents) {
    here = impl_->join_in();
  }
  if (status.ok()) {
    impl_->life.wait_for_arrivals(here.get());
    status = impl_->check_slots();
  }
  Beat beat(impl_->platform);
  Impl::Lock configuration(*impl_->configuration);
  const bool is_wanted = wants_beat(impl_->options, impl_->timer_thread);
  configuration.unlock();
  if (status.ok() && is_wanted) {
    // Below all jobs: one that computes needs no reminder, and must not be driven to another CPU.
    Attributes attributes;
    attributes.scheduling_policy = SchedulingPolicy::kFifo;
    attributes.priority = 1;
    status = beat.start(
      std::max(impl_->options.waiting.beat, kShortestBeat), attributes,
      [this](const Finding & finding) { impl_->findings.add(finding); });
  }
  if (status.ok()) {
    {
      Section section(*impl_->mutex);
      impl_->life.let_run();
      if (impl_->timer_driver) {
        make_come(*impl_->timer_driver, section);
      }
      for (Lane & lane : impl_->lanes.all()) {
        lane.begin(section);
      }
    }
    if (here) {
      impl_->work(*here);
    } else {
      impl_->life.wait_until_stopped();
    }
  }
  if (here) {
    impl_->step_out(*here);
  }
  impl_->stop();
  beat.end();
  impl_->join_all();
  {
    Section section(*impl_->mutex);
    while (impl_->release_held(section)) {
      section.leave();
      section.enter();
    }
  }
  impl_->life.end();
  return status;
}

void Engine::Impl::stop() noexcept
{
  {
    Section section(*mutex);
    life.stop();
    const auto wake = [&section](Worker & worker) {
      if (worker.sleeping) {
        take_from_sleep(worker, {}, section);
      }
    };
    for (const auto & worker : life.workers()) {  // O(n^2) in those that sleep: see Section::wake()
      wake(*worker);
    }
    wake(*visitor);
    if (clocks.alarm.is_used()) {
      clocks.alarm.decide(TimePoint());
      section.set(clocks.alarm);
    }
  }
  life.wake_who_spins();
}

bool Engine::run_one(TimePoint until, uint64_t before_sequence)
{
  Worker & worker = *impl_->visitor;
  bool ran = false;
  Section section(*impl_->mutex);
  worker.thread_id.store(impl_->platform.current_thread(), std::memory_order_relaxed);
  impl_->lanes.set_visitor(&worker);
  impl_->timer_driver = &worker;
  while (!ran && !impl_->life.is_stopped()) {
    impl_->release_all_due(section);
    if (CallbackNode * const best = impl_->lanes.next_before(before_sequence)) {
      impl_->bind(worker, *best);
      const bool goes_without = worker.callback->attributes != &impl_->table.nothing() ||
                                worker.callback->cpus != &impl_->table.nothing();
      if (goes_without && !std::exchange(impl_->told_of_visitor, true)) {
        section.unlock();
        impl_->findings.add(
          {worker.callback->name(),
           "has attributes, but runs with those of the thread that called a function like "
           "spin_some()",
           0, "Attributes are in force under spin()."});
        section.enter();
      }
      ran = impl_->execute(worker, section);
    } else if (impl_->platform.now() < until) {
      impl_->sleep(worker, std::min(until, impl_->clocks.next_release()), nullptr, section);
    } else {
      break;
    }
  }
  impl_->lanes.set_visitor(nullptr);
  impl_->timer_driver = nullptr;
  return ran;
}

uint64_t Engine::next_sequence()
{
  Section section(*impl_->mutex);
  impl_->release_all_due(section);
  return impl_->ready.next_sequence();
}

}  // namespace rclrt_core
