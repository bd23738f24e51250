// Copyright 2026 The rclrt Authors
// SPDX-License-Identifier: Apache-2.0

/// Persistent threads of its own for every callback group [CIE25].
#ifndef RCLRT_RCLCPP__CALLBACK_ISOLATED_EXECUTOR_HPP_
#define RCLRT_RCLCPP__CALLBACK_ISOLATED_EXECUTOR_HPP_

#include "rclrt_core/policy.hpp"
#include "rclrt_rclcpp/engine_executor.hpp"

namespace rclrt_rclcpp
{

struct CallbackIsolatedExecutorOptions : EngineExecutorOptions
{
  /// Order among the jobs of a group.
  const rclrt_core::Policy * policy = &rclrt_core::fixed_priority_policy();
};

class CallbackIsolatedExecutor : public EngineExecutor
{
public:
  explicit CallbackIsolatedExecutor(
    const rclcpp::ExecutorOptions & options = rclcpp::ExecutorOptions(),
    const CallbackIsolatedExecutorOptions & isolated_options = {});
};

}  // namespace rclrt_rclcpp

#endif  // RCLRT_RCLCPP__CALLBACK_ISOLATED_EXECUTOR_HPP_
