// Copyright 2026 The rclrt Authors
// SPDX-License-Identifier: Apache-2.0

/// Persistent threads of its own for every callback group; the operating system schedules them by
/// the group's attributes, any policy and affinity [CIE25].
#ifndef RCLRT_RCL__CALLBACK_ISOLATED_EXECUTOR_HPP_
#define RCLRT_RCL__CALLBACK_ISOLATED_EXECUTOR_HPP_

#include "rclrt_core/policy.hpp"
#include "rclrt_rcl/engine_executor.hpp"

namespace rclrt_rcl
{

struct CallbackIsolatedExecutorOptions : ExecutorOptions
{
  /// Order among the jobs of a group.
  const rclrt_core::Policy * policy = &rclrt_core::fixed_priority_policy();
};

class CallbackIsolatedExecutor : public EngineExecutor
{
public:
  explicit CallbackIsolatedExecutor(const CallbackIsolatedExecutorOptions & options = {});
};

}  // namespace rclrt_rcl

#endif  // RCLRT_RCL__CALLBACK_ISOLATED_EXECUTOR_HPP_
