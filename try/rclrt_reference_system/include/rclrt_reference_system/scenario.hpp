// Copyright 2026 The rclrt Authors
// SPDX-License-Identifier: Apache-2.0

/// A scenario: a system of nodes with simulated work, as its file describes it.
///
/// Plain values, filled and checked by load_scenario(). It says nothing about executors.
#pragma once

#include <cstddef>
#include <cstdint>
#include <string>
#include <vector>

#include "rclrt_core/attributes.hpp"
#include "rclrt_core/status.hpp"
#include "rclrt_core/time.hpp"

namespace rclrt_reference_system
{

enum class NodeKind : uint8_t
{
  kSensor,        ///< a timer publishes
  kTransform,     ///< works on each input, then publishes
  kFusion,        ///< once every input has a new sample: works, publishes, forgets them
  kCyclic,        ///< a timer works on the latest sample of each input, publishes, forgets them
  kIntersection,  ///< several transforms in one node
  kCommand,       ///< receives, at the end of the graph
  kTimer,         ///< a timer works
};

/// As in scenario files, e.g. "sensor".
const char * to_string(NodeKind kind) noexcept;

/// One of the transforms in an intersection.
struct ScenarioConnection
{
  std::string input;
  std::string output;
  rclrt_core::Duration work{0};  ///< processor time of each callback
};

struct ScenarioNode
{
  std::string name;
  NodeKind kind = NodeKind::kTimer;
  rclrt_core::Duration period{0};               ///< of its timer; 0 if it has none
  rclrt_core::Duration work{0};                 ///< processor time of each working callback
  std::vector<std::string> inputs;              ///< topics; empty for an intersection
  std::string output;                           ///< topic; empty if none, or for an intersection
  std::vector<ScenarioConnection> connections;  ///< intersection only
  uint32_t qos_depth = 1;                       ///< keep-last depth, both directions
  int priority = 0;                             ///< 1-99; 0: derived
  rclrt_core::CpuSet cpu_affinity;              ///< empty: any
  rclrt_core::Duration deadline{0};             ///< relative; 0: the period, or inherited
};

/// The path whose latency is measured. Nodes by name.
struct HotPath
{
  std::vector<std::string> roots;    ///< empty: the scenario has no hot path
  std::vector<std::string> through;  ///< in the order of the data
  std::string sink;
};

struct Scenario
{
  std::string name;
  std::string description;
  std::vector<ScenarioNode> nodes;
  HotPath hot_path;
};

/// Reads scenario files. What it returns can be run: every rule of the format is checked here, and an
/// error reads "FILE:LINE:COLUMN: what is wrong. What would be right".

/// The only type of topic there is.
constexpr char kMessageType[] = "rclrt_reference_interfaces/msg/Message4kb";
/// A message carries the origin of its data for so many sources.
constexpr std::size_t kMaxHotPathRoots = 8;

/// Read `path` for a machine with `cpu_count` CPUs, numbered from 0. On error `scenario` is unchanged.
rclrt_core::Status load_scenario(const std::string & path, int cpu_count, Scenario * scenario);

/// Read a text; errors call it `source`.
rclrt_core::Status parse_scenario(
  const std::string & text, const std::string & source, int cpu_count, Scenario * scenario);

}  // namespace rclrt_reference_system
