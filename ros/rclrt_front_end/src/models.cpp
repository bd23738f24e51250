// Copyright 2026 The rclrt Authors
// SPDX-License-Identifier: Apache-2.0

#include "rclrt_front_end/common_options.hpp"

namespace rclrt_front_end
{
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

rclrt_core::EngineOptions engine_options(const PoolOptions & from)
{
  auto options = with_model(rclrt_core::ExecutionModel::kPool, from.policy);
  options.max_threads = from.max_threads;
  return options;
}

rclrt_core::EngineOptions engine_options(const IsolatedOptions & from)
{
  return with_model(rclrt_core::ExecutionModel::kIsolated, from.policy);
}

rclrt_core::EngineOptions engine_options(const EventsOptions & from)
{
  auto options = with_model(rclrt_core::ExecutionModel::kEvents, from.policy);
  options.release_and_execute = from.release_and_execute;
  return options;
}

}  // namespace rclrt_front_end
