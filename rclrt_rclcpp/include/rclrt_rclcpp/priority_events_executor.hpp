// Copyright 2026 The rclrt Authors
// SPDX-License-Identifier: Apache-2.0

/// One thread that runs the most urgent waiting job next, and a more urgent one for timers
/// [Teper25 §IV-V].
#ifndef RCLRT_RCLCPP__PRIORITY_EVENTS_EXECUTOR_HPP_
#define RCLRT_RCLCPP__PRIORITY_EVENTS_EXECUTOR_HPP_

#include "rclrt_core/policy.hpp"
#include "rclrt_rclcpp/engine_executor.hpp"

namespace rclrt_rclcpp
{

struct PriorityEventsExecutorOptions : EngineExecutorOptions
{
  const rclrt_core::Policy * policy = &rclrt_core::fixed_priority_policy();
  /// The timer thread also executes the timers' callbacks, else it only releases them.
  bool release_and_execute = false;
};

class PriorityEventsExecutor : public EngineExecutor
{
public:
  explicit PriorityEventsExecutor(
    const rclcpp::ExecutorOptions & options = rclcpp::ExecutorOptions(),
    const PriorityEventsExecutorOptions & events_options = {});
};

}  // namespace rclrt_rclcpp

#endif  // RCLRT_RCLCPP__PRIORITY_EVENTS_EXECUTOR_HPP_
