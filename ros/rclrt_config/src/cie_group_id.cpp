// Copyright 2026 The rclrt Authors
// SPDX-License-Identifier: Apache-2.0

#include "rclrt_config/cie_group_id.hpp"

#include <algorithm>
#include <iterator>

#include "cie_file.hpp"

namespace rclrt_config
{

using rclrt_core::CallbackKind;

namespace
{

/// The node's name, then the parts.
std::vector<std::string> split(const std::string & id)
{
  std::vector<std::string> parts;
  for (std::size_t start = 0; start <= id.size();) {
    const std::size_t end = std::min(id.find('@', start), id.size());
    parts.push_back(id.substr(start, end - start));
    start = end + 1;
  }
  return parts;
}

/// Without the parts for which `is_dropped(part, node)`.
template <typename Predicate>
std::string sorted_without(const std::string & id, Predicate is_dropped)
{
  std::vector<std::string> parts = split(id);
  const std::string node = parts.front();
  parts.erase(parts.begin());
  parts.erase(
    std::remove_if(
      parts.begin(), parts.end(),
      [&](const std::string & part) {
        return part.empty() || part == "Waitable" || is_dropped(part, node);
      }),
    parts.end());
  std::sort(parts.begin(), parts.end());
  std::string text = node;
  for (const std::string & part : parts) {
    text += "@" + part;
  }
  return text;
}

bool is_of_every_node(const std::string & part, const std::string & node)
{
  static const char * const services[] = {
    "describe_parameters", "get_parameter_types",  "get_parameters",
    "list_parameters",     "set_parameters",       "set_parameters_atomically",
    "get_logger_levels",   "get_type_description", "set_logger_levels",
  };
  return part == "Subscription(/parameter_events)" ||
         std::any_of(std::begin(services), std::end(services), [&](const char * service) {
           return part == "Service(" + node + "/" + service + ")";
         });
}

}  // namespace

std::string sorted_cie_id(const std::string & id)
{
  return sorted_without(id, [](const auto &, const auto &) { return false; });
}

std::string purpose_of_cie_id(const std::string & id)
{
  return sorted_without(id, is_of_every_node);
}

std::string cie_group_id(const std::string & node, const std::vector<CieMember> & members)
{
  std::string id = node;
  for (const CieMember & member : members) {
    switch (member.kind) {
      case CallbackKind::kTimer:
        id += "@Timer(" + std::to_string(member.period.count()) + ")";
        break;
      case CallbackKind::kSubscription:
        id += "@Subscription(" + member.resolved_name + ")";
        break;
      case CallbackKind::kService:
        id += "@Service(" + member.resolved_name + ")";
        break;
      case CallbackKind::kClient:
        id += "@Client(" + member.resolved_name + ")";
        break;
      case CallbackKind::kWaitable:
        break;
    }
  }
  return sorted_cie_id(id);
}

}  // namespace rclrt_config
