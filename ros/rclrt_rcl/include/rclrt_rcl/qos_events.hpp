// Copyright 2026 The rclrt Authors
// SPDX-License-Identifier: Apache-2.0

/// Callbacks for the middleware's events of a publisher or subscription.
///
/// Each one that is set becomes an entity of the publisher's or subscription's group. A kind the
/// middleware does not support is left out and listed by unsupported_events().
/// Lost messages, missed deadlines and changes of liveliness may come 10 ms late: a timer of the group, the
/// entity's name + "/look", looks for them, because a thread that listens for them may hang
/// (rclrt_front_end/status_event_on_rcl.hpp).
#ifndef RCLRT_RCL__QOS_EVENTS_HPP_
#define RCLRT_RCL__QOS_EVENTS_HPP_

#include <functional>

#include "rmw/events_statuses/events_statuses.h"

namespace rclrt_rcl
{

struct PublisherEvents
{
  std::function<void(const rmw_offered_deadline_missed_status_t &)> deadline_missed;
  std::function<void(const rmw_liveliness_lost_status_t &)> liveliness_lost;
  std::function<void(const rmw_offered_qos_incompatible_event_status_t &)> incompatible_qos;
  std::function<void(const rmw_incompatible_type_status_t &)> incompatible_type;
  std::function<void(const rmw_matched_status_t &)> matched;
};

struct SubscriptionEvents
{
  std::function<void(const rmw_requested_deadline_missed_status_t &)> deadline_missed;
  std::function<void(const rmw_liveliness_changed_status_t &)> liveliness_changed;
  std::function<void(const rmw_requested_qos_incompatible_event_status_t &)> incompatible_qos;
  std::function<void(const rmw_message_lost_status_t &)> message_lost;
  std::function<void(const rmw_incompatible_type_status_t &)> incompatible_type;
  std::function<void(const rmw_matched_status_t &)> matched;
};

}  // namespace rclrt_rcl

#endif  // RCLRT_RCL__QOS_EVENTS_HPP_
