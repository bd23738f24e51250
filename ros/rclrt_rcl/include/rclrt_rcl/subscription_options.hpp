// Copyright 2026 The rclrt Authors
// SPDX-License-Identifier: Apache-2.0

/// Options of a subscription.
#ifndef RCLRT_RCL__SUBSCRIPTION_OPTIONS_HPP_
#define RCLRT_RCL__SUBSCRIPTION_OPTIONS_HPP_

#include <memory>
#include <optional>

#include "rclrt_rcl/callback_group.hpp"
#include "rclrt_rcl/qos_events.hpp"
#include "rclrt_rcl/scheduling.hpp"

namespace rclrt_rcl
{

struct SubscriptionOptions
{
  /// Null: the node's default group.
  std::shared_ptr<CallbackGroup> group;
  Scheduling scheduling;
  SubscriptionEvents events;
  /// Take messages of publishers in the same context by pointer. Unset: as the node says.
  /// The middleware delivers such a message too, but the callback gets it once. Exception: it waits
  /// in the middleware while more than 64 publishers of the topic go.
  std::optional<bool> use_intra_process;
  /// Do not receive messages that publishers of the same context send through the middleware.
  bool ignore_local_publications = false;
};

}  // namespace rclrt_rcl

#endif  // RCLRT_RCL__SUBSCRIPTION_OPTIONS_HPP_
