// Copyright 2026 The rclrt Authors
// SPDX-License-Identifier: Apache-2.0

#include "arguments.hpp"

#include "rcl/allocator.h"
#include "rclrt_config/configuration.hpp"
#include "rclrt_rcl/error.hpp"

namespace rclrt_rcl
{
namespace detail
{
namespace
{

using GetIndices = rcl_ret_t (*)(const rcl_arguments_t *, rcl_allocator_t, int **);

std::vector<std::string> pick(
  const rcl_arguments_t & arguments, const char * const * argv, int count, GetIndices get)
{
  std::vector<std::string> picked;
  if (count <= 0) {
    return picked;
  }
  const rcl_allocator_t allocator = rcl_get_default_allocator();
  int * indices = nullptr;
  throw_unless_ok(get(&arguments, allocator, &indices), "reading arguments");
  for (int i = 0; i < count; ++i) {
    picked.emplace_back(argv[indices[i]]);
  }
  allocator.deallocate(indices, allocator.state);
  return picked;
}

}  // namespace

std::vector<std::string> unparsed_arguments(
  const rcl_arguments_t & arguments, const char * const * argv)
{
  return pick(
    arguments, argv, rcl_arguments_get_count_unparsed(&arguments), &rcl_arguments_get_unparsed);
}

void throw_unless_parsed(
  rcl_ret_t result, const std::string & doing, int argc, const char * const * argv)
{
  if (result == RCL_RET_OK) {
    return;
  }
  std::string text = doing + ": " + take_rcl_error();
  bool is_for_ros = false;
  for (int i = 0; i < argc; ++i) {
    const std::string argument = argv[i];
    if (is_for_ros && argument == "--params-file" && i + 1 < argc) {
      const auto read = rclrt_config::Configuration().load(argv[++i]);
      text += read.ok() ? "" : ". " + read.message();
    } else {
      is_for_ros = argument == "--ros-args" || (is_for_ros && argument != "--");
    }
  }
  throw Error(text, result);
}

void reject_unknown_ros_arguments(const rcl_arguments_t & arguments, const char * const * argv)
{
  std::string names;
  for (const std::string & name : pick(
         arguments, argv, rcl_arguments_get_count_unparsed_ros(&arguments),
         &rcl_arguments_get_unparsed_ros)) {
    names += " '" + name + "'";
  }
  if (!names.empty()) {
    throw Error(
      "unknown ROS arguments" + names + " after --ros-args; end them with -- if they are your own");
  }
}

}  // namespace detail
}  // namespace rclrt_rcl
