// Copyright 2026 The rclrt Authors
// SPDX-License-Identifier: Apache-2.0

/// A bounded pool of pre-created threads; the operating system preempts between callbacks by their
/// attributes [ROSRT]. Replaces a multi-threaded executor without other changes to the code.
#ifndef RCLRT_RCL__PREEMPTIVE_EXECUTOR_HPP_
#define RCLRT_RCL__PREEMPTIVE_EXECUTOR_HPP_

#include "rclrt_front_end/models.hpp"
#include "rclrt_rcl/engine_executor.hpp"

namespace rclrt_rcl
{

struct PreemptiveExecutorOptions : ExecutorOptions, rclrt_front_end::PoolOptions
{
};

class PreemptiveExecutor : public EngineExecutor
{
public:
  explicit PreemptiveExecutor(const PreemptiveExecutorOptions & options = {})
  : EngineExecutor(options, rclrt_front_end::engine_options(options))
  {
  }
};

}  // namespace rclrt_rcl

#endif  // RCLRT_RCL__PREEMPTIVE_EXECUTOR_HPP_
