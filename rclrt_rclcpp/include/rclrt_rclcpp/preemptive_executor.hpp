// Copyright 2026 The rclrt Authors
// SPDX-License-Identifier: Apache-2.0

/// A bounded pool of pre-created threads; the operating system preempts between callbacks by their
/// attributes [ROSRT]. Replaces a multi-threaded executor without other changes to the code.
#ifndef RCLRT_RCLCPP__PREEMPTIVE_EXECUTOR_HPP_
#define RCLRT_RCLCPP__PREEMPTIVE_EXECUTOR_HPP_

#include <cstddef>

#include "rclrt_core/policy.hpp"
#include "rclrt_rclcpp/engine_executor.hpp"

namespace rclrt_rclcpp
{

struct PreemptiveExecutorOptions : EngineExecutorOptions
{
  /// Order among jobs that wait for a thread or in a group.
  const rclrt_core::Policy * policy = &rclrt_core::fixed_priority_policy();
  /// As many threads as the groups could use at once, within these bounds.
  std::size_t min_threads = 2;
  std::size_t max_threads = 64;
};

class PreemptiveExecutor : public EngineExecutor
{
public:
  explicit PreemptiveExecutor(
    const rclcpp::ExecutorOptions & options = rclcpp::ExecutorOptions(),
    const PreemptiveExecutorOptions & preemptive_options = {});
};

}  // namespace rclrt_rclcpp

#endif  // RCLRT_RCLCPP__PREEMPTIVE_EXECUTOR_HPP_
