// Copyright 2026 The rclrt Authors
// SPDX-License-Identifier: Apache-2.0

/// Takes what has arrived and has it handled: what rclcpp::Executor::execute_subscription(),
/// execute_service() and execute_client() do, but these do not say whether there was anything.
///
/// Between the two, the calling job inherits the deadline that a message of another process carries (see
/// rclrt_core/deadline_ring.hpp). rclcpp's own publishers say none: there is no place between the number that
/// the middleware gives to a message and its sending, and which messages go within the process only is not
/// seen from outside.
#pragma once

#include "rclcpp/client.hpp"
#include "rclcpp/service.hpp"
#include "rclcpp/subscription_base.hpp"

namespace rclrt_rclcpp
{

/// Return whether there was anything. Errors of taking are logged, as by rclcpp. They allocate as much as rclcpp's do, and
/// take one lock more where deadlines are shared.
bool take_and_handle(rclcpp::SubscriptionBase & subscription);
bool take_and_handle(rclcpp::ServiceBase & service);
bool take_and_handle(rclcpp::ClientBase & client);

}  // namespace rclrt_rclcpp
