// Copyright 2026 The rclrt Authors
// SPDX-License-Identifier: Apache-2.0

/// The graph of a scenario, which node triggers which: one stage for each way through a node.
///
/// A node is one stage, an intersection one for each connection. The loader checks files with it, and
/// priorities are inherited along it.
#pragma once

#include <cstddef>
#include <string>
#include <vector>

#include "rclrt_reference_system/scenario.hpp"

namespace rclrt_reference_system
{

/// One way through a node: from `inputs` (or its timer) to `output`.
struct Stage
{
  std::size_t node = 0;             ///< index into Scenario::nodes
  std::size_t connection = 0;       ///< of an intersection; else 0
  std::vector<std::string> inputs;  ///< topics
  std::string output;               ///< topic, or empty
  /// Indices of the stages that publish each of `inputs`; npos where nobody does.
  std::vector<std::size_t> upstream;

  static constexpr std::size_t npos = static_cast<std::size_t>(-1);
};

/// All stages, in the order of the file. When two publish a topic, the first one counts.
std::vector<Stage> make_stages(const Scenario & scenario);

/// The nodes of a cycle, first one repeated at the end: "A", "B", "A". Empty if there is none.
std::vector<std::string> find_cycle(const Scenario & scenario, const std::vector<Stage> & stages);

}  // namespace rclrt_reference_system
