// Copyright 2026 The rclrt Authors
// SPDX-License-Identifier: Apache-2.0

/// What orders the threads of callbacks with scheduling_policy ext, chosen when an executor starts.
#ifndef RCLRT_CONFIG__DEADLINE_BACKEND_HPP_
#define RCLRT_CONFIG__DEADLINE_BACKEND_HPP_

#include <functional>
#include <memory>

#include "rclrt_core/deadline_scheduler.hpp"
#include "rclrt_core/finding.hpp"

namespace rclrt_config
{

enum class DeadlineBackend : uint8_t
{
  kAuto,       ///< sched_ext if our scheduler is loaded and may be used, else FIFO bands
  kSchedExt,   ///< the scheduler in the kernel (rclrt_scx)
  kFifoBands,  ///< rclrt_core::FifoBands, shared by all processes of the user
};

/// Name used in configuration files: "auto", "sched_ext", "fifo_bands".
const char * to_string(DeadlineBackend backend) noexcept;

/// Null if there is none to be had; `tell` hears why, and of lesser trouble. `platform` must outlive it.
std::shared_ptr<rclrt_core::DeadlineScheduler> make_deadline_scheduler(
  DeadlineBackend backend, rclrt_core::Platform & platform,
  const std::function<void(const rclrt_core::Finding &)> & tell);

using MakeDeadlineScheduler = std::function<std::shared_ptr<rclrt_core::DeadlineScheduler>(
  DeadlineBackend, rclrt_core::Platform &,
  const std::function<void(const rclrt_core::Finding &)> &)>;

}  // namespace rclrt_config

#endif  // RCLRT_CONFIG__DEADLINE_BACKEND_HPP_
