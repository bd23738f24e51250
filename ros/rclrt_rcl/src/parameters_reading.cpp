// Copyright 2026 The rclrt Authors
// SPDX-License-Identifier: Apache-2.0

// What can be asked of parameters.

#include <algorithm>
#include <set>
#include <utility>

#include "rclrt_rcl/parameters.hpp"

namespace rclrt_rcl
{

using Reason = ParameterError::Reason;

bool Parameters::has(const std::string & name) const
{
  std::lock_guard<rclrt_core::Mutex> lock(*values_mutex_);
  return entries_.count(name) > 0;
}

std::optional<ParameterValue> Parameters::find(const std::string & name) const
{
  std::lock_guard<rclrt_core::Mutex> lock(*values_mutex_);
  const auto found = entries_.find(name);
  return found == entries_.end() ? std::nullopt : std::make_optional(found->second.value);
}

void Parameters::require_declared(const std::string & name) const
{
  if (!allow_undeclared_ && !has(name)) {
    throw ParameterError(
      Reason::kUndeclared,
      about(name) + " is not declared; declare_parameter() must come before it is used");
  }
}

Parameter Parameters::get(const std::string & name) const
{
  auto value = find(name);
  if (!value) {
    require_declared(name);
    return Parameter(name);
  }
  if (!value->is_set() && !allow_undeclared_) {
    throw ParameterError(
      Reason::kNoValue,
      about(name) +
        " has no value: it was declared without a default; set it on the command line "
        "or in a parameter file");
  }
  return Parameter(name, std::move(*value));
}

std::vector<Parameter> Parameters::get(const std::vector<std::string> & names) const
{
  std::vector<Parameter> parameters;
  for (const auto & name : names) {
    parameters.push_back(get(name));
  }
  return parameters;
}

ParameterMap Parameters::get_by_prefix(const std::string & prefix) const
{
  const std::string start = prefix.empty() ? "" : prefix + ".";
  ParameterMap found;
  std::lock_guard<rclrt_core::Mutex> lock(*values_mutex_);
  for (const auto & [name, entry] : entries_) {
    if (name.compare(0, start.size(), start) == 0) {
      found[name.substr(start.size())] = entry.value;
    }
  }
  return found;
}

std::vector<ParameterDescriptor> Parameters::describe(const std::vector<std::string> & names) const
{
  std::vector<ParameterDescriptor> descriptors;
  for (const auto & name : names) {
    require_declared(name);
    ParameterDescriptor undeclared;
    undeclared.name = name;
    std::lock_guard<rclrt_core::Mutex> lock(*values_mutex_);
    const auto found = entries_.find(name);
    descriptors.push_back(found == entries_.end() ? undeclared : found->second.descriptor);
  }
  return descriptors;
}

rcl_interfaces::msg::ListParametersResult Parameters::list(
  const std::vector<std::string> & prefixes, uint64_t depth) const
{
  const auto shallow = [depth](const std::string & rest) {
    return depth == 0 || static_cast<uint64_t>(std::count(rest.begin(), rest.end(), '.')) < depth;
  };
  const auto listed = [&](const std::string & name) {
    return prefixes.empty()
             ? shallow(name)
             : std::any_of(prefixes.begin(), prefixes.end(), [&](const std::string & prefix) {
                 const std::string start = prefix + ".";
                 return name == prefix || (name.compare(0, start.size(), start) == 0 &&
                                           shallow(name.substr(start.size())));
               });
  };
  rcl_interfaces::msg::ListParametersResult result;
  std::set<std::string> found_prefixes;
  std::lock_guard<rclrt_core::Mutex> lock(*values_mutex_);
  for (const auto & entry : entries_) {
    const std::string & name = entry.first;
    if (!listed(name)) {
      continue;
    }
    result.names.push_back(name);
    if (const auto dot = name.rfind('.'); dot != std::string::npos) {
      found_prefixes.insert(name.substr(0, dot));
    }
  }
  result.prefixes.assign(found_prefixes.begin(), found_prefixes.end());
  return result;
}

}  // namespace rclrt_rcl
