// Copyright 2026 The rclrt Authors
// SPDX-License-Identifier: Apache-2.0

/// Reads `chains`, and the fields of callbacks that a proof takes for granted.
#ifndef CHAIN_FIELDS_HPP_
#define CHAIN_FIELDS_HPP_

#include <string>
#include <vector>

#include "document.hpp"
#include "rclrt_config/chain.hpp"
#include "yaml_map.hpp"

namespace rclrt_config
{

/// What the proof of a plan takes for granted of a callback.
constexpr const char * kAssumptionFields[] = {"wcet_ms", "min_period_ms", "bound_ms"};
AssumedTimes read_assumption_fields(const YamlMap & map);

/// The chains of a map by their names; `file` is for their places. Throws YamlError.
std::vector<Chain> read_chains(const YAML::Node & map, const std::string & file);

}  // namespace rclrt_config

#endif  // CHAIN_FIELDS_HPP_
