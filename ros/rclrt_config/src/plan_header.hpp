// Copyright 2026 The rclrt Authors
// SPDX-License-Identifier: Apache-2.0

/// The header that ./rclrt plan writes before a parameters file (rclrt_analysis/plan/parameters.py): comments that say
/// which content was proved.
#ifndef PLAN_HEADER_HPP_
#define PLAN_HEADER_HPP_

#include <optional>
#include <string>
#include <string_view>

#include "rclrt_core/status.hpp"

namespace rclrt_config
{

/// SHA-256 (FIPS 180-4), to tell whether a plan was edited. Not for secrets.

/// 64 hexadecimal digits.
std::string sha256(std::string_view text);

/// Why what `text` says of chains is not proved: it is a plan that was edited, or one of a newer program. `name` stands
/// for the file. Nothing: it is no plan, or is as it was made.
std::optional<rclrt_core::Finding> problem_with_plan(
  const std::string & text, const std::string & name);

/// How many CPUs the machine had that this plan was made for.
std::optional<int> cpus_of_plan(const std::string & text);

}  // namespace rclrt_config

#endif  // PLAN_HEADER_HPP_
