// Copyright 2026 The rclrt Authors
// SPDX-License-Identifier: Apache-2.0

/// Executors by the names that experiments have for them. Not thread-safe, and not for real-time threads.
#ifndef RCLRT_BASELINES__BY_NAME_HPP_
#define RCLRT_BASELINES__BY_NAME_HPP_

#include <cstddef>
#include <memory>
#include <string>

#include "rclrt_rcl/executor.hpp"

namespace rclrt_baselines
{

/// preemptive, priority_events, isolated: ours, without options. wait_set_single, wait_set_multi, events_fifo: these
/// baselines.
/// `threads`: of wait_set_multi; 0: as many as there are CPUs, but at least 2. Throws std::runtime_error for any other name.
std::unique_ptr<rclrt_rcl::Executor> executor_by_name(
  const std::string & name, std::size_t threads = 0);

}  // namespace rclrt_baselines

#endif  // RCLRT_BASELINES__BY_NAME_HPP_
