// Copyright 2026 The rclrt Authors
// SPDX-License-Identifier: Apache-2.0

#include "plan.hpp"

#include <algorithm>
#include <limits>
#include <utility>

#include "rclrt_core/policy.hpp"

namespace rclrt_reference_system
{

using rclrt_core::Duration;
using rclrt_core::PriorityKey;
using rclrt_core::PriorityTask;
using rclrt_core::Status;

namespace
{

bool has_timer(const ScenarioNode & node) { return node.period > Duration(0); }

/// The stages in an order in which each comes after all of its upstream. There are no cycles.
std::vector<std::size_t> in_order_of_data(const std::vector<Stage> & stages)
{
  std::vector<std::size_t> order;
  std::vector<bool> done(stages.size(), false);
  while (order.size() < stages.size()) {
    for (std::size_t i = 0; i < stages.size(); ++i) {
      const bool ready = std::all_of(
        stages[i].upstream.begin(), stages[i].upstream.end(),
        [&done](std::size_t up) { return up == Stage::npos || done[up]; });
      if (!done[i] && ready) {
        done[i] = true;
        order.push_back(i);
      }
    }
  }
  return order;
}

class Planner
{
public:
  Planner(const Scenario & scenario, Plan * plan) : scenario_(scenario), plan_(*plan)
  {
    plan_.stages = make_stages(scenario);
    order_ = in_order_of_data(plan_.stages);
  }

  void find_rates();
  void find_hot_path();
  void make_callbacks();
  Status assign(PolicyChoice policy);

private:
  const ScenarioNode & node_of(std::size_t stage) const
  {
    return scenario_.nodes[plan_.stages[stage].node];
  }
  Duration work_of(std::size_t stage) const
  {
    const ScenarioNode & node = node_of(stage);
    return node.connections.empty() ? node.work
                                    : node.connections[plan_.stages[stage].connection].work;
  }
  /// Whether `input` of the stage brings data of the hot path's roots, along the path.
  bool is_hot_input(std::size_t stage, std::size_t input) const
  {
    const std::size_t up = plan_.stages[stage].upstream[input];
    return is_named_[stage] && up != Stage::npos && carries_hot_[up];
  }

  const Scenario & scenario_;
  Plan & plan_;
  std::vector<std::size_t> order_;
  std::vector<double> rate_hz_;    // of publishing, by stage
  std::vector<bool> is_root_;      // by stage
  std::vector<bool> is_named_;     // by stage: its node is in `through` or is the sink
  std::vector<bool> carries_hot_;  // by stage: what it publishes carries the roots' data
};

void Planner::find_rates()
{
  rate_hz_.assign(plan_.stages.size(), 0);
  for (const std::size_t i : order_) {
    const ScenarioNode & node = node_of(i);
    if (has_timer(node)) {
      rate_hz_[i] = 1e9 / static_cast<double>(node.period.count());
      continue;
    }
    // A fusion is as slow as its slowest input; the others have one.
    double slowest = std::numeric_limits<double>::infinity();
    for (const std::size_t up : plan_.stages[i].upstream) {
      slowest = std::min(slowest, up == Stage::npos ? 0 : rate_hz_[up]);
    }
    rate_hz_[i] = slowest;
  }
}

void Planner::find_hot_path()
{
  const HotPath & path = scenario_.hot_path;
  const auto contains = [](const std::vector<std::string> & names, const std::string & name) {
    return std::find(names.begin(), names.end(), name) != names.end();
  };
  is_root_.assign(plan_.stages.size(), false);
  is_named_.assign(plan_.stages.size(), false);
  carries_hot_.assign(plan_.stages.size(), false);
  std::vector<Duration> ready(plan_.stages.size(), Duration(0));
  Duration deadline = Duration::max();
  for (const std::size_t i : order_) {
    const ScenarioNode & node = node_of(i);
    is_root_[i] = contains(path.roots, node.name);
    is_named_[i] = contains(path.through, node.name) || node.name == path.sink;
    carries_hot_[i] = is_root_[i];
    if (is_root_[i]) {
      deadline = std::min(deadline, node.period);
      continue;
    }
    Duration start{0};
    for (std::size_t input = 0; input < plan_.stages[i].inputs.size(); ++input) {
      if (is_hot_input(i, input)) {
        carries_hot_[i] = true;
        start = std::max(start, ready[plan_.stages[i].upstream[input]]);
      }
    }
    if (carries_hot_[i]) {
      ready[i] = start + work_of(i);
      if (node.name == path.sink) {
        plan_.critical_path_work = std::max(plan_.critical_path_work, start);
      } else {
        plan_.hot_path_work += work_of(i);
      }
    }
  }
  plan_.hot_path_deadline = path.roots.empty() ? Duration(0) : deadline;
}

void Planner::make_callbacks()
{
  for (std::size_t i = 0; i < plan_.stages.size(); ++i) {
    const ScenarioNode & node = node_of(i);
    if (has_timer(node)) {
      PlannedCallback timer;
      timer.name = node.name;
      timer.stage = i;
      timer.period = node.period;
      timer.deadline = node.deadline > Duration(0) ? node.deadline : node.period;
      timer.on_hot_path = is_root_[i] || (is_named_[i] && carries_hot_[i]);
      timer.rate_hz = rate_hz_[i];
      plan_.callbacks.push_back(std::move(timer));
    }
    for (std::size_t input = 0; input < plan_.stages[i].inputs.size(); ++input) {
      PlannedCallback subscription;
      subscription.name = node.name + "<" + plan_.stages[i].inputs[input];
      subscription.stage = i;
      subscription.input = static_cast<int>(input);
      subscription.deadline = has_timer(node) ? Duration(0) : node.deadline;
      subscription.on_hot_path = is_hot_input(i, input);
      const std::size_t up = plan_.stages[i].upstream[input];
      subscription.rate_hz = up == Stage::npos ? 0 : rate_hz_[up];
      plan_.callbacks.push_back(std::move(subscription));
    }
  }
}

Status Planner::assign(PolicyChoice policy)
{
  if (policy == PolicyChoice::kFifo || policy == PolicyChoice::kEdf) {
    return {};
  }
  // What a stage publishes comes from its timer if it has one, else from any of its subscriptions.
  std::vector<std::vector<std::size_t>> publishers(plan_.stages.size());
  for (std::size_t i = 0; i < plan_.callbacks.size(); ++i) {
    const PlannedCallback & callback = plan_.callbacks[i];
    if (callback.input < 0 || !has_timer(node_of(callback.stage))) {
      publishers[callback.stage].push_back(i);
    }
  }
  std::vector<PriorityTask> tasks;
  for (const PlannedCallback & callback : plan_.callbacks) {
    PriorityTask task;
    task.name = callback.name;
    task.period = callback.period;
    task.relative_deadline = callback.input < 0 ? callback.deadline : Duration(0);
    task.priority = node_of(callback.stage).priority;
    if (callback.input >= 0) {
      const Stage & stage = plan_.stages[callback.stage];
      task.upstream = publishers[stage.upstream[static_cast<std::size_t>(callback.input)]];
    }
    tasks.push_back(std::move(task));
  }
  const PriorityKey key = policy == PolicyChoice::kDeadlineMonotonic
                            ? PriorityKey::kDeadlineMonotonic
                            : PriorityKey::kRateMonotonic;
  const Status status =
    rclrt_core::assign_priorities(key, kLowestPriority, kHighestPriority, &tasks);
  if (!status.ok()) {
    return status;
  }
  for (std::size_t i = 0; i < tasks.size(); ++i) {
    PlannedCallback & callback = plan_.callbacks[i];
    const bool hot = policy == PolicyChoice::kHotPathHighest && callback.on_hot_path;
    callback.priority = hot ? std::max(kHotPathPriority, tasks[i].priority) : tasks[i].priority;
  }
  return {};
}

}  // namespace

Status make_plan(const Scenario & scenario, PolicyChoice policy, Plan * plan)
{
  *plan = Plan{};
  Planner planner(scenario, plan);
  planner.find_rates();
  planner.find_hot_path();
  planner.make_callbacks();
  return planner.assign(policy);
}

}  // namespace rclrt_reference_system
