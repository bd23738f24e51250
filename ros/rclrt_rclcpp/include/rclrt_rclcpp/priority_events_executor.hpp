// Copyright 2026 The rclrt Authors
// SPDX-License-Identifier: Apache-2.0

/// One thread and a queue of events ordered by arrival, fixed priority or deadline, plus a more urgent
/// timer thread [Teper25 §IV-V]. Not preemptive: analysable as a limited-preemption system.
///
/// spin() runs callbacks on the calling thread.
#pragma once

#include "rclrt_front_end/common_options.hpp"
#include "rclrt_rclcpp/engine_executor.hpp"

namespace rclrt_rclcpp
{

struct PriorityEventsExecutorOptions : EngineExecutorOptions, rclrt_front_end::PriorityEventsOptions
{
};

class PriorityEventsExecutor : public EngineExecutor
{
public:
  explicit PriorityEventsExecutor(
    const rclcpp::ExecutorOptions & options = rclcpp::ExecutorOptions(),
    const PriorityEventsExecutorOptions & more_options = {})
  : EngineExecutor(options, more_options, rclrt_front_end::engine_options(more_options))
  {
  }
};

}  // namespace rclrt_rclcpp
