// Copyright 2026 The rclrt Authors
// SPDX-License-Identifier: Apache-2.0

/// The deadlines that messages of other processes carry (see rclrt_core/deadline_ring.hpp), for
/// subscriptions of rclcpp.
///
/// rclcpp's publishers say none: there is no place between the number that the middleware gives to a message
/// and its sending, and which messages go within the process only is not seen from outside.
#ifndef MESSAGE_DEADLINES_HPP_
#define MESSAGE_DEADLINES_HPP_

#include "rclcpp/subscription_base.hpp"

namespace rclrt_rclcpp
{

/// Takes a message, has the calling job inherit what it carries, and has it handled: what
/// rclcpp::Executor::execute_subscription() does, without a place in between. Errors of taking are
/// logged, as there. Returns false if nothing was done, because this process shares no deadlines or
/// rclcpp's way of taking such messages is not known here. Adds no allocation; one lock.
bool execute_with_deadline(rclcpp::SubscriptionBase & subscription);

}  // namespace rclrt_rclcpp

#endif  // MESSAGE_DEADLINES_HPP_
