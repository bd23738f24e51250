// Copyright 2026 The rclrt Authors
// SPDX-License-Identifier: Apache-2.0

/// Shares and limits of CPU time that cgroups have. The scheduler does not know them, so in mode full they do not
/// hold (docker --cpus, CPUQuota= of systemd).
#ifndef CGROUPS_HPP_
#define CGROUPS_HPP_

#include <string>
#include <vector>

namespace rclrt_scx
{

struct CgroupLimit
{
  std::string group;  ///< as in /proc/PID/cgroup: "/system.slice/docker-12.scope"
  std::string value;  ///< "cpu.max 10000 100000"
};

/// Of groups that have processes: cpu.max, cpu.weight and cpu.idle where they are not the kernel's defaults. Empty as
/// well where cgroups of version 2 are not mounted. Groups may come and go meanwhile. Looks at no more than 100,000
/// files and folders.
std::vector<CgroupLimit> cgroup_limits();

/// "3 cgroups have ...: /a: cpu.max 10000 100000; /b: ...". Empty if there are none.
std::string describe(const std::vector<CgroupLimit> & limits);

}  // namespace rclrt_scx

#endif  // CGROUPS_HPP_
