// Copyright 2026 The rclrt Authors
// SPDX-License-Identifier: Apache-2.0

/// CPUs that exist but may not be used now are left out of what is asked for.
#pragma once

#include <optional>
#include <string>
#include <vector>

#include "rclrt_core/platform.hpp"

namespace rclrt_front_end
{

/// Takes CPUs that are offline or outside the cpuset out of the affinity, and says which; nothing if all may
/// be used. If none is left the affinity is empty, which is: unchanged. CPUs that this machine has not are
/// left for rclrt_core::validate() to refuse.
inline std::optional<rclrt_core::Finding> leave_out_unusable_cpus(
  rclrt_core::Platform & platform, const std::string & subject, rclrt_core::Attributes * attributes)
{
  using rclrt_core::CpuSet;
  const CpuSet asked = attributes->cpu_affinity;
  if (asked.empty() || asked.out_of_range()) {
    return std::nullopt;
  }
  const CpuSet usable = platform.usable_cpu_set();
  std::vector<int> kept;
  std::vector<int> left_out;
  for (const int cpu : asked.cpus()) {
    (usable.contains(cpu) || cpu >= platform.cpu_count() ? kept : left_out).push_back(cpu);
  }
  if (left_out.empty()) {
    return std::nullopt;
  }
  attributes->cpu_affinity = CpuSet(kept);
  return rclrt_core::Finding{
    subject,
    "its cpu_affinity " + asked.to_string() +
      " names CPUs that are offline or outside the cpuset of the "
      "process: " +
      CpuSet(left_out).to_string() + ". They are left out" +
      (kept.empty() ? ", so it may run on every CPU of the process, " + usable.to_string() : ""),
    0,
    "Switch them on (/sys/devices/system/cpu/cpu*/online), widen the cpuset (cpuset.cpus of the "
    "control "
    "group; container: --cpuset-cpus), or name others"};
}

}  // namespace rclrt_front_end
