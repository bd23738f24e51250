// Copyright 2026 The rclrt Authors
// SPDX-License-Identifier: Apache-2.0

/// The fields that end in scheduling attributes, and which of them go together.
#ifndef ATTRIBUTE_FIELDS_HPP_
#define ATTRIBUTE_FIELDS_HPP_

#include <string>
#include <vector>

#include "document.hpp"
#include "yaml_map.hpp"

namespace rclrt_config
{

/// Their names, and those in `more`.
std::vector<std::string> attribute_field_names(const std::vector<std::string> & more = {});

/// Throws YamlError if values are impossible in themselves or beside the entry's scheduling_policy.
/// Without that, they may still turn out to be once they are put over other attributes.
AttributeFields read_attribute_fields(const YamlMap & map, int cpu_count);

}  // namespace rclrt_config

#endif  // ATTRIBUTE_FIELDS_HPP_
