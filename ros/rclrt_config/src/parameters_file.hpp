// Copyright 2026 The rclrt Authors
// SPDX-License-Identifier: Apache-2.0

/// Reads the `rclrt` entries of a ROS parameters file and passes over everything else in it.
#ifndef PARAMETERS_FILE_HPP_
#define PARAMETERS_FILE_HPP_

#include <yaml-cpp/yaml.h>

#include <string>

#include "document.hpp"

namespace rclrt_config
{

/// Throws YamlError.
Document read_parameters_file(const YAML::Node & root, const std::string & file, int cpu_count);

}  // namespace rclrt_config

#endif  // PARAMETERS_FILE_HPP_
