// Copyright 2026 The rclrt Authors
// SPDX-License-Identifier: Apache-2.0

// What the operating system refuses: it is known and told before the first callback runs, and again when a job begins.

#include <cerrno>
#include <map>
#include <utility>

#include "engine_impl.hpp"

namespace rclrt_core
{
namespace
{

// A user who asks for several threads expects that callbacks run at once.
void tell_of_idle_threads(Engine::Impl & engine)
{
  const bool is_asked_for = engine.options.model == ExecutionModel::kPreemptive &&
                            engine.options.max_threads > 1 &&
                            engine.options.max_threads != EngineOptions().max_threads;
  const GroupNode * only = nullptr;
  for (const auto & entry : engine.callbacks) {
    const GroupNode & group = *entry.second->group;
    if (group.parallelism > 1 || (only && only != &group)) {
      return;
    }
    only = &group;
  }
  if (!is_asked_for || !only || only->callbacks < 2) {
    return;
  }
  engine.findings.add(
    {"group '" + only->name() + "'",
     std::to_string(engine.options.max_threads) +
       " threads, but all callbacks are in this one group, "
       "which is exclusive: one callback runs at a time",
     0, "Put callbacks that may run at the same time into groups of their own", Severity::kNote});
}

// A thread that looks for work must give way. A real-time thread does not, and on one CPU it is in the way.
void prepare_waiting(Engine::Impl & engine)
{
  const auto cpus = static_cast<std::size_t>(std::max(1, engine.platform.usable_cpus()));
  const char * why = cpus == 1 ? "this process may use one CPU only" : nullptr;
  {
    const Engine::Impl::Lock lock(*engine.mutex);
    if (engine.table.nothing().level >= kFirstStrictLevel) {
      why = "the thread that spins is a real-time thread, and gives way to nobody";
    }
    engine.lookouts.allow(why ? 0 : cpus - 1);
  }
  if (why && engine.options.waiting.kind != Waiting::kBlock) {
    engine.findings.add(
      {std::string("waiting ") + to_string(engine.options.waiting.kind),
       std::string(why) + "; threads without work sleep at once", 0,
       "Give the process a second CPU, and start it under SCHED_OTHER (callbacks have attributes "
       "of their own)."});
  }
}

// Under `configuration`. On a thread made for it.
Status try_on(Engine::Impl & engine, const AttributesEntry & entry, const std::string & subject)
{
  const AttributesEntry & nothing = engine.table.nothing();
  int error = 0;
  int error_without_cpus = 0;
  bool left_out = false;
  Status entered;
  const auto body = [&] {
    ThreadUrgency trial(engine.platform, *engine.mutex, nothing);
    if (entry.is_ext() && engine.deadlines) {
      entered = trial.enter(*engine.deadlines);
    }
    if (!entered.ok()) {
      return;
    }
    trial.begin();
    const auto ask = [&](const AttributesEntry & cpus) {
      {
        const Engine::Impl::Lock lock(*engine.mutex);
        trial.decide({&entry, &cpus});
      }
      return trial.settle_itself().error;
    };
    error = ask(entry);
    left_out = trial.take_left_out();
    error_without_cpus = error == EINVAL ? ask(nothing) : error;
    trial.end();
  };
  std::unique_ptr<Thread> thread;
  const Status started = engine.platform.start_thread(ThreadOptions{}, body, {}, &thread);
  if (!started.ok()) {
    return started;
  }
  thread->join();
  if (entered.ok() && error == 0 && !left_out) {
    return {};
  }
  Finding finding =
    engine.platform.explain(subject, entry.complete, left_out ? kCpusLeftOut : error);
  if (!entered.ok()) {
    finding = {
      subject, "asked for " + to_string(entry.complete) + ": " + entered.message(), 0,
      Engine::Impl::kSlotFix};
  }
  if (engine.options.attributes_mode == AttributesMode::kRequire) {
    return Status::error(to_string(finding));
  }
  engine.findings.add(finding);
  if (error == 0 || error == ENOSPC) {
    return {};  // the rest is in force, or it passes
  }
  const Engine::Impl::Lock lock(*engine.mutex);
  for (const auto & other : engine.callbacks) {
    CallbackNode & callback = *other.second;
    if (callback.attributes == &entry) {
      engine.ready.change(callback, [&] {
        callback.attributes = error_without_cpus == 0 ? &entry : &nothing;
        callback.cpus = &nothing;
      });
    }
  }
  return {};
}

// Ask once for everything that is asked for.
Status probe(Engine::Impl & engine)
{
  const Engine::Impl::Lock configuration_lock(*engine.configuration);
  std::map<const AttributesEntry *, std::string> asked;
  for (const auto & entry : engine.callbacks) {
    asked.emplace(entry.second->attributes, entry.second->name());
  }
  asked.emplace(&engine.table.intern(engine.timer_thread), "the timer thread");
  if (engine.accounts.any()) {
    asked.emplace(
      &engine.table.intern(engine.accounts.enforcer_attributes()),
      "the thread that enforces budgets");
  }
  asked.erase(&engine.table.nothing());
  for (const auto & [entry, subject] : asked) {
    const Status tried = try_on(engine, *entry, subject);
    if (!tried.ok()) {
      return tried;
    }
  }
  return {};
}

Finding refusal(const Worker & worker, const Demand & asked, int error)
{
  Attributes refused = asked.attributes->asked;
  refused.cpu_affinity = asked.cpus->asked.cpu_affinity;
  return worker.platform.explain(worker.callback->name(), refused, error);
}

}  // namespace

const char * const Engine::Impl::kTimerThreadExt =
  "the timer thread: scheduling_policy ext goes by deadlines, and it has none: give it fifo, more "
  "urgent than the jobs it releases";
const char * const Engine::Impl::kSlotFix =
  "Every thread that runs such jobs needs a slot: run fewer (EngineOptions::max_threads), or end "
  "programs that hold slots";

Status Engine::Impl::prepare()
{
  Attributes base;
  const int error = platform.read_back(platform.current_thread(), &base);
  if (base.scheduling_policy == SchedulingPolicy::kExt) {
    base.scheduling_policy =
      SchedulingPolicy::kOther;  // somebody else's ext, without deadlines of ours
  }
  const bool asks = options.attributes_mode != AttributesMode::kOff;
  bool wants_realtime = false;
  {
    const Lock configuration_lock(*configuration);
    if (asks && timer_thread.scheduling_policy == SchedulingPolicy::kExt) {
      return Status::error(kTimerThreadExt);
    }
    const Lock lock(*mutex);  // O(n log n) in the callbacks, before anything runs
    if (error == 0) {
      table.set_base(base);
    }
    for (const auto & entry : callbacks) {
      if (entry.second->budget) {
        entry.second->budget->background =
          &accounts.background();  // allocates, before anything runs
      }
      ready.change(*entry.second, [] {});  // urgencies depend on the base
      wants_realtime |= entry.second->attributes->level >= kFirstStrictLevel;
    }
  }
  {
    const Lock configuration_lock(*configuration);
    tell_of_idle_threads(*this);
  }
  prepare_waiting(*this);
  if (options.lock_memory) {
    for (Finding & finding : platform.lock_memory()) {
      findings.add(std::move(finding));
    }
  }
  if (!asks) {
    return {};
  }
  for (Finding & finding : platform.check_system(wants_realtime)) {
    findings.add(std::move(finding));
  }
  return probe(*this);
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
    if (!callback.attributes->is_ext()) {
      continue;
    }
    for (const auto & worker : life.workers()) {
      if (worker->lane == callback.queue->lane && !worker->has_slot && !worker->ended) {
        return Status::error(
          "callback '" + callback.name() + "' requires scheduling_policy ext, but thread '" +
          worker->name + "' has no slot of the deadline scheduler. " + kSlotFix);
      }
    }
  }
  return {};
}

// A job does not begin before its thread has what it needs, or has been refused it. After a refusal there is less to
// ask for: the loan goes first, then the CPUs, then the rest.
void Engine::Impl::settle(Worker & worker) noexcept
{
  bool is_refused = !worker.urgency.is_settled();
  while (is_refused) {
    const ThreadUrgency::Outcome outcome = worker.urgency.settle_itself();
    is_refused = outcome.error != 0 && decide_less(worker, outcome);
  }
  if (
    worker.job_demand.cpus->asks_for_cpus &&
    worker.urgency.take_left_out()) {  // the rest is in force
    Lock lock(*mutex);
    const bool is_told = std::exchange(worker.callback->told_of_cpus, true);
    lock.unlock();
    if (!is_told) {
      findings.add(refusal(worker, worker.job_demand, kCpusLeftOut));
    }
  }
}

// What is refused is not asked for again, unless somebody has asked for something else meanwhile. Nothing is left
// of it, and nothing of the previous job. Returns false if there is nothing less.
bool Engine::Impl::decide_less(Worker & worker, const ThreadUrgency::Outcome & refused) noexcept
{
  const AttributesEntry & nothing = table.nothing();
  const Demand asked = worker.job_demand;
  bool is_told = false;
  bool is_less = true;
  {
    const Lock lock(*mutex);
    if (refused.wanted != asked) {  // the loan may be what was refused
      worker.urgency.decide(asked);
    } else {
      const bool is_for_cpus =
        refused.error == EINVAL && asked.attributes != &nothing && asked.cpus->asks_for_cpus;
      worker.job_demand = is_for_cpus ? Demand{asked.attributes, &nothing, asked.deadline}
                                      : Demand{&nothing, &nothing};
      const bool passes = refused.error == ENOSPC;  // for this job only
      is_told = !passes || !std::exchange(told_of_no_room, true);
      CallbackNode & callback = *worker.callback;
      if (!passes && callback.attributes == asked.attributes && callback.cpus == asked.cpus) {
        ready.change(callback, [&] {
          callback.attributes = worker.job_demand.attributes;
          callback.cpus = worker.job_demand.cpus;
        });
      }
      is_less = worker.job_demand != asked;
      worker.urgency.decide(is_less ? worker.needs() : asked);
    }
  }
  if (is_told) {
    findings.add(refusal(worker, asked, refused.error));
  }
  return is_less;
}

}  // namespace rclrt_core
