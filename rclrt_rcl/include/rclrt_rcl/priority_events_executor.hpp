// Copyright 2026 The rclrt Authors
// SPDX-License-Identifier: Apache-2.0

/// One thread and a queue of events ordered by FIFO, fixed priority or deadline, plus a more urgent
/// timer thread [Teper25 §IV-V]. Not preemptive: analysable as a limited-preemption system.
///
/// spin() runs callbacks on the calling thread.
#ifndef RCLRT_RCL__PRIORITY_EVENTS_EXECUTOR_HPP_
#define RCLRT_RCL__PRIORITY_EVENTS_EXECUTOR_HPP_

#include "rclrt_core/policy.hpp"
#include "rclrt_rcl/engine_executor.hpp"

namespace rclrt_rcl
{

struct PriorityEventsExecutorOptions : ExecutorOptions
{
  const rclrt_core::Policy * policy = &rclrt_core::fixed_priority_policy();
  /// The timer thread also executes the timers' callbacks, else it only releases them.
  bool release_and_execute = false;
};

class PriorityEventsExecutor : public EngineExecutor
{
public:
  explicit PriorityEventsExecutor(const PriorityEventsExecutorOptions & options = {});
};

}  // namespace rclrt_rcl

#endif  // RCLRT_RCL__PRIORITY_EVENTS_EXECUTOR_HPP_
