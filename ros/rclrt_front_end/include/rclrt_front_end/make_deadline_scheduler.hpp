// Copyright 2026 The rclrt Authors
// SPDX-License-Identifier: Apache-2.0

/// Makes what orders the threads of callbacks with scheduling_policy ext, when an executor starts.
#ifndef RCLRT_FRONT_END__MAKE_DEADLINE_SCHEDULER_HPP_
#define RCLRT_FRONT_END__MAKE_DEADLINE_SCHEDULER_HPP_

#include <functional>
#include <memory>

#include "rclrt_config/deadline_backend.hpp"
#include "rclrt_core/deadline_scheduler.hpp"
#include "rclrt_core/finding.hpp"

namespace rclrt_front_end
{

using rclrt_config::DeadlineBackend;

/// Null if none can be had; `tell` hears why, and of lesser trouble. `platform` must outlive it.
std::shared_ptr<rclrt_core::DeadlineScheduler> make_deadline_scheduler(
  DeadlineBackend backend, rclrt_core::Platform & platform,
  const std::function<void(const rclrt_core::Finding &)> & tell);

using MakeDeadlineScheduler = std::function<std::shared_ptr<rclrt_core::DeadlineScheduler>(
  DeadlineBackend, rclrt_core::Platform &,
  const std::function<void(const rclrt_core::Finding &)> &)>;

}  // namespace rclrt_front_end

#endif  // RCLRT_FRONT_END__MAKE_DEADLINE_SCHEDULER_HPP_
