// Copyright 2026 The rclrt Authors
// SPDX-License-Identifier: Apache-2.0

/// What an executor has seen of a chain that a configuration file declares. What an instance is, and how long it takes:
/// docs/concepts/chains.md.
#ifndef RCLRT_FRONT_END__CHAIN_REPORT_HPP_
#define RCLRT_FRONT_END__CHAIN_REPORT_HPP_

#include <cstdint>
#include <optional>
#include <string>

#include "rclrt_core/time.hpp"

namespace rclrt_front_end
{

enum class ChainState : uint8_t
{
  kUnseen,  ///< no instance yet
  kOk,
  kWarn,    ///< so many misses in a row as `on_miss` says
  kError,   ///< likewise
  kSilent,  ///< nothing new has come out for `silent_after_ms`
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

}  // namespace rclrt_front_end

#endif  // RCLRT_FRONT_END__CHAIN_REPORT_HPP_
