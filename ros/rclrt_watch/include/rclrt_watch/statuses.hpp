// Copyright 2026 The rclrt Authors
// SPDX-License-Identifier: Apache-2.0

/// What was seen of a chain, and how /diagnostics says it, without ROS.
#pragma once

#include <cstdint>
#include <map>
#include <optional>
#include <string>
#include <utility>
#include <vector>

#include "rclrt_core/callback.hpp"
#include "rclrt_core/time.hpp"

namespace rclrt_watch
{

class ChainWatch;

/// What an executor has seen of a chain that a parameters file declares. What an instance is, and how long it takes:
/// docs/concepts/chains.md.
enum class ChainState : uint8_t
{
  kUnseen,  ///< no instance yet
  kOk,
  kWarn,    ///< so many misses in a row as `on_miss` says
  kError,   ///< likewise
  kSilent,  ///< nothing new has come out for `silent_after`
  kNotLast,  ///< no instance: each time another input of a join came last, and `join: last` leaves that out
};
/// "UNSEEN", "OK", "WARN", "ERROR", "SILENT", "NOT LAST".
const char * to_string(ChainState state);

struct ChainReport
{
  std::string name;
  ChainState state = ChainState::kUnseen;
  std::optional<rclrt_core::Duration> deadline;
  std::optional<rclrt_core::Duration> bound;  ///< that the file gives
  std::optional<rclrt_core::Duration> last;
  std::optional<rclrt_core::Duration> worst;
  std::optional<rclrt_core::Duration> p99;  ///< of the newest 10,000; unset with fewer than 100
  uint64_t instances = 0;
  /// Outputs that used its new data, which were not the last to come: `join: last` counts none of them.
  uint64_t left_out = 0;
  uint64_t misses = 0;  ///< also silences
  uint64_t misses_in_a_row = 0;
  uint64_t most_misses_in_a_row = 0;
  uint64_t silences = 0;
  /// Data that came out only after newer ones, or never: a queue has dropped them, or a join or a timer took newer ones.
  uint64_t overtaken = 0;
  uint64_t not_run = 0;  ///< jobs of its callbacks that were dropped or skipped
  /// Records that nobody read in time; instances that they belong to were not seen.
  uint64_t lost_records = 0;
  /// It has a bound, which is not above the deadline, and nothing that this rests on was seen to be wrong.
  bool proved = false;
};

/// What an executor says of itself on /diagnostics, without ROS: a diagnostic_msgs/DiagnosticStatus for each chain, for
/// each callback, and one for the proof of the chains. `./rclrt watch --diagnostics` says the same of chains, in the
/// same words.

/// As diagnostic_msgs numbers them.
enum class DiagnosticLevel : uint8_t
{
  kOk = 0,
  kWarn = 1,
  kError = 2,
  kStale = 3,
};

struct DiagnosticStatus
{
  std::string name;
  DiagnosticLevel level = DiagnosticLevel::kOk;
  std::string message;
  std::string hardware_id;  ///< the program
  std::vector<std::pair<std::string, std::string>> values;
};

/// An entry of /diagnostics.
/// `peak`: the most misses in a row since the last status. So nothing that lasts for less than a second is lost, and
/// what `on_miss` allows does not change the level.
DiagnosticStatus status_of(const ChainWatch & chain, const ChainReport & report, uint64_t peak);

/// One for each callback, by its name; a warning if since the last time it has lost jobs (dropped ones, or such that
/// ended by an exception) or was over its budget. `last`: what this function was given the last time.
std::vector<DiagnosticStatus> statuses_of(
  const std::map<std::string, rclrt_core::CallbackStatistics> & callbacks,
  std::map<std::string, rclrt_core::CallbackStatistics> * last);

}  // namespace rclrt_watch
