// Copyright 2026 The rclrt Authors
// SPDX-License-Identifier: Apache-2.0

/// Command lines as rcl has understood them.
#pragma once

#include <string>
#include <vector>

#include "rcl/arguments.h"
#include "rcl/context.h"
#include "rcl/node.h"
#include "rclrt_rcl/parameters.hpp"

namespace rclrt_rcl::detail
{

/// Arguments of `argv` that are not for ROS.
std::vector<std::string> unparsed_arguments(
  const rcl_arguments_t & arguments, const char * const * argv);

/// Error if rcl did not like its arguments. It knows at best the line "near" which a file given by
/// --params-file is wrong: the error has "file:line:column" from our own reader.
void throw_unless_parsed(
  rcl_ret_t result, const std::string & doing, int argc, const char * const * argv);

/// Error that names what follows --ros-args and is not known.
void reject_unknown_ros_arguments(const rcl_arguments_t & arguments, const char * const * argv);

/// Parameters on the command line and in its files.

/// First what the context's arguments give, then what the node's own do, in the order in which rcl
/// lists the node names they are for; the last one counts.
Parameters given_parameters(const rcl_context_t & context, const rcl_node_t & node);

}  // namespace rclrt_rcl::detail
