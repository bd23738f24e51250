// Copyright 2026 The rclrt Authors
// SPDX-License-Identifier: Apache-2.0

/// Where the configuration of an executor comes from, and what it calls a group.
#ifndef CIE_ID_HPP_
#define CIE_ID_HPP_

#include <string>

#include "rclrt_rcl/callback_group.hpp"

namespace rclrt_rcl
{
namespace detail
{

/// Those given by --params-file.
/// As CallbackIsolatedExecutor would call the group.
std::string cie_id(const CallbackGroup & group);

}  // namespace detail
}  // namespace rclrt_rcl

#endif  // CIE_ID_HPP_
