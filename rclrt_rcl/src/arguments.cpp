// Copyright 2026 The rclrt Authors
// SPDX-License-Identifier: Apache-2.0

#include "arguments.hpp"

#include "rcl/allocator.h"
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
