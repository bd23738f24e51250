// Copyright 2026 The rclrt Authors
// SPDX-License-Identifier: Apache-2.0

/// How make_deadline_scheduler() looks for the scheduler in the kernel. Tests have their own kernel.
#ifndef KERNEL_DEADLINES_HPP_
#define KERNEL_DEADLINES_HPP_

#include <functional>
#include <memory>
#include <string>

#include "rclrt_front_end/configured_engine.hpp"

namespace rclrt_front_end
{

struct KernelDeadlines
{
  /// Null if there is none for us, and the reason.
  std::function<std::shared_ptr<rclrt_core::DeadlineScheduler>(
    rclrt_core::Platform &, std::string * why)>
    open;
  /// Whether there is one at all. Only asked if it cannot be opened.
  std::function<bool()> is_loaded;
};

std::shared_ptr<rclrt_core::DeadlineScheduler> make_deadline_scheduler_with(
  const KernelDeadlines & kernel, DeadlineBackend backend, rclrt_core::Platform & platform,
  const std::function<void(const rclrt_core::Finding &)> & tell);

}  // namespace rclrt_front_end

#endif  // KERNEL_DEADLINES_HPP_
