// Copyright 2026 The rclrt Authors
// SPDX-License-Identifier: Apache-2.0

/// A machine for tests, and shorthands for texts and errors.
#pragma once

#include <string>

#include "rclrt_config/configuration.hpp"

namespace rclrt_config
{

/// Its hardware is that of nobody.
inline Machine machine_of(int cpu_count)
{
  Machine machine;
  machine.cpu_count = cpu_count;
  machine.hardware = [] {
    return std::map<std::string, std::string>{{"model_name", "Abacus 3"}, {"model", "7"}};
  };
  machine.kernel_setting = [](const std::string & name) -> std::optional<int64_t> {
    return name == "sched_rt_runtime_us" ? std::optional<int64_t>(950'000) : std::nullopt;
  };
  return machine;
}

/// What is wrong with the text of a file called "f"; empty if nothing.
inline std::string error_in(const std::string & text, int cpu_count = 4)
{
  Configuration configuration;
  const auto status = configuration.parse(text, "f", machine_of(cpu_count));
  if (!status.ok()) {
    EXPECT_TRUE(configuration.empty()) << "a file with an error must leave nothing behind";
  }
  return status.message();
}

inline Configuration parsed(const std::string & text, int cpu_count = 4)
{
  Configuration configuration;
  const auto status = configuration.parse(text, "f", machine_of(cpu_count));
  EXPECT_TRUE(status.ok()) << status.message();
  return configuration;
}

/// A parameters file with these lines under rclrt.
inline std::string rclrt_file(const std::string & indented)
{
  return "/**:\n  ros__parameters:\n    rclrt:\n" + indented;
}

inline rclrt_core::CallbackOptions callback(
  const std::string & name, rclrt_core::CallbackKind kind = rclrt_core::CallbackKind::kSubscription)
{
  rclrt_core::CallbackOptions options;
  options.name = name;
  options.kind = kind;
  return options;
}

inline rclrt_core::GroupOptions group(const std::string & name)
{
  rclrt_core::GroupOptions options;
  options.name = name;
  return options;
}

}  // namespace rclrt_config
