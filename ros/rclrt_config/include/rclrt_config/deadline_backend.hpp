// Copyright 2026 The rclrt Authors
// SPDX-License-Identifier: Apache-2.0

/// The values of executor.deadline_scheduler.
#ifndef RCLRT_CONFIG__DEADLINE_BACKEND_HPP_
#define RCLRT_CONFIG__DEADLINE_BACKEND_HPP_

#include <cstdint>

namespace rclrt_config
{

/// What orders the threads of callbacks with scheduling_policy ext.
enum class DeadlineBackend : uint8_t
{
  kAuto,       ///< sched_ext if our scheduler is loaded and may be used, else FIFO bands
  kSchedExt,   ///< the scheduler in the kernel (rclrt_scx)
  kFifoBands,  ///< rclrt_core::FifoBands, shared by all processes of the user
};

}  // namespace rclrt_config

#endif  // RCLRT_CONFIG__DEADLINE_BACKEND_HPP_
