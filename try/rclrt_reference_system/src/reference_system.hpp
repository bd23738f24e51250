// Copyright 2026 The rclrt Authors
// SPDX-License-Identifier: Apache-2.0

/// The nodes of a scenario, running on ROS 2: each a real node with real publishers, subscriptions and
/// timers, whose callbacks do what StageLogic says and keep a sample of every job.
///
/// One mutually exclusive group a node (a connection of an intersection has one of its own). Timers
/// wait for start_timers(), so that all of them begin together whatever the executor.
#pragma once

#include <chrono>
#include <memory>
#include <string>
#include <vector>

#include "executor_choice.hpp"
#include "plan.hpp"
#include "rclrt_core/attributes.hpp"
#include "rclrt_core/status.hpp"
#include "rclrt_rcl/rclrt_rcl.hpp"
#include "rclrt_reference_system/busy_work.hpp"
#include "rclrt_reference_system/scenario.hpp"
#include "stage_logic.hpp"

namespace rclrt_reference_system
{

/// A callback of the plan that lives in this process.
struct RunningCallback
{
  std::size_t planned = 0;  ///< index into Plan::callbacks
  const JobLog * log = nullptr;
  /// Asked for; nothing if the policy is unchanged.
  rclrt_core::Attributes asked;
  /// What the thread had that ran the first job, read back from the OS inside the callback.
  rclrt_core::Attributes in_force;
  bool has_run = false;
};

class ReferenceSystem
{
public:
  /// Everything referred to must outlive it. `only_node` empty: all nodes. `length`: how long it will
  /// run, for the room of the logs. Throws rclrt_rcl::Error.
  ReferenceSystem(
    const Scenario & scenario, const Plan & plan, const ExecutorChoice & choice,
    const BusyWork & work, const std::string & only_node, std::chrono::nanoseconds length,
    const std::shared_ptr<rclrt_rcl::Context> & context);

  void add_to(rclrt_rcl::Executor & executor);
  /// Wait until every publisher here has all of its subscriptions and the other way round, also those
  /// of other processes. Error: not within `timeout`; names a topic.
  rclrt_core::Status wait_until_connected(std::chrono::nanoseconds timeout);
  /// Release all timers one period from now. The executor should be spinning already.
  void start_timers();

  // ---- After the executor has stopped

  const std::vector<RunningCallback> & callbacks() const noexcept { return callbacks_; }
  /// By stage of the plan; null for those of other processes.
  const std::vector<std::unique_ptr<StageLogic>> & stages() const noexcept { return stages_; }

private:
  using Publisher = rclrt_rcl::Publisher<Message>;

  void make_stage(std::size_t stage, rclrt_rcl::Node & node);
  void make_timer(RunningCallback & callback, rclrt_rcl::Node & node);
  void make_subscription(
    RunningCallback & callback, rclrt_rcl::Node & node,
    const std::shared_ptr<rclrt_rcl::CallbackGroup> & group);
  bool is_connected(std::string * missing) const;
  std::size_t log_capacity(double rate_hz) const;
  /// Where in the message the data of this root goes, or -1.
  int root_index(const std::string & node) const;

  const Scenario & scenario_;
  const Plan & plan_;
  const ExecutorChoice & choice_;
  const BusyWork work_;
  const std::chrono::nanoseconds length_;
  const std::shared_ptr<rclrt_rcl::Context> context_;

  std::vector<std::unique_ptr<StageLogic>> stages_;
  std::vector<RunningCallback> callbacks_;
  // Destroyed first: on return no callback runs any more that uses what is above.
  std::vector<std::shared_ptr<Publisher>> publishers_;  // by stage
  std::vector<std::shared_ptr<rclrt_rcl::Node>> nodes_;
  std::vector<std::shared_ptr<rclrt_rcl::Timer>> timers_;
  std::vector<std::shared_ptr<rclrt_rcl::Subscription<Message>>> subscriptions_;
};

}  // namespace rclrt_reference_system
