// Copyright 2026 The rclrt Authors
// SPDX-License-Identifier: Apache-2.0

/// Makes the entries of /diagnostics.
#ifndef STATUSES_HPP_
#define STATUSES_HPP_

#include <cstdint>
#include <map>
#include <string>
#include <vector>

#include "chain_watch.hpp"
#include "rclrt_core/callback.hpp"
#include "rclrt_front_end/executor_report.hpp"

namespace rclrt_front_end
{

/// `peak`: the most misses in a row since the last status. So nothing that lasts for less than a second is lost, and
/// what `on_miss` allows does not change the level.
DiagnosticStatus status_of(const ChainWatch & chain, const ChainReport & report, uint64_t peak);

/// One for each callback, by its name; a warning if since the last time it has lost jobs (dropped ones, or such that
/// ended by an exception) or was over its budget. `last`: what this function was given the last time.
std::vector<DiagnosticStatus> statuses_of(
  const std::map<std::string, rclrt_core::CallbackStatistics> & callbacks,
  std::map<std::string, rclrt_core::CallbackStatistics> * last);

}  // namespace rclrt_front_end

#endif  // STATUSES_HPP_
