// Copyright 2026 The rclrt Authors
// SPDX-License-Identifier: Apache-2.0

#include "rclrt_front_end/common_options.hpp"

#include <utility>

namespace rclrt_front_end
{

ConfiguredEngineOptions configured_engine_options(
  const CommonOptions & from, rclrt_core::EngineOptions engine,
  std::vector<std::string> parameter_files, const Middleware & middleware)
{
  ConfiguredEngineOptions options;
  options.configuration_file = from.configuration_file;
  options.parameter_files = std::move(parameter_files);
  options.middleware = middleware;
  options.middleware_threads = from.middleware_threads;
  options.deadline_scheduler = from.deadline_scheduler;
  options.engine = std::move(engine);
  options.engine.stack_size = from.stack_size;
  options.engine.waiting = from.waiting;
  options.engine.lock_memory = from.lock_memory;
  options.engine.attributes_mode = from.attributes_mode;
  options.engine.timer_thread = from.timer_thread;
  options.engine.trace_capacity = from.trace_capacity;
  options.trace = from.trace;
  options.on_chain_miss = from.on_chain_miss;
  if (from.on_exception) {
    options.engine.on_exception = [handler = from.on_exception](
                                    const rclrt_core::Callback & callback,
                                    std::exception_ptr thrown) {
      return handler(callback.name(), std::move(thrown));
    };
  }
  return options;
}

namespace
{

rclrt_core::EngineOptions with_model(
  rclrt_core::ExecutionModel model, const rclrt_core::Policy * policy)
{
  rclrt_core::EngineOptions options;
  options.model = model;
  options.policy = policy;
  return options;
}

}  // namespace

rclrt_core::EngineOptions engine_options(const PreemptiveOptions & from)
{
  auto options = with_model(rclrt_core::ExecutionModel::kPreemptive, from.policy);
  options.max_threads = from.max_threads;
  return options;
}

rclrt_core::EngineOptions engine_options(const IsolatedOptions & from)
{
  return with_model(rclrt_core::ExecutionModel::kIsolated, from.policy);
}

rclrt_core::EngineOptions engine_options(const PriorityEventsOptions & from)
{
  auto options = with_model(rclrt_core::ExecutionModel::kPriorityEvents, from.policy);
  options.release_and_execute = from.release_and_execute;
  return options;
}

}  // namespace rclrt_front_end
