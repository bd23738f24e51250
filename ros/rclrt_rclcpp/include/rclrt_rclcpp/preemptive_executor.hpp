// Copyright 2026 The rclrt Authors
// SPDX-License-Identifier: Apache-2.0

/// A bounded pool of pre-created threads; the operating system preempts between callbacks by their
/// attributes [ROSRT]. Replaces a multi-threaded executor without other changes to the code.
#pragma once

#include "rclrt_front_end/common_options.hpp"
#include "rclrt_rclcpp/engine_executor.hpp"

namespace rclrt_rclcpp
{

struct PreemptiveExecutorOptions : EngineExecutorOptions, rclrt_front_end::PreemptiveOptions
{
};

class PreemptiveExecutor : public EngineExecutor
{
public:
  explicit PreemptiveExecutor(
    const rclcpp::ExecutorOptions & options = rclcpp::ExecutorOptions(),
    const PreemptiveExecutorOptions & more_options = {})
  : EngineExecutor(options, more_options, rclrt_front_end::engine_options(more_options))
  {
  }
};

}  // namespace rclrt_rclcpp
