// Copyright 2026 The rclrt Authors
// SPDX-License-Identifier: Apache-2.0

/// Options of a publisher.
#ifndef RCLRT_RCL__PUBLISHER_OPTIONS_HPP_
#define RCLRT_RCL__PUBLISHER_OPTIONS_HPP_

#include <memory>
#include <optional>

#include "rclrt_rcl/callback_group.hpp"
#include "rclrt_rcl/qos_events.hpp"

namespace rclrt_rcl
{

struct PublisherOptions
{
  /// For the callbacks of `events`. Null: the node's default group.
  std::shared_ptr<CallbackGroup> group;
  PublisherEvents events;
  /// Hand messages to subscriptions in the same context by pointer. Unset: as the node says.
  /// Volatile durability only; others go through the middleware.
  std::optional<bool> use_intra_process;
};

}  // namespace rclrt_rcl

#endif  // RCLRT_RCL__PUBLISHER_OPTIONS_HPP_
