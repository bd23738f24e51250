// Copyright 2026 The rclrt Authors
// SPDX-License-Identifier: Apache-2.0

/// Persistent threads of its own for every callback group; the operating system schedules them by
/// the attributes of the group, with any policy and affinity [CIE25].
#pragma once

#include "rclrt_front_end/common_options.hpp"
#include "rclrt_rclcpp/engine_executor.hpp"

namespace rclrt_rclcpp
{

struct CallbackIsolatedExecutorOptions : EngineExecutorOptions, rclrt_front_end::IsolatedOptions
{
};

class CallbackIsolatedExecutor : public EngineExecutor
{
public:
  explicit CallbackIsolatedExecutor(
    const rclcpp::ExecutorOptions & options = rclcpp::ExecutorOptions(),
    const CallbackIsolatedExecutorOptions & more_options = {})
  : EngineExecutor(options, more_options, rclrt_front_end::engine_options(more_options))
  {
  }
};

}  // namespace rclrt_rclcpp
