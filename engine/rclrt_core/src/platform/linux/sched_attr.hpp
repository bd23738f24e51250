// Copyright 2026 The rclrt Authors
// SPDX-License-Identifier: Apache-2.0

/// sched_setattr(2) and friends by thread id, as plain system calls: many C libraries in use have
/// neither the functions nor the struct. Nothing here allocates.
#pragma once

#include "rclrt_core/attributes.hpp"
#include "rclrt_core/platform.hpp"

namespace rclrt_core::linux_platform
{

/// Policy and its parameters; the affinity is left alone. Returns 0 or errno.
///
/// SCHED_FLAG_RESET_ON_FORK is set unless Attributes::inherited_by_children: threads and processes that a
/// callback starts begin as SCHED_OTHER, whatever the callback runs under. (Without it a SCHED_DEADLINE
/// thread could start none. And once set, only a privileged process may clear it: setting it in some calls
/// only would make the others fail.)
int set_policy(ThreadId thread, const Attributes & attributes) noexcept;
/// Fills policy and its parameters; the affinity is left alone. Returns 0 or errno. A policy that
/// this project does not know is reported as kOther.
int get_policy(ThreadId thread, Attributes * attributes) noexcept;

/// Return 0 or errno. Of the CPUs that are asked for the kernel takes those that are online and in the
/// cpuset; EINVAL if there is none.
int set_affinity(ThreadId thread, const CpuSet & cpus) noexcept;
/// All that the kernel would take.
int set_affinity_to_all(ThreadId thread) noexcept;
int get_affinity(ThreadId thread, CpuSet * cpus) noexcept;

}  // namespace rclrt_core::linux_platform
