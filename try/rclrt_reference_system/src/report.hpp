// Copyright 2026 The rclrt Authors
// SPDX-License-Identifier: Apache-2.0

/// What a run gives out: every sample, as JSON, and the counts that are made from them.
#pragma once

#include <cstdint>
#include <nlohmann/json.hpp>
#include <vector>

#include "executor_choice.hpp"
#include "plan.hpp"
#include "run.hpp"

namespace rclrt_reference_system
{

/// Samples between these, by release. CLOCK_MONOTONIC.
struct Window
{
  int64_t from_ns = 0;
  int64_t to_ns = 0;
};

/// Releases in the window that a timer with `period` never executed, from the nominal releases of
/// those it did: gaps between them, and what is missing at the end but for the one that may wait.
uint64_t lost_releases(const JobLog & log, rclrt_core::Duration period, const Window & window);

/// Samples in the window that the publisher sent and this subscription never saw, from the numbers of
/// those it did. `published`: how many the publisher sent, 0 if it is in another process; of these
/// the last `depth` may still wait.
uint64_t lost_samples(
  const JobLog & log, uint64_t published, uint32_t depth, const Window & window);

/// Jobs in the window that ended later than `deadline` after their release.
uint64_t missed_deadlines(const JobLog & log, rclrt_core::Duration deadline, const Window & window);

/// When the first of the data in it was received; the clock of the hot path starts here.
int64_t received_ns(const HotPathSample & sample);

/// Everything. Without samples: of the jobs and of the hot path only how many there were, and how long they took; for runs
/// of hours. `in_force` of the attributes is true if all that was asked for was found in force by the
/// callbacks themselves and nothing was refused.
nlohmann::json make_report(
  const Scenario & scenario, const Plan & plan, const ExecutorChoice & choice,
  const ReferenceSystem & system, const Run & run, double iterations_per_ms,
  bool has_samples = true);

/// How many there are, their median, the 99th of a hundred, and the longest; in milliseconds.
nlohmann::json summary_of(std::vector<int64_t> times_ns);

}  // namespace rclrt_reference_system
