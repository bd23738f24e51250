// Copyright 2026 The rclrt Authors
// SPDX-License-Identifier: Apache-2.0

/// Readers of the fields that several entries of a parameters file have: attributes, budgets, chains, what a proof
/// takes for granted.
#pragma once

#include <optional>
#include <string>
#include <vector>

#include "document.hpp"
#include "rclrt_config/chain.hpp"
#include "rclrt_core/budget.hpp"
#include "yaml_map.hpp"

namespace rclrt_config
{

/// The names of the fields that end in rclrt_core::Attributes, and those in `more`.
std::vector<std::string> attribute_field_names(const std::vector<std::string> & more = {});

/// Throws YamlError if values are impossible in themselves or beside the entry's scheduling_policy.
/// Without that, they may still turn out to be once they are put over other attributes.
Changes<rclrt_core::Scheduling> read_attributes(const YamlMap & map, int cpu_count);

/// A policy starts afresh: what went with the one before is forgotten. The affinity stays.
std::function<void(rclrt_core::Scheduling *)> start_afresh(rclrt_core::SchedulingPolicy kind);

/// Another field of rclrt_core::Attributes.
template <typename Member, typename Value>
std::function<void(rclrt_core::Scheduling *)> attribute(
  Member rclrt_core::Attributes::* member, const std::optional<Value> & value)
{
  return change(&rclrt_core::Scheduling::attributes, change(member, value));
}

/// What the changes make of nothing.
rclrt_core::Attributes attributes_of(const Changes<rclrt_core::Scheduling> & changes);

/// Throws YamlError at `field` if that cannot be.
void check_attributes(
  const Changes<rclrt_core::Scheduling> & changes, const YamlMap & map, const std::string & field,
  int cpu_count);

/// The field `budget` of callbacks, groups and chains: empty if it is not there.
std::optional<rclrt_core::Budget> read_budget(const YamlMap & of);

/// What the proof of a plan takes for granted of a callback.
constexpr const char * kAssumptionFields[] = {"wcet", "min_period", "response_bound"};
Changes<Assumption> read_assumption_fields(const YamlMap & map);

/// The chains of a map by their names; `file` is for their places. Throws YamlError.
std::vector<Chain> read_chains(const YAML::Node & map, const std::string & file);

}  // namespace rclrt_config
