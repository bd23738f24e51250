// Copyright 2026 The rclrt Authors
// SPDX-License-Identifier: Apache-2.0

/// Persistent threads of its own for every callback group; the operating system schedules them by
/// the attributes of the group, with any policy and affinity [CIE25].
#ifndef RCLRT_RCL__CALLBACK_ISOLATED_EXECUTOR_HPP_
#define RCLRT_RCL__CALLBACK_ISOLATED_EXECUTOR_HPP_

#include "rclrt_front_end/models.hpp"
#include "rclrt_rcl/engine_executor.hpp"

namespace rclrt_rcl
{

struct CallbackIsolatedExecutorOptions : ExecutorOptions, rclrt_front_end::IsolatedOptions
{
};

class CallbackIsolatedExecutor : public EngineExecutor
{
public:
  explicit CallbackIsolatedExecutor(const CallbackIsolatedExecutorOptions & options = {})
  : EngineExecutor(options, rclrt_front_end::engine_options(options))
  {
  }
};

}  // namespace rclrt_rcl

#endif  // RCLRT_RCL__CALLBACK_ISOLATED_EXECUTOR_HPP_
