// Copyright 2026 The rclrt Authors
// SPDX-License-Identifier: Apache-2.0

/// The entries of all files, in their order, and the names they were held against.
#pragma once

#include <yaml-cpp/yaml.h>

#include <optional>
#include <set>
#include <string>
#include <string_view>
#include <vector>

#include "document.hpp"
#include "rclrt_config/configuration.hpp"
#include "rclrt_core/status.hpp"

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
  std::optional<rclrt_core::Attributes> middleware_thread;
  std::optional<rclrt_core::PriorityKey> priority_key;
  std::optional<DeadlineBackend> deadline_scheduler;

  // Given to apply() so far, if there are entries:
  std::set<std::string> callbacks;
  std::set<std::string> groups;
  std::set<std::string> cie_ids;
  std::set<std::string> nodes;
};

/// Reads the `rclrt` entries of a ROS parameters file and passes over everything else in it. Throws YamlError.
Document read_parameters_file(const YAML::Node & root, const std::string & file, int cpu_count);

// Reads a file of CallbackIsolatedExecutor, of any of its versions.

/// Whether it has one of the sections of such a file.
bool is_cie_file(const YAML::Node & root);

/// Throws YamlError, also if the file was made for another machine than this one.
Document read_cie_file(const YAML::Node & root, const std::string & file, const Machine & machine);

/// The id of a group with its parts sorted and without waitables, which old versions counted.
std::string sorted_cie_id(const std::string & id);
/// The sorted id without the services and subscriptions that ROS gives to every node, which differ between
/// its distributions.
std::string purpose_of_cie_id(const std::string & id);

// The header that ./rclrt plan writes before a parameters file (rclrt_analysis/plan/parameters.py): comments that say
// which content was proved.

/// SHA-256 (FIPS 180-4) as 64 hexadecimal digits, to tell whether a plan was edited. Not for secrets.
std::string sha256(std::string_view text);

/// Why what `text` says of chains is not proved: it is a plan that was edited, or one of a newer program. `name` stands
/// for the file. Nothing: it is no plan, or is as it was made.
std::optional<rclrt_core::Finding> problem_with_plan(
  const std::string & text, const std::string & name);

/// How many CPUs the machine had that this plan was made for.
std::optional<int> cpus_of_plan(const std::string & text);

}  // namespace rclrt_config
