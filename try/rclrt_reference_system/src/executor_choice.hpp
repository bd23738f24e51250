// Copyright 2026 The rclrt Authors
// SPDX-License-Identifier: Apache-2.0

/// The executors a scenario can run under, by the names of the command line.
#pragma once

#include <memory>
#include <string>
#include <vector>

#include "plan.hpp"
#include "rclrt_core/platform.hpp"
#include "rclrt_core/status.hpp"
#include "rclrt_rcl/entity.hpp"
#include "rclrt_rcl/executor.hpp"

namespace rclrt_reference_system
{

/// The executor that runs callbacks.
enum class ExecutorKind : uint8_t
{
  kWaitSetSingle,
  kWaitSetMulti,
  kStatic,
  kEventsFifo,
  kPriorityEvents,
  kIsolated,
  kPreemptive,
};

struct ExecutorChoice
{
  std::string name;
  ExecutorKind kind = ExecutorKind::kPreemptive;
  PolicyChoice policy = PolicyChoice::kRateMonotonic;
  /// Says more, and overrides the policy; see rclrt_config. Empty: none.
  std::string configuration_file;
};

/// "fifo", "rm", "dm", "edf" or "hot".
const char * to_string(PolicyChoice policy) noexcept;

/// Names of the command line, in the order of the report.
std::vector<std::string> executor_names();

/// `policy` may be empty: the executor's own; `configuration_file` too. Errors: unknown names, or what
/// the executor does not have; the text lists what there is.
rclrt_core::Status choose_executor(
  const std::string & name, const std::string & policy, const std::string & configuration_file,
  ExecutorChoice * choice);

/// How a callback is to be scheduled under the choice. Nothing but its CPUs for the baselines.
rclrt_rcl::Scheduling scheduling_for(
  const ExecutorChoice & choice, const PlannedCallback & callback, const ScenarioNode & node);

/// Throws rclrt_rcl::Error if the parameters file is wrong; the text has file, line and column.
std::unique_ptr<rclrt_rcl::Executor> make_executor(
  const ExecutorChoice & choice, const std::shared_ptr<rclrt_rcl::Context> & context);

/// What the executor has found out; nothing for the baselines, which look at nothing.
std::vector<rclrt_core::Finding> findings_of(const rclrt_rcl::Executor & executor);
/// What ordered its threads by deadline; empty if nothing did.
std::string deadline_scheduler_of(const rclrt_rcl::Executor & executor);

}  // namespace rclrt_reference_system
