// Copyright 2026 The rclrt Authors
// SPDX-License-Identifier: Apache-2.0

// What a node can ask about the graph.

#include <algorithm>
#include <utility>

#include "rcl/graph.h"
#include "rclrt_core/time.hpp"
#include "rclrt_rcl/error.hpp"
#include "rclrt_rcl/node.hpp"

namespace rclrt_rcl
{
namespace
{

constexpr std::chrono::milliseconds kGraphPoll(5);

NamesAndTypes to_map(rcl_names_and_types_t & from)
{
  NamesAndTypes to;
  for (std::size_t i = 0; i < from.names.size; ++i) {
    auto & types = to[from.names.data[i]];
    for (std::size_t j = 0; j < from.types[i].size; ++j) {
      types.emplace_back(from.types[i].data[j]);
    }
  }
  if (rcl_names_and_types_fini(&from) != RCL_RET_OK) {
    take_rcl_error();
  }
  return to;
}

}  // namespace

std::size_t Node::count_publishers(const std::string & topic) const
{
  std::size_t count = 0;
  throw_unless_ok(
    rcl_count_publishers(handle().get(), resolve_topic_name(topic).c_str(), &count),
    "count_publishers('" + topic + "')");
  return count;
}

std::size_t Node::count_subscribers(const std::string & topic) const
{
  std::size_t count = 0;
  throw_unless_ok(
    rcl_count_subscribers(handle().get(), resolve_topic_name(topic).c_str(), &count),
    "count_subscribers('" + topic + "')");
  return count;
}

NamesAndTypes Node::topic_names_and_types() const
{
  rcl_allocator_t allocator = rcl_get_default_allocator();
  rcl_names_and_types_t found = rcl_get_zero_initialized_names_and_types();
  throw_unless_ok(
    rcl_get_topic_names_and_types(handle().get(), &allocator, false, &found),
    "topic_names_and_types()");
  return to_map(found);
}

NamesAndTypes Node::service_names_and_types() const
{
  rcl_allocator_t allocator = rcl_get_default_allocator();
  rcl_names_and_types_t found = rcl_get_zero_initialized_names_and_types();
  throw_unless_ok(
    rcl_get_service_names_and_types(handle().get(), &allocator, &found),
    "service_names_and_types()");
  return to_map(found);
}

std::vector<std::string> Node::node_names() const
{
  rcutils_string_array_t names = rcutils_get_zero_initialized_string_array();
  rcutils_string_array_t spaces = rcutils_get_zero_initialized_string_array();
  throw_unless_ok(
    rcl_get_node_names(handle().get(), rcl_get_default_allocator(), &names, &spaces),
    "node_names()");
  std::vector<std::string> full;
  for (std::size_t i = 0; i < names.size; ++i) {
    const std::string space = spaces.data[i];
    full.push_back((space == "/" ? "" : space) + "/" + names.data[i]);
  }
  for (rcutils_string_array_t * array : {&names, &spaces}) {
    if (rcutils_string_array_fini(array) != RCUTILS_RET_OK) {
      take_rcl_error();
    }
  }
  return full;
}

bool Node::wait_for_graph(
  const std::function<bool()> & condition, std::chrono::nanoseconds timeout) const
{
  const auto now = std::chrono::steady_clock::now();
  const rclrt_core::TimePoint until =
    timeout.count() < 0 ? rclrt_core::kNever : rclrt_core::add_saturating(now, timeout);
  for (;;) {
    try {
      if (condition()) {
        return true;
      }
    } catch (const Error &) {
      if (context()->ok()) {
        throw;
      }
    }
    if (std::chrono::steady_clock::now() >= until || !context()->sleep_for(kGraphPoll)) {
      return false;
    }
  }
}

namespace
{

std::string resolve(const rcl_node_t * node, const std::string & name, bool service)
{
  const rcl_allocator_t allocator = rcl_get_default_allocator();
  char * resolved = nullptr;
  throw_unless_ok(
    rcl_node_resolve_name(node, name.c_str(), allocator, service, false, &resolved),
    std::string(service ? "service" : "topic") + " name '" + name + "'");
  std::string result = resolved;
  allocator.deallocate(resolved, allocator.state);
  return result;
}

}  // namespace

std::string Node::resolve_topic_name(const std::string & name) const
{
  return resolve(handle().get(), name, false);
}

std::string Node::resolve_service_name(const std::string & name) const
{
  return resolve(handle().get(), name, true);
}

}  // namespace rclrt_rcl
