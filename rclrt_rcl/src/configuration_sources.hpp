// Copyright 2026 The rclrt Authors
// SPDX-License-Identifier: Apache-2.0

/// Where the configuration of an executor comes from, and what it calls a group.
#ifndef CONFIGURATION_SOURCES_HPP_
#define CONFIGURATION_SOURCES_HPP_

#include <string>
#include <vector>

#include "rclrt_rcl/callback_group.hpp"
#include "rclrt_rcl/context.hpp"

namespace rclrt_rcl
{
namespace detail
{

/// Those given by --params-file.
std::vector<std::string> parameter_files(Context & context);

/// As CallbackIsolatedExecutor would call the group.
std::string cie_id(const CallbackGroup & group);

}  // namespace detail
}  // namespace rclrt_rcl

#endif  // CONFIGURATION_SOURCES_HPP_
