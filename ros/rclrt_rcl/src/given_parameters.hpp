// Copyright 2026 The rclrt Authors
// SPDX-License-Identifier: Apache-2.0

/// Parameters on the command line and in its files.
#ifndef GIVEN_PARAMETERS_HPP_
#define GIVEN_PARAMETERS_HPP_

#include <string>

#include "rcl/context.h"
#include "rcl/node.h"
#include "rclrt_rcl/parameters.hpp"

namespace rclrt_rcl
{
namespace detail
{

/// Those of the context's arguments, then those of the node's own, each in the order in which rcl
/// lists the node names they are for; the last one counts.
Parameters given_parameters(const rcl_context_t & context, const rcl_node_t & node);

/// Whether `pattern` is for the node. In a pattern, `*` stands for one part of a name and `**` for
/// any number of parts, none included; a slash at its beginning may be left out.
bool names_node(const std::string & pattern, const std::string & fully_qualified_name);

}  // namespace detail
}  // namespace rclrt_rcl

#endif  // GIVEN_PARAMETERS_HPP_
