// Copyright 2026 The rclrt Authors
// SPDX-License-Identifier: Apache-2.0

/// Options of a client.
#ifndef RCLRT_RCL__CLIENT_OPTIONS_HPP_
#define RCLRT_RCL__CLIENT_OPTIONS_HPP_

#include <cstddef>
#include <memory>

#include "rclrt_rcl/callback_group.hpp"
#include "rclrt_rcl/scheduling.hpp"

namespace rclrt_rcl
{

struct ClientOptions
{
  /// For the callbacks given with requests, and for completing futures. Null: the node's default
  /// group.
  std::shared_ptr<CallbackGroup> group;
  Scheduling scheduling;
  /// How many requests may wait for their answers; one more is an error. At least 1.
  std::size_t max_pending_requests = 1000;
};

}  // namespace rclrt_rcl

#endif  // RCLRT_RCL__CLIENT_OPTIONS_HPP_
