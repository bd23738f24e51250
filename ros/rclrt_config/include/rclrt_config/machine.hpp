// Copyright 2026 The rclrt Authors
// SPDX-License-Identifier: Apache-2.0

/// What a configuration is held against: the machine it is loaded on.
///
/// A plain value, so that tests can load a file for another machine. The functions are called only
/// for files that ask for them; each costs up to some ten milliseconds.
#ifndef RCLRT_CONFIG__MACHINE_HPP_
#define RCLRT_CONFIG__MACHINE_HPP_

#include <cstdint>
#include <functional>
#include <map>
#include <optional>
#include <string>

namespace rclrt_config
{

struct Machine
{
  /// CPUs are numbered from 0.
  int cpu_count = 1;
  /// As lscpu says, by the names of CallbackIsolatedExecutor's `hardware_info`: "model_name",
  /// "cpu_family" ... What is unknown is missing.
  std::function<std::map<std::string, std::string>()> hardware;
  /// By name, "sched_rt_period_us" or "sched_rt_runtime_us"; -1 is "no limit", unset is unknown.
  std::function<std::optional<int64_t>(const std::string &)> kernel_setting;

  /// Not the machine's but the process's, for files that name processes by it: ROS_DOMAIN_ID.
  int64_t domain_id = 0;

  /// The one this program runs on, in domain 0.
  static Machine here();
};

}  // namespace rclrt_config

#endif  // RCLRT_CONFIG__MACHINE_HPP_
