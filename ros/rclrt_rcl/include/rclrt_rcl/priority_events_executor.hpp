// Copyright 2026 The rclrt Authors
// SPDX-License-Identifier: Apache-2.0

/// One thread and a queue of events ordered by arrival, fixed priority or deadline, plus a more urgent
/// timer thread [Teper25 §IV-V]. Not preemptive: analysable as a limited-preemption system.
///
/// spin() runs callbacks on the calling thread.
#ifndef RCLRT_RCL__PRIORITY_EVENTS_EXECUTOR_HPP_
#define RCLRT_RCL__PRIORITY_EVENTS_EXECUTOR_HPP_

#include "rclrt_front_end/models.hpp"
#include "rclrt_rcl/engine_executor.hpp"

namespace rclrt_rcl
{

struct PriorityEventsExecutorOptions : ExecutorOptions, rclrt_front_end::EventsOptions
{
};

class PriorityEventsExecutor : public EngineExecutor
{
public:
  explicit PriorityEventsExecutor(const PriorityEventsExecutorOptions & options = {})
  : EngineExecutor(options, rclrt_front_end::engine_options(options))
  {
  }
};

}  // namespace rclrt_rcl

#endif  // RCLRT_RCL__PRIORITY_EVENTS_EXECUTOR_HPP_
