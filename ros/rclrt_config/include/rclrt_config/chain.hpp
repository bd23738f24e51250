// Copyright 2026 The rclrt Authors
// SPDX-License-Identifier: Apache-2.0

/// What a file says must hold while executors run: chains with their deadlines, and what their proof takes for granted
/// of callbacks. The words are those of a model (docs/concepts/chains.md).
#pragma once

#include <cstdint>
#include <optional>
#include <string>
#include <vector>

#include "rclrt_core/attributes.hpp"
#include "rclrt_core/budget.hpp"
#include "rclrt_core/time.hpp"

namespace rclrt_config
{

enum class ChainSemantics : uint8_t
{
  kReaction,
  kAge,
  kLatency,
};
const char * to_string(ChainSemantics semantics);

struct ChainLink
{
  /// The name of a callback; may have wildcards. Then all callbacks that match are this link.
  std::string pattern;
  /// It uses the newest data of the link before, whatever has released it. So does every timer.
  bool reads = false;
  /// It waits for several inputs (a join). 1: each of its jobs had all; more: of so many inputs, whose callbacks all
  /// match, jobs may only keep their message; 0: it is no join.
  uint32_t inputs = 0;
  std::optional<bool> timer = std::nullopt;  ///< unset: as the name says

  bool matches(const std::string & callback) const;
  bool is_timer() const;
};

/// Durations: unset if the file does not say.
struct Chain
{
  std::string name;
  std::string place;  ///< "file:line:column"
  std::vector<ChainLink> links;
  ChainSemantics semantics = ChainSemantics::kReaction;
  /// Only data that are the last to come at every join count. For kLatency only.
  bool last_only = false;
  std::optional<rclrt_core::Duration> deadline;
  std::optional<rclrt_core::Duration> bound;  ///< that was proved
  std::optional<rclrt_core::Duration> silent_after;
  /// Misses in a row that are a warning, an error; unset: none are. If both are unset, one is a warning.
  std::optional<uint32_t> warn_after;
  std::optional<uint32_t> error_after;
  std::optional<rclrt_core::Budget> budget;  ///< that its callbacks of an executor share
};

/// What a proof takes for granted of a callback.
struct Assumption
{
  std::optional<rclrt_core::Duration> wcet;        ///< no job executes for longer
  std::optional<rclrt_core::Duration> min_period;  ///< no two releases are closer
  std::optional<rclrt_core::Duration> bound;  ///< no job takes longer from its release to its end
  rclrt_core::Attributes attributes;          ///< are in force
};

}  // namespace rclrt_config
