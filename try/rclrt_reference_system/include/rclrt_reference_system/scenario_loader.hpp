// Copyright 2026 The rclrt Authors
// SPDX-License-Identifier: Apache-2.0

/// Reads scenario files. What it returns can be run: every rule of the format is checked here, and an
/// error reads "FILE:LINE:COLUMN: what is wrong. What would be right".
#ifndef RCLRT_REFERENCE_SYSTEM__SCENARIO_LOADER_HPP_
#define RCLRT_REFERENCE_SYSTEM__SCENARIO_LOADER_HPP_

#include <string>

#include "rclrt_core/status.hpp"
#include "rclrt_reference_system/scenario.hpp"

namespace rclrt_reference_system
{

/// The only type of topic there is.
constexpr char kMessageType[] = "rclrt_reference_interfaces/msg/Message4kb";
/// A message carries the origin of its data for so many sources.
constexpr std::size_t kMaxHotPathRoots = 8;

/// Read `path` for a machine with `cpu_count` CPUs, numbered from 0. On error `scenario` is unchanged.
rclrt_core::Status load_scenario(const std::string & path, int cpu_count, Scenario * scenario);

/// The same for a text; errors call it `source`.
rclrt_core::Status parse_scenario(
  const std::string & text, const std::string & source, int cpu_count, Scenario * scenario);

}  // namespace rclrt_reference_system

#endif  // RCLRT_REFERENCE_SYSTEM__SCENARIO_LOADER_HPP_
