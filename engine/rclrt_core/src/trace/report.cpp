// Copyright 2026 The rclrt Authors
// SPDX-License-Identifier: Apache-2.0

// What happened: findings, threads, trace.

#include <algorithm>
#include <iterator>

#include "engine_impl.hpp"

namespace rclrt_core
{
namespace
{

// Threads whose CPUs are looked at in one call: the others are at the next ones.
constexpr std::size_t kMostLooks = 64;

}  // namespace

std::vector<ThreadReport> Engine::threads() const
{
  std::vector<ThreadReport> reports;
  const Impl::Lock configuration_lock(*impl_->configuration);
  for (const auto & worker : impl_->life.workers()) {
    ThreadReport report;
    report.name = worker->name;
    report.id = worker->thread_id.load(std::memory_order_relaxed);
    report.jobs = worker->jobs.load(std::memory_order_relaxed);
    if (report.id != 0 && impl_->platform.read_back(report.id, &report.in_force) == 0) {
      reports.push_back(std::move(report));  // a thread that has not begun or has ended is not
    }
  }
  return reports;
}

void Engine::keep_cpus()
{
  std::vector<Finding> found;
  {
    const Impl::Lock configuration_lock(*impl_->configuration);
    const Impl::Workers & workers = impl_->life.workers();
    for (std::size_t i = std::min(workers.size(), kMostLooks); i > 0; --i) {
      const auto & worker = workers[impl_->next_look++ % workers.size()];
      ThreadUrgency::Strayed strayed;
      if (worker->urgency.keep_cpus(&strayed)) {
        found.push_back(
          {"thread '" + worker->name + "'",
           "is allowed on CPUs " + strayed.has.to_string() + " and not on " +
             strayed.asked.to_string() +
             " any more: a CPU went offline (then the kernel gives its threads others, for good), "
             "or "
             "somebody has changed the affinity. It is asked for until it is granted again",
           0,
           "Leave the CPU on (/sys/devices/system/cpu/cpu*/online), and the affinity to this "
           "process (taskset, cpuset.cpus of the control group)"});
      }
    }
  }
  for (Finding & finding : found) {
    impl_->findings.add(std::move(finding));
  }
}

std::vector<WaitingReport> Engine::waiting() const
{
  struct Kept
  {
    std::shared_ptr<CallbackNode> by;
    uint64_t job;
  };

  std::vector<WaitingReport> reports;
  std::vector<Kept> kept;  // perhaps the last owners: destroyed without the locks
  std::size_t left = 0;
  {
    const Impl::Lock lock(*impl_->mutex);
    left = impl_->ready.waiting();
  }
  if (left == 0) {
    return reports;
  }
  const Impl::Workers workers = impl_->traced_workers();
  const Impl::Lock configuration_lock(*impl_->configuration);  // no callback goes meanwhile
  for (; left > 0; --left) {
    const std::size_t before = kept.size();
    bool is_kept = true;
    const CallbackNode * waits = nullptr;
    WaitingReport report;
    if (kept.capacity() - before < workers.size()) {  // nothing is allocated under `mutex`
      kept.reserve(2 * kept.capacity() + workers.size());
    }
    {
      const Impl::Lock lock(*impl_->mutex);
      waits = impl_->ready.next_waiting();
      if (!waits) {
        break;
      }
      const CallbackNode & callback = *waits;
      const GroupNode & group = *callback.queue->group;
      const Lane & lane = *callback.queue->lane;
      report.begun = callback.statistics.executed + callback.statistics.empty + callback.running;
      report.is_group_busy = !group.has_room();
      for (const auto & worker : workers) {  // O(t)
        const GroupQueue * const of = worker->callback ? worker->callback->queue : nullptr;
        if (of && (report.is_group_busy ? of->group == &group : of->lane == &lane)) {
          kept.push_back({worker->callback, worker->job.sequence});
        }
      }
      is_kept = report.is_group_busy || lane.running >= lane.places();
    }
    report.callback = waits->name();
    report.kind = waits->kind();
    for (std::size_t i = before; is_kept && i < kept.size(); ++i) {
      report.keepers.push_back({kept[i].by->name(), kept[i].job});
    }
    reports.push_back(std::move(report));
  }
  return reports;
}

Engine::Impl::Workers Engine::Impl::traced_workers() const
{
  const Lock configuration_lock(*configuration);
  Workers workers = life.workers();
  workers.push_back(visitor);
  if (courier) {
    workers.push_back(courier);
  }
  return workers;
}

void Engine::read_trace(const std::function<void(const rclrt_job_record &)> & visit)
{
  impl_->trace.read(impl_->traced_workers(), visit);
}

TraceSource Engine::Impl::trace_source(uint32_t from_callback) const
{
  TraceSource source;
  source.executor = number;
  switch (options.model) {
    case ExecutionModel::kPriorityEvents:
      source.model = RCLRT_MODEL_PRIORITY_EVENTS;
      break;
    case ExecutionModel::kPreemptive:
      source.model = RCLRT_MODEL_PREEMPTIVE;
      break;
    case ExecutionModel::kIsolated:
      source.model = RCLRT_MODEL_ISOLATED;
      break;
  }
  source.ordering = static_cast<rclrt_trace_ordering>(options.policy->ordering());
  source.timers_preempt =
    options.model == ExecutionModel::kPriorityEvents && options.release_and_execute;
  {
    const Lock configuration_lock(*configuration);
    const auto is_wanted = [from_callback](const auto & one) { return one.id >= from_callback; };
    std::copy_if(former.begin(), former.end(), std::back_inserter(source.callbacks), is_wanted);
    // Mostly there is no such callback.
    const auto end = from_callback < next_callback ? callbacks.end() : callbacks.begin();
    for (auto entry = callbacks.begin(); entry != end; ++entry) {
      if (entry->second->id() >= from_callback) {
        source.callbacks.push_back(traced(*entry->second));
      }
    }
  }
  std::sort(
    source.callbacks.begin(), source.callbacks.end(),
    [](const TracedCallback & a, const TracedCallback & b) { return a.id < b.id; });
  source.dropped = trace.dropped(traced_workers());
  return source;
}

}  // namespace rclrt_core
