// Copyright 2026 The rclrt Authors
// SPDX-License-Identifier: Apache-2.0

#include "report.hpp"

#include <algorithm>

#include "rclrt_front_end/on_rcl.hpp"

namespace rclrt_reference_system
{

using nlohmann::json;
using rclrt_core::Attributes;
using rclrt_core::Duration;
using rclrt_core::SchedulingPolicy;

namespace
{

bool is_in(int64_t time_ns, const Window & window)
{
  return time_ns >= window.from_ns && time_ns < window.to_ns;
}

double milliseconds(Duration duration) { return static_cast<double>(duration.count()) / 1e6; }

json describe(const Attributes & attributes)
{
  json result = {{"policy", rclrt_core::to_string(attributes.scheduling_policy)}};
  switch (attributes.scheduling_policy) {
    case SchedulingPolicy::kFifo:
    case SchedulingPolicy::kRoundRobin:
      result["priority"] = attributes.priority;
      break;
    case SchedulingPolicy::kOther:
    case SchedulingPolicy::kBatch:
      result["nice"] = attributes.nice;
      break;
    default:
      break;
  }
  if (!attributes.cpu_affinity.empty()) {
    result["cpu_affinity"] = attributes.cpu_affinity.to_string();
  }
  return result;
}

/// A thread may be more urgent than asked (it inherits), never less.
bool is_in_force(const Attributes & asked, const Attributes & found)
{
  // What stands for ext is up to the deadline scheduler: its own class, or a priority.
  const bool is_ordered = asked.scheduling_policy == SchedulingPolicy::kExt &&
                          (found.scheduling_policy == SchedulingPolicy::kExt ||
                           found.scheduling_policy == SchedulingPolicy::kFifo);
  const bool policy_holds =
    asked.scheduling_policy == SchedulingPolicy::kUnchanged || is_ordered ||
    (asked.scheduling_policy == found.scheduling_policy && asked.priority <= found.priority);
  return policy_holds && (asked.cpu_affinity.empty() || asked.cpu_affinity == found.cpu_affinity);
}

bool asks_for_something(const Attributes & attributes)
{
  return attributes.scheduling_policy != SchedulingPolicy::kUnchanged ||
         !attributes.cpu_affinity.empty();
}

json jobs_of(const JobLog & log, const Window & window)
{
  json jobs = json::array();
  for (const JobSample & job : log) {
    if (is_in(job.release_ns, window)) {
      jobs.push_back(
        {job.release_ns, job.start_ns, job.end_ns, job.sent_ns, job.in_sequence, job.out_sequence,
         job.away_ns});
    }
  }
  return jobs;
}

json responses_of(const JobLog & log, const Window & window)
{
  std::vector<int64_t> responses_ns;
  for (const JobSample & job : log) {
    if (is_in(job.release_ns, window)) {
      responses_ns.push_back(job.end_ns - job.release_ns);
    }
  }
  return summary_of(std::move(responses_ns));
}

uint64_t jobs_lost(
  const PlannedCallback & planned, const Scenario & scenario, const Plan & plan,
  const ReferenceSystem & system, const JobLog & log, const Window & window)
{
  if (planned.input < 0) {
    return lost_releases(log, planned.period, window);
  }
  const Stage & stage = plan.stages[planned.stage];
  const std::size_t up = stage.upstream[static_cast<std::size_t>(planned.input)];
  const std::unique_ptr<StageLogic> & publisher = system.stages()[up];
  return lost_samples(
    log, publisher == nullptr ? 0 : publisher->published(), scenario.nodes[stage.node].qos_depth,
    window);
}

json describe_hot_path(
  const Scenario & scenario, const Plan & plan, const ReferenceSystem & system,
  const Window & window, bool has_samples)
{
  json samples = json::array();
  std::vector<int64_t> latencies_ns;
  uint64_t no_room = 0;
  for (const auto & stage : system.stages()) {
    if (stage == nullptr) {
      continue;
    }
    no_room += stage->hot_path_log().lost();
    for (const HotPathSample & sample : stage->hot_path_log()) {
      const int64_t received = received_ns(sample);
      if (!is_in(received, window)) {
        continue;
      }
      latencies_ns.push_back(sample.start_ns - received);
      if (!has_samples) {
        continue;
      }
      json sequences = json::array();
      for (std::size_t i = 0; i < scenario.hot_path.roots.size(); ++i) {
        sequences.push_back(sample.origins[i].sequence);
      }
      samples.push_back({received, sample.start_ns, sample.end_ns, std::move(sequences)});
    }
  }
  json hot_path = {
    {"roots", scenario.hot_path.roots},
    {"through", scenario.hot_path.through},
    {"sink", scenario.hot_path.sink},
    {"critical_path_work_ms", milliseconds(plan.critical_path_work)},
    {"work_ms", milliseconds(plan.hot_path_work)},
    {"deadline_ms", milliseconds(plan.hot_path_deadline)},
    {"samples_without_room", no_room}};
  if (has_samples) {
    hot_path["columns"] = {"received_ns", "start_ns", "end_ns", "root_sequences"};
    hot_path["samples"] = std::move(samples);
  } else {
    hot_path["latencies"] = summary_of(std::move(latencies_ns));
  }
  return hot_path;
}

json describe_threads(const Run & run)
{
  json threads = json::array();
  for (const rclrt_core::ThreadReport & thread : run.threads) {
    threads.push_back(
      {{"name", thread.name},
       {"id", thread.id},
       {"jobs", thread.jobs},
       {"in_force", describe(thread.in_force)}});
  }
  return threads;
}

}  // namespace

uint64_t lost_releases(const JobLog & log, Duration period, const Window & window)
{
  const int64_t period_ns = period.count();
  uint64_t lost = 0;
  int64_t last_ns = window.from_ns;
  bool has_run = false;
  for (const JobSample & job : log) {
    if (has_run && is_in(job.release_ns, window)) {
      // Rounded: the nominal releases of some executors are off by what their clock reads.
      const int64_t periods = (job.release_ns - last_ns + period_ns / 2) / period_ns;
      lost += static_cast<uint64_t>(std::max<int64_t>(periods - 1, 0));
    }
    if (job.release_ns < window.to_ns) {
      last_ns = std::max(job.release_ns, last_ns);
      has_run = true;
    }
  }
  return lost +
         static_cast<uint64_t>(std::max<int64_t>((window.to_ns - last_ns) / period_ns - 1, 0));
}

uint64_t lost_samples(const JobLog & log, uint64_t published, uint32_t depth, const Window & window)
{
  uint64_t lost = 0;
  uint64_t last = 0;
  for (const JobSample & job : log) {
    if (last != 0 && is_in(job.release_ns, window) && job.in_sequence > last) {
      lost += job.in_sequence - last - 1;
    }
    last = std::max(last, job.in_sequence);
  }
  return published > last + depth ? lost + (published - last - depth) : lost;
}

uint64_t missed_deadlines(const JobLog & log, Duration deadline, const Window & window)
{
  return static_cast<uint64_t>(std::count_if(log.begin(), log.end(), [&](const JobSample & job) {
    return is_in(job.release_ns, window) && job.end_ns - job.release_ns > deadline.count();
  }));
}

int64_t received_ns(const HotPathSample & sample)
{
  int64_t first = INT64_MAX;
  for (const Origin & origin : sample.origins) {
    if (origin.sequence != 0) {
      first = std::min(first, origin.received_ns);
    }
  }
  return first;
}

json summary_of(std::vector<int64_t> times_ns)
{
  std::sort(times_ns.begin(), times_ns.end());
  const auto at = [&times_ns](std::size_t hundredths) {
    const std::size_t index = times_ns.size() * hundredths / 100;
    return times_ns.empty()
             ? json()
             : json(milliseconds(Duration(times_ns[std::min(index, times_ns.size() - 1)])));
  };
  return {
    {"count", times_ns.size()}, {"median_ms", at(50)}, {"p99_ms", at(99)}, {"longest_ms", at(100)}};
}

json make_report(
  const Scenario & scenario, const Plan & plan, const ExecutorChoice & choice,
  const ReferenceSystem & system, const Run & run, double iterations_per_ms, bool has_samples)
{
  const Window window{run.measured_from_ns, run.measured_to_ns};
  json callbacks = json::array();
  bool all_in_force = true;
  bool some_asked = false;
  for (const RunningCallback & callback : system.callbacks()) {
    const PlannedCallback & planned = plan.callbacks[callback.planned];
    const ScenarioNode & node = scenario.nodes[plan.stages[planned.stage].node];
    some_asked |= asks_for_something(callback.asked);
    // With a parameters file, what was asked is not known here; the executor finds out.
    all_in_force &= !callback.has_run || !choice.configuration_file.empty() ||
                    is_in_force(callback.asked, callback.in_force);
    const JobLog & log = *callback.log;
    json entry = {
      {"name", planned.name},
      {"node", node.name},
      {"kind", planned.input < 0 ? "timer" : "subscription"},
      {"input", planned.input < 0
                  ? ""
                  : plan.stages[planned.stage].inputs[static_cast<std::size_t>(planned.input)]},
      {"output", plan.stages[planned.stage].output},
      {"on_hot_path", planned.on_hot_path},
      {"priority", planned.priority},
      {"period_ms", milliseconds(planned.period)},
      {"deadline_ms", milliseconds(planned.deadline)},
      {"asked", asks_for_something(callback.asked) ? describe(callback.asked) : json()},
      {"in_force", callback.has_run ? describe(callback.in_force) : json()},
      {"lost", jobs_lost(planned, scenario, plan, system, log, window)},
      {"deadline_misses",
       planned.deadline > Duration(0) ? missed_deadlines(log, planned.deadline, window) : 0},
      {"jobs_without_room", log.lost()}};
    if (has_samples) {
      entry["jobs"] = jobs_of(log, window);
    } else {
      entry["responses"] = responses_of(log, window);
    }
    callbacks.push_back(std::move(entry));
  }

  const auto middleware = rclrt_front_end::middleware_in_use();
  json findings = json::array();
  bool refused = false;
  for (const rclrt_core::Finding & finding : run.findings) {
    findings.push_back(
      {{"subject", finding.subject},
       {"what", finding.what},
       {"errno", finding.error_number},
       {"fix", finding.fix}});
    refused |= finding.error_number != 0;
  }

  return {
    {"schema", 1},
    {"scenario", scenario.name},
    {"executor", choice.name},
    {"policy", to_string(choice.policy)},
    {"rmw", middleware.rmw},
    {"reception_stamp", rclrt_front_end::to_string(middleware.reception_stamp)},
    {"iterations_per_ms", iterations_per_ms},
    {"interrupted", run.interrupted},
    {"measured_from_ns", run.measured_from_ns},
    {"measured_to_ns", run.measured_to_ns},
    {"cpu_s", run.use.cpu_s},
    {"voluntary_switches", run.use.voluntary_switches},
    {"involuntary_switches", run.use.involuntary_switches},
    {"rss_mib_before", run.rss_mib_before},
    {"rss_mib", run.rss_mib},
    {"attributes_asked", some_asked},
    {"attributes_in_force", all_in_force && !refused},
    {"deadline_scheduler", run.deadline_scheduler},
    {"threads", describe_threads(run)},
    {"findings", std::move(findings)},
    {"hot_path", scenario.hot_path.roots.empty()
                   ? json()
                   : describe_hot_path(scenario, plan, system, window, has_samples)},
    {"columns",
     {"release_ns", "start_ns", "end_ns", "sent_ns", "in_sequence", "out_sequence", "away_ns"}},
    {"callbacks", std::move(callbacks)}};
}

}  // namespace rclrt_reference_system
