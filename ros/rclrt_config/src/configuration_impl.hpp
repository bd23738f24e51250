// Copyright 2026 The rclrt Authors
// SPDX-License-Identifier: Apache-2.0

/// The entries of all files, in their order, and the names they were held against.
#ifndef CONFIGURATION_IMPL_HPP_
#define CONFIGURATION_IMPL_HPP_

#include <yaml-cpp/yaml.h>

#include <optional>
#include <set>
#include <string>
#include <vector>

#include "document.hpp"
#include "rclrt_config/configuration.hpp"

namespace rclrt_config
{

struct Configuration::Impl
{
  std::vector<Entry> entries;      ///< in the order in which they are applied
  std::vector<std::string> order;  ///< Entry::node of all files, as they were first seen
  std::vector<ExecutorEntry> executors;
  std::vector<TraceEntry> traces;
  std::vector<Chain> chains;
  std::optional<bool> diagnostics;
  bool proof_is_void = false;
  std::vector<rclrt_core::Finding> notes;
  std::vector<NamedThread> cie_threads;
  int cpu_count = 1;
  std::optional<rclrt_core::Attributes> middleware_thread;
  std::optional<rclrt_core::PriorityKey> priority_key;
  std::optional<DeadlineBackend> deadline_scheduler;

  // Given to apply() so far, if there are entries:
  std::set<std::string> callbacks;
  std::set<std::string> groups;
  std::set<std::string> cie_ids;
  std::set<std::string> nodes;
};

/// Reads the `rclrt` entries of a ROS parameters file and passes over everything else in it.

/// Throws YamlError.
Document read_parameters_file(const YAML::Node & root, const std::string & file, int cpu_count);

}  // namespace rclrt_config

#endif  // CONFIGURATION_IMPL_HPP_
