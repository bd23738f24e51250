// Copyright 2026 The rclrt Authors
// SPDX-License-Identifier: Apache-2.0

// The three execution models: nothing but options of the engine.

#include <utility>

#include "rclrt_rcl/callback_isolated_executor.hpp"
#include "rclrt_rcl/preemptive_executor.hpp"
#include "rclrt_rcl/priority_events_executor.hpp"

namespace rclrt_rcl
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

PreemptiveExecutor::PreemptiveExecutor(const PreemptiveExecutorOptions & options)
: EngineExecutor(options, engine_options(options))
{
}

CallbackIsolatedExecutor::CallbackIsolatedExecutor(const CallbackIsolatedExecutorOptions & options)
: EngineExecutor(options, engine_options(rclrt_core::ExecutionModel::kIsolated, options.policy))
{
}

PriorityEventsExecutor::PriorityEventsExecutor(const PriorityEventsExecutorOptions & options)
: EngineExecutor(options, engine_options(options))
{
}

}  // namespace rclrt_rcl
