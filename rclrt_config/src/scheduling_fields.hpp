// Copyright 2026 The rclrt Authors
// SPDX-License-Identifier: Apache-2.0

/// The fields that end in scheduling attributes, and which of them go together.
#ifndef SCHEDULING_FIELDS_HPP_
#define SCHEDULING_FIELDS_HPP_

#include <string>
#include <vector>

#include "document.hpp"
#include "yaml_map.hpp"

namespace rclrt_config
{

/// Their names, and those in `more`.
std::vector<std::string> scheduling_field_names(const std::vector<std::string> & more = {});

/// Throws YamlError if values are impossible in themselves or beside the entry's scheduling_policy.
/// Without that, they may still turn out to be once they are put over other attributes.
SchedulingFields read_scheduling_fields(const YamlMap & map, int cpu_count);

}  // namespace rclrt_config

#endif  // SCHEDULING_FIELDS_HPP_
