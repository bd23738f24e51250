// Copyright 2026 The rclrt Authors
// SPDX-License-Identifier: Apache-2.0

/// The callbacks a scenario has, which triggers which, and how urgent each is under a policy.
#pragma once

#include <cstddef>
#include <cstdint>
#include <string>
#include <vector>

#include "rclrt_core/status.hpp"
#include "rclrt_reference_system/scenario.hpp"
#include "scenario_graph.hpp"

namespace rclrt_reference_system
{

enum class PolicyChoice : uint8_t
{
  kFifo,               ///< no priorities
  kRateMonotonic,      ///< sensors by period, everything else from upstream [Teper25 §VIII-C]
  kDeadlineMonotonic,  ///< rate-monotonic, but by relative deadline
  kEdf,                ///< absolute deadlines, inherited along the graph [ROSRT §V-B]
  kHotPathHighest,     ///< rate-monotonic, and the hot path above all others [ROSRT §V-B]
};

/// Rate-monotonic priorities lie between these; the hot path above. Room is left on top for the
/// threads that release callbacks.
constexpr int kLowestPriority = 10;
constexpr int kHighestPriority = 59;
constexpr int kHotPathPriority = 80;

struct PlannedCallback
{
  std::string name;                  ///< "Node" for its timer, "Node<topic" for a subscription
  std::size_t stage = 0;             ///< index into Plan::stages
  int input = -1;                    ///< index into Stage::inputs, or -1 for the timer
  int priority = 0;                  ///< 1-99; 0 if the policy has none
  rclrt_core::Duration period{0};    ///< of a timer
  rclrt_core::Duration deadline{0};  ///< relative; 0: inherited from what triggered it
  bool on_hot_path = false;
  double rate_hz = 0;  ///< at most
};

struct Plan
{
  std::vector<Stage> stages;
  std::vector<PlannedCallback> callbacks;
  /// Least work between reception at the first node of the hot path and the start of its sink, with
  /// as many processors as one likes.
  rclrt_core::Duration critical_path_work{0};
  /// All of the hot path's work between the two, that of parallel branches added up.
  rclrt_core::Duration hot_path_work{0};
  /// Deadline of the hot path: the shortest period of its roots.
  rclrt_core::Duration hot_path_deadline{0};
};

/// Errors: priorities that cannot be derived.
rclrt_core::Status make_plan(const Scenario & scenario, PolicyChoice policy, Plan * plan);

}  // namespace rclrt_reference_system
