// Copyright 2026 The rclrt Authors
// SPDX-License-Identifier: Apache-2.0

/// Options of a service.
#ifndef RCLRT_RCL__SERVICE_OPTIONS_HPP_
#define RCLRT_RCL__SERVICE_OPTIONS_HPP_

#include <memory>

#include "rclrt_rcl/callback_group.hpp"
#include "rclrt_rcl/scheduling.hpp"

namespace rclrt_rcl
{

struct ServiceOptions
{
  /// Null: the node's default group.
  std::shared_ptr<CallbackGroup> group;
  Scheduling scheduling;
};

}  // namespace rclrt_rcl

#endif  // RCLRT_RCL__SERVICE_OPTIONS_HPP_
