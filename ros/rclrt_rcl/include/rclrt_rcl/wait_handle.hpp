// Copyright 2026 The rclrt Authors
// SPDX-License-Identifier: Apache-2.0

/// The handles that an executor puts into its wait set to learn that an entity has work.
///
/// Executors that are notified (Entity::set_on_ready) do not need it.
#ifndef RCLRT_RCL__WAIT_HANDLE_HPP_
#define RCLRT_RCL__WAIT_HANDLE_HPP_

#include <variant>

#include "rcl/client.h"
#include "rcl/event.h"
#include "rcl/guard_condition.h"
#include "rcl/service.h"
#include "rcl/subscription.h"

namespace rclrt_rcl
{

using WaitHandle = std::variant<
  const rcl_subscription_t *, const rcl_service_t *, const rcl_client_t *, const rcl_event_t *,
  const rcl_guard_condition_t *>;

}  // namespace rclrt_rcl

#endif  // RCLRT_RCL__WAIT_HANDLE_HPP_
