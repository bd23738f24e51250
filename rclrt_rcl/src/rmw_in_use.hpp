// Copyright 2026 The rclrt Authors
// SPDX-License-Identifier: Apache-2.0

/// What this process's RMW implementation is like.
#ifndef RMW_IN_USE_HPP_
#define RMW_IN_USE_HPP_

#include "rclrt_config/middleware.hpp"

namespace rclrt_rcl
{
namespace detail
{

/// At configuration time: it allocates.
rclrt_config::Middleware rmw_in_use();

}  // namespace detail
}  // namespace rclrt_rcl

#endif  // RMW_IN_USE_HPP_
