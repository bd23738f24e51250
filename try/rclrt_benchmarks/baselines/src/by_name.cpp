// Copyright 2026 The rclrt Authors
// SPDX-License-Identifier: Apache-2.0

#include <chrono>
#include <stdexcept>

#include "rclrt_baselines/baselines.hpp"
#include "rclrt_rcl/rclrt_rcl.hpp"

namespace rclrt_baselines
{

std::unique_ptr<rclrt_rcl::Executor> executor_by_name(const std::string & name, std::size_t threads)
{
  if (name == "preemptive") {
    return std::make_unique<rclrt_rcl::PreemptiveExecutor>();
  }
  if (name == "priority_events") {
    return std::make_unique<rclrt_rcl::PriorityEventsExecutor>();
  }
  if (name == "isolated") {
    return std::make_unique<rclrt_rcl::CallbackIsolatedExecutor>();
  }
  if (name == "preemptive_beat") {
    rclrt_rcl::PreemptiveExecutorOptions options;
    options.waiting.beat = std::chrono::microseconds(200);
    return std::make_unique<rclrt_rcl::PreemptiveExecutor>(options);
  }
  if (name == "priority_events_re") {
    rclrt_rcl::PriorityEventsExecutorOptions options;
    options.release_and_execute = true;
    return std::make_unique<rclrt_rcl::PriorityEventsExecutor>(options);
  }
  if (name == "wait_set_single") {
    return std::make_unique<WaitSetSingleThreadedExecutor>();
  }
  if (name == "static") {
    return std::make_unique<StaticExecutor>();
  }
  if (name == "wait_set_multi") {
    return std::make_unique<WaitSetMultiThreadedExecutor>(threads);
  }
  if (name == "events_fifo") {
    return std::make_unique<FifoEventsExecutor>();
  }
  throw std::runtime_error("unknown executor '" + name + "'");
}

}  // namespace rclrt_baselines
