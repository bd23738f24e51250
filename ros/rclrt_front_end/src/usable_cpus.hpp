// Copyright 2026 The rclrt Authors
// SPDX-License-Identifier: Apache-2.0

/// CPUs that exist but may not be used now are left out of what is asked for.
#ifndef USABLE_CPUS_HPP_
#define USABLE_CPUS_HPP_

#include <optional>
#include <string>

#include "rclrt_core/platform.hpp"

namespace rclrt_front_end
{

/// Takes CPUs that are offline or outside the cpuset out of the affinity, and says which; nothing if all may
/// be used. If none is left the affinity is empty, which is: unchanged. CPUs that this machine has not are
/// left for rclrt_core::validate() to refuse.
std::optional<rclrt_core::Finding> leave_out_unusable_cpus(
  rclrt_core::Platform & platform, const std::string & subject,
  rclrt_core::Attributes * attributes);

}  // namespace rclrt_front_end

#endif  // USABLE_CPUS_HPP_
