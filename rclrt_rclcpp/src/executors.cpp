// Copyright 2026 The rclrt Authors
// SPDX-License-Identifier: Apache-2.0

// The three execution models: nothing but options of the engine.

#include <utility>

#include "rclrt_rclcpp/callback_isolated_executor.hpp"
#include "rclrt_rclcpp/preemptive_executor.hpp"
#include "rclrt_rclcpp/priority_events_executor.hpp"

namespace rclrt_rclcpp
{
namespace
{

rclrt_core::EngineOptions engine_options(
  rclrt_core::ExecutionModel model, const rclrt_core::Policy * policy)
{
  rclrt_core::EngineOptions options;
  options.model = model;
  options.policy = policy;
  return options;
}

rclrt_core::EngineOptions engine_options(const PreemptiveExecutorOptions & from)
{
  auto options = engine_options(rclrt_core::ExecutionModel::kPool, from.policy);
  options.min_threads = from.min_threads;
  options.max_threads = from.max_threads;
  return options;
}

rclrt_core::EngineOptions engine_options(const PriorityEventsExecutorOptions & from)
{
  auto options = engine_options(rclrt_core::ExecutionModel::kEvents, from.policy);
  options.release_and_execute = from.release_and_execute;
  return options;
}

}  // namespace

PreemptiveExecutor::PreemptiveExecutor(
  const rclcpp::ExecutorOptions & options, const PreemptiveExecutorOptions & preemptive_options)
: EngineExecutor(options, preemptive_options, engine_options(preemptive_options))
{
}

CallbackIsolatedExecutor::CallbackIsolatedExecutor(
  const rclcpp::ExecutorOptions & options, const CallbackIsolatedExecutorOptions & isolated_options)
: EngineExecutor(
    options, isolated_options,
    engine_options(rclrt_core::ExecutionModel::kIsolated, isolated_options.policy))
{
}

PriorityEventsExecutor::PriorityEventsExecutor(
  const rclcpp::ExecutorOptions & options, const PriorityEventsExecutorOptions & events_options)
: EngineExecutor(options, events_options, engine_options(events_options))
{
}

}  // namespace rclrt_rclcpp
