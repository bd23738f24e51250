// Copyright 2026 The rclrt Authors
// SPDX-License-Identifier: Apache-2.0

#include "reference_system.hpp"

#include <algorithm>
#include <thread>
#include <utility>

#include "rclrt_core/linux_platform.hpp"

namespace rclrt_reference_system
{

using rclrt_core::Duration;
using rclrt_core::Status;

namespace
{

/// Read back, once, what is in force on the thread that runs the callback.
void look_at_thread(RunningCallback & callback)
{
  if (!callback.has_run) {
    callback.has_run = true;
    rclrt_core::LinuxPlatform platform;
    platform.read_back(platform.current_thread(), &callback.in_force);
  }
}

/// When the middleware got the message, on CLOCK_MONOTONIC. It says so on CLOCK_REALTIME, which may be
/// set in between; so never before it was sent nor after the callback began.
int64_t received_ns(const rclrt_rcl::MessageInfo & info, int64_t sent_ns, int64_t start_ns)
{
  if (info.received_timestamp.count() == 0) {
    return start_ns;
  }
  // In this order a preemption in between makes the message older, never younger.
  const int64_t now_ns = monotonic_ns();
  const auto system_now = std::chrono::system_clock::now().time_since_epoch();
  const int64_t age_ns =
    std::chrono::nanoseconds(system_now).count() - info.received_timestamp.count();
  return std::clamp(now_ns - age_ns, std::min(sent_ns, start_ns), start_ns);
}

}  // namespace

ReferenceSystem::ReferenceSystem(
  const Scenario & scenario, const Plan & plan, const ExecutorChoice & choice,
  const BusyWork & work, const std::string & only_node, std::chrono::nanoseconds length,
  const std::shared_ptr<rclrt_rcl::Context> & context)
: scenario_(scenario),
  plan_(plan),
  choice_(choice),
  work_(work),
  length_(length),
  context_(context),
  stages_(plan.stages.size()),
  publishers_(plan.stages.size())
{
  for (std::size_t i = 0; i < plan.callbacks.size(); ++i) {
    const ScenarioNode & node = scenario.nodes[plan.stages[plan.callbacks[i].stage].node];
    if (only_node.empty() || node.name == only_node) {
      RunningCallback callback;
      callback.planned = i;
      callbacks_.push_back(callback);  // all of them, before callbacks refer to one
    }
  }
  rclrt_rcl::NodeOptions options;
  options.context = context;
  for (std::size_t i = 0; i < scenario.nodes.size(); ++i) {
    if (!only_node.empty() && scenario.nodes[i].name != only_node) {
      continue;
    }
    nodes_.push_back(std::make_shared<rclrt_rcl::Node>(scenario.nodes[i].name, options));
    for (std::size_t stage = 0; stage < plan.stages.size(); ++stage) {
      if (plan.stages[stage].node == i) {
        make_stage(stage, *nodes_.back());
      }
    }
  }
}

std::size_t ReferenceSystem::log_capacity(double rate_hz) const
{
  // Half as much again, and some: a log that is full loses samples, and the report says so.
  return static_cast<std::size_t>(rate_hz * 1.5 * std::chrono::duration<double>(length_).count()) +
         64;
}

int ReferenceSystem::root_index(const std::string & node) const
{
  const std::vector<std::string> & roots = scenario_.hot_path.roots;
  const auto found = std::find(roots.begin(), roots.end(), node);
  return found == roots.end() ? -1 : static_cast<int>(found - roots.begin());
}

void ReferenceSystem::make_stage(std::size_t index, rclrt_rcl::Node & node)
{
  const Stage & stage = plan_.stages[index];
  const ScenarioNode & described = scenario_.nodes[stage.node];
  const rclrt_rcl::QoS qos(described.qos_depth);
  StageLogic::Publish publish;
  if (!stage.output.empty()) {
    auto publisher = node.create_publisher<Message>(stage.output, qos);
    publishers_[index] = publisher;
    publish = [publisher](Message & message) {
      message.published_ns = monotonic_ns();
      publisher->publish(message);
    };
  }

  StageLogic::Options options;
  options.kind = described.kind;
  options.inputs = stage.inputs.size();
  options.work =
    described.connections.empty() ? described.work : described.connections[stage.connection].work;
  options.root = root_index(described.name);
  options.is_sink = described.name == scenario_.hot_path.sink;
  options.input_capacity.resize(stage.inputs.size());
  for (const RunningCallback & callback : callbacks_) {
    const PlannedCallback & planned = plan_.callbacks[callback.planned];
    if (planned.stage == index) {
      (planned.input < 0 ? options.timer_capacity
                         : options.input_capacity[static_cast<std::size_t>(planned.input)]) =
        log_capacity(planned.rate_hz);
    }
  }
  stages_[index] = std::make_unique<StageLogic>(options, work_, std::move(publish));

  std::shared_ptr<rclrt_rcl::CallbackGroup> group;  // null: the node's own
  if (described.kind == NodeKind::kIntersection) {
    rclrt_rcl::CallbackGroupOptions group_options;
    group_options.name = stage.inputs[0];
    group =
      node.create_callback_group(rclrt_rcl::CallbackGroupType::kMutuallyExclusive, group_options);
  }
  for (RunningCallback & callback : callbacks_) {
    const PlannedCallback & planned = plan_.callbacks[callback.planned];
    if (planned.stage == index && planned.input < 0) {
      make_timer(callback, node);
    } else if (planned.stage == index) {
      make_subscription(callback, node, group);
    }
  }
}

void ReferenceSystem::make_timer(RunningCallback & callback, rclrt_rcl::Node & node)
{
  const PlannedCallback & planned = plan_.callbacks[callback.planned];
  StageLogic * logic = stages_[planned.stage].get();
  rclrt_rcl::TimerOptions options;
  options.scheduling =
    scheduling_for(choice_, planned, scenario_.nodes[plan_.stages[planned.stage].node]);
  options.autostart = false;
  callback.asked = options.scheduling.attributes;
  callback.log = &logic->timer_log();
  timers_.push_back(node.create_wall_timer(
    planned.period,
    [logic, &callback](rclrt_rcl::Timer &, const rclrt_rcl::TimerInfo & info) {
      const int64_t start_ns = monotonic_ns();
      look_at_thread(callback);
      logic->on_timer(rclrt_core::nanoseconds_of(info.release), start_ns);
    },
    options));
}

void ReferenceSystem::make_subscription(
  RunningCallback & callback, rclrt_rcl::Node & node,
  const std::shared_ptr<rclrt_rcl::CallbackGroup> & group)
{
  const PlannedCallback & planned = plan_.callbacks[callback.planned];
  const Stage & stage = plan_.stages[planned.stage];
  const auto input = static_cast<std::size_t>(planned.input);
  StageLogic * logic = stages_[planned.stage].get();
  rclrt_rcl::SubscriptionOptions options;
  options.group = group;
  options.scheduling = scheduling_for(choice_, planned, scenario_.nodes[stage.node]);
  callback.asked = options.scheduling.attributes;
  callback.log = &logic->input_log(input);
  subscriptions_.push_back(node.create_subscription<Message>(
    stage.inputs[input], rclrt_rcl::QoS(scenario_.nodes[stage.node].qos_depth),
    [logic, input, &callback](const Message & message, const rclrt_rcl::MessageInfo & info) {
      const int64_t start_ns = monotonic_ns();
      look_at_thread(callback);
      logic->on_message(
        input, message, received_ns(info, message.published_ns, start_ns), start_ns);
    },
    options));
}

void ReferenceSystem::add_to(rclrt_rcl::Executor & executor)
{
  for (const auto & node : nodes_) {
    executor.add_node(node);
  }
}

bool ReferenceSystem::is_connected(std::string * missing) const
{
  for (std::size_t i = 0; i < plan_.stages.size(); ++i) {
    if (publishers_[i] == nullptr) {
      continue;
    }
    std::size_t readers = 0;
    for (const Stage & other : plan_.stages) {
      readers +=
        static_cast<std::size_t>(std::count(other.upstream.begin(), other.upstream.end(), i));
    }
    if (publishers_[i]->subscription_count() < readers) {
      *missing = plan_.stages[i].output;
      return false;
    }
  }
  for (const RunningCallback & callback : callbacks_) {
    const PlannedCallback & planned = plan_.callbacks[callback.planned];
    if (planned.input < 0) {
      continue;
    }
    const std::string & topic =
      plan_.stages[planned.stage].inputs[static_cast<std::size_t>(planned.input)];
    if (nodes_.front()->count_publishers(topic) == 0) {
      *missing = topic;
      return false;
    }
  }
  return true;
}

Status ReferenceSystem::wait_until_connected(std::chrono::nanoseconds timeout)
{
  const auto until = std::chrono::steady_clock::now() + timeout;
  std::string missing;
  while (!is_connected(&missing)) {
    if (!context_->ok()) {
      return Status::error("interrupted while connecting");
    }
    if (std::chrono::steady_clock::now() > until) {
      return Status::error(
        "topic '" + missing + "' is not connected after " +
        std::to_string(std::chrono::duration_cast<std::chrono::seconds>(timeout).count()) +
        " s. Is another domain in use, or multicast and shared memory both refused?");
    }
    std::this_thread::sleep_for(std::chrono::milliseconds(10));
  }
  return {};
}

void ReferenceSystem::start_timers()
{
  for (const auto & timer : timers_) {
    timer->reset();
  }
}

}  // namespace rclrt_reference_system
