// Copyright 2026 The rclrt Authors
// SPDX-License-Identifier: Apache-2.0

#include "executor_choice.hpp"

#include <algorithm>
#include <utility>

#include "rclrt_baselines/baselines.hpp"
#include "rclrt_rcl/executor.hpp"

namespace rclrt_reference_system
{

using rclrt_core::Attributes;
using rclrt_core::SchedulingPolicy;
using rclrt_core::Status;

namespace
{

/// Where all callbacks share one OS priority and the order is the executor's own.
constexpr int kSharedPriority = 50;

struct Known
{
  const char * name;
  ExecutorKind kind;
  PolicyChoice policy;
};

constexpr Known kKnown[] = {
  {"wait_set_single", ExecutorKind::kWaitSetSingle, PolicyChoice::kFifo},
  {"wait_set_multi", ExecutorKind::kWaitSetMulti, PolicyChoice::kFifo},
  {"static", ExecutorKind::kStatic, PolicyChoice::kFifo},
  {"events_fifo", ExecutorKind::kEventsFifo, PolicyChoice::kFifo},
  {"priority_events", ExecutorKind::kPriorityEvents, PolicyChoice::kRateMonotonic},
  {"isolated", ExecutorKind::kIsolated, PolicyChoice::kRateMonotonic},
  {"preemptive", ExecutorKind::kPreemptive, PolicyChoice::kRateMonotonic},
  {"preemptive_edf", ExecutorKind::kPreemptive, PolicyChoice::kEdf},
  {"preemptive_hot", ExecutorKind::kPreemptive, PolicyChoice::kHotPathHighest},
};

constexpr PolicyChoice kPolicies[] = {
  PolicyChoice::kFifo, PolicyChoice::kRateMonotonic, PolicyChoice::kDeadlineMonotonic,
  PolicyChoice::kEdf, PolicyChoice::kHotPathHighest};

bool is_baseline(ExecutorKind kind)
{
  return kind == ExecutorKind::kWaitSetSingle || kind == ExecutorKind::kWaitSetMulti ||
         kind == ExecutorKind::kStatic || kind == ExecutorKind::kEventsFifo;
}

const rclrt_core::Policy & order_of(PolicyChoice policy)
{
  switch (policy) {
    case PolicyChoice::kFifo:
      return rclrt_core::first_come_policy();
    case PolicyChoice::kEdf:
      return rclrt_core::edf_policy();
    default:
      return rclrt_core::fixed_priority_policy();
  }
}

template <typename Executor, typename Options>
std::unique_ptr<rclrt_rcl::Executor> make(
  const ExecutorChoice & choice, const std::shared_ptr<rclrt_rcl::Context> & context)
{
  Options options;
  options.context = context;
  options.policy = &order_of(choice.policy);
  options.configuration_file = choice.configuration_file;
  return std::make_unique<Executor>(options);
}

}  // namespace

const char * to_string(PolicyChoice policy) noexcept
{
  switch (policy) {
    case PolicyChoice::kFifo:
      return "fifo";
    case PolicyChoice::kRateMonotonic:
      return "rm";
    case PolicyChoice::kDeadlineMonotonic:
      return "dm";
    case PolicyChoice::kEdf:
      return "edf";
    case PolicyChoice::kHotPathHighest:
      return "hot";
  }
  return "unknown";
}

std::vector<std::string> executor_names()
{
  std::vector<std::string> names;
  for (const Known & known : kKnown) {
    names.emplace_back(known.name);
  }
  return names;
}

Status choose_executor(
  const std::string & name, const std::string & policy, const std::string & configuration_file,
  ExecutorChoice * choice)
{
  const auto known = std::find_if(
    std::begin(kKnown), std::end(kKnown), [&name](const Known & k) { return name == k.name; });
  if (known == std::end(kKnown)) {
    std::string names;
    for (const std::string & each : executor_names()) {
      names += (names.empty() ? "" : ", ") + each;
    }
    return Status::error("unknown executor '" + name + "'. Use one of: " + names);
  }
  if (is_baseline(known->kind) && !configuration_file.empty()) {
    return Status::error("executor '" + name + "' takes no parameters file");
  }
  ExecutorChoice result{name, known->kind, known->policy, configuration_file};
  if (!policy.empty()) {
    const auto found = std::find_if(
      std::begin(kPolicies), std::end(kPolicies),
      [&policy](PolicyChoice each) { return policy == to_string(each); });
    if (found == std::end(kPolicies)) {
      return Status::error("unknown policy '" + policy + "'. Use one of: fifo, rm, dm, edf, hot");
    }
    if (is_baseline(known->kind) && *found != PolicyChoice::kFifo) {
      return Status::error(
        "executor '" + name + "' has no policy '" + policy + "': it runs callbacks as they come");
    }
    result.policy = *found;
  }
  *choice = std::move(result);
  return {};
}

rclrt_rcl::Scheduling scheduling_for(
  const ExecutorChoice & choice, const PlannedCallback & callback, const ScenarioNode & node)
{
  rclrt_rcl::Scheduling scheduling;
  if (is_baseline(choice.kind)) {
    return scheduling;
  }
  Attributes & attributes = scheduling.attributes;
  attributes.cpu_affinity = node.cpu_affinity;
  scheduling.relative_deadline = callback.deadline;
  scheduling.queue_priority = callback.priority;
  if (choice.policy != PolicyChoice::kFifo) {
    const bool os_decides = choice.kind != ExecutorKind::kPriorityEvents;
    if (os_decides && choice.policy == PolicyChoice::kEdf) {
      attributes.scheduling_policy = SchedulingPolicy::kExt;
    } else {
      attributes.scheduling_policy = SchedulingPolicy::kFifo;
      attributes.priority = os_decides ? callback.priority : kSharedPriority;
    }
  }
  return scheduling;
}

std::unique_ptr<rclrt_rcl::Executor> make_executor(
  const ExecutorChoice & choice, const std::shared_ptr<rclrt_rcl::Context> & context)
{
  switch (choice.kind) {
    case ExecutorKind::kWaitSetSingle:
      return std::make_unique<rclrt_baselines::WaitSetSingleThreadedExecutor>(context);
    case ExecutorKind::kWaitSetMulti:
      return std::make_unique<rclrt_baselines::WaitSetMultiThreadedExecutor>(0, context);
    case ExecutorKind::kStatic:
      return std::make_unique<rclrt_baselines::StaticExecutor>(context);
    case ExecutorKind::kEventsFifo:
      return std::make_unique<rclrt_baselines::FifoEventsExecutor>(context);
    case ExecutorKind::kPriorityEvents:
      return make<rclrt_rcl::PriorityEventsExecutor, rclrt_rcl::PriorityEventsExecutorOptions>(
        choice, context);
    case ExecutorKind::kIsolated:
      return make<rclrt_rcl::CallbackIsolatedExecutor, rclrt_rcl::CallbackIsolatedExecutorOptions>(
        choice, context);
    default:
      return make<rclrt_rcl::PreemptiveExecutor, rclrt_rcl::PreemptiveExecutorOptions>(
        choice, context);
  }
}

std::string deadline_scheduler_of(const rclrt_rcl::Executor & executor)
{
  const auto * engine = dynamic_cast<const rclrt_rcl::EngineExecutor *>(&executor);
  return engine == nullptr ? "" : engine->deadline_scheduler();
}

std::vector<rclrt_core::Finding> findings_of(const rclrt_rcl::Executor & executor)
{
  const auto * engine = dynamic_cast<const rclrt_rcl::EngineExecutor *>(&executor);
  return engine == nullptr ? std::vector<rclrt_core::Finding>{} : engine->findings();
}

}  // namespace rclrt_reference_system
