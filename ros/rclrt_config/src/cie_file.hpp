// Copyright 2026 The rclrt Authors
// SPDX-License-Identifier: Apache-2.0

/// Reads a file of CallbackIsolatedExecutor, of any of its versions.
#ifndef CIE_FILE_HPP_
#define CIE_FILE_HPP_

#include <yaml-cpp/yaml.h>

#include <string>

#include "document.hpp"
#include "rclrt_config/machine.hpp"

namespace rclrt_config
{

/// Whether it has one of the sections of such a file.
bool is_cie_file(const YAML::Node & root);

/// Throws YamlError, also if the file was made for another machine than this one.
Document read_cie_file(const YAML::Node & root, const std::string & file, const Machine & machine);

/// The id of a group with its parts sorted and without waitables, which old versions counted.
std::string sorted_cie_id(const std::string & id);
/// The sorted id without the services and subscriptions that ROS gives to every node, which differ between
/// its distributions.
std::string purpose_of_cie_id(const std::string & id);

}  // namespace rclrt_config

#endif  // CIE_FILE_HPP_
