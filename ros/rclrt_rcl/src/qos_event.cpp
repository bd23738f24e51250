// Copyright 2026 The rclrt Authors
// SPDX-License-Identifier: Apache-2.0

#include "qos_event.hpp"

#include <string>
#include <utility>

#include "rclrt_rcl/error.hpp"
#include "rclrt_rcl/node.hpp"

namespace rclrt_rcl
{
namespace detail
{
namespace
{

template <typename Parent, typename Kind, typename Init>
EventHandle make(const std::shared_ptr<Parent> & parent, Kind kind, Init init)
{
  auto event = std::make_unique<rcl_event_t>(rcl_get_zero_initialized_event());
  const rcl_ret_t result = init(event.get(), parent.get(), kind);
  if (result == RCL_RET_UNSUPPORTED) {
    take_rcl_error();
    return nullptr;
  }
  throw_unless_ok(result, "creating a QoS event");
  return EventHandle(event.release(), [parent](rcl_event_t * used) {
    if (rcl_event_fini(used) != RCL_RET_OK) {
      take_rcl_error();
    }
    delete used;
  });
}

/// Make the entity of one kind of event, if there is a callback for it.
template <typename Status, typename Parent, typename Kind>
void add_event(
  Node & node, Parent & parent, const std::string & side, const char * name, Kind kind,
  const std::function<void(const Status &)> & callback,
  const std::shared_ptr<CallbackGroup> & group)
{
  if (!callback) {
    return;
  }
  EventHandle handle = make_event(parent.handle(), kind);
  if (handle == nullptr) {
    parent.note_unsupported_event(name);
    return;
  }
  parent.adopt_event(node.make_entity<QosEvent<Status>>(
    rclrt_core::CallbackKind::kWaitable, side + parent.topic_name() + "/" + name, Scheduling{},
    group, std::move(handle), callback));
}

}  // namespace

EventHandle make_event(
  const std::shared_ptr<rcl_publisher_t> & publisher, rcl_publisher_event_type_t kind)
{
  return make(publisher, kind, &rcl_publisher_event_init);
}

EventHandle make_event(
  const std::shared_ptr<rcl_subscription_t> & subscription, rcl_subscription_event_type_t kind)
{
  return make(subscription, kind, &rcl_subscription_event_init);
}

QosEventBase::QosEventBase(EntitySetup setup, EventHandle handle)
: Entity(std::move(setup), 1), handle_(std::move(handle))
{
  if (rclrt_front_end::is_looked_for(rcl_event_get_rmw_handle(handle_.get())->event_type)) {
    looked_for_every_ = rclrt_front_end::kLookForStatus;
  }
}

void QosEventBase::set_middleware_callback(rcl_event_callback_t callback, const void *)
{
  if (looked_for_every_ > std::chrono::nanoseconds(0)) {
    return;
  }
  if (callback != nullptr) {
    throw_unless_ok(listen(), "watching '" + name() + "'");
  } else if (rcl_event_set_callback(handle_.get(), nullptr, nullptr) != RCL_RET_OK) {
    take_rcl_error();
  }
}

}  // namespace detail

void Node::add_events(PublisherBase & publisher, const PublisherOptions & options)
{
  const auto add = [&](const char * name, rcl_publisher_event_type_t kind, const auto & callback) {
    detail::add_event(*this, publisher, "publisher", name, kind, callback, options.group);
  };
  const PublisherEvents & events = options.events;
  add("deadline_missed", RCL_PUBLISHER_OFFERED_DEADLINE_MISSED, events.deadline_missed);
  add("liveliness_lost", RCL_PUBLISHER_LIVELINESS_LOST, events.liveliness_lost);
  add("incompatible_qos", RCL_PUBLISHER_OFFERED_INCOMPATIBLE_QOS, events.incompatible_qos);
  add("incompatible_type", RCL_PUBLISHER_INCOMPATIBLE_TYPE, events.incompatible_type);
  add("matched", RCL_PUBLISHER_MATCHED, events.matched);
}

void Node::add_events(SubscriptionBase & subscription, const SubscriptionOptions & options)
{
  const auto add = [&](
                     const char * name, rcl_subscription_event_type_t kind, const auto & callback) {
    detail::add_event(*this, subscription, "subscription", name, kind, callback, options.group);
  };
  const SubscriptionEvents & events = options.events;
  add("deadline_missed", RCL_SUBSCRIPTION_REQUESTED_DEADLINE_MISSED, events.deadline_missed);
  add("liveliness_changed", RCL_SUBSCRIPTION_LIVELINESS_CHANGED, events.liveliness_changed);
  add("incompatible_qos", RCL_SUBSCRIPTION_REQUESTED_INCOMPATIBLE_QOS, events.incompatible_qos);
  add("message_lost", RCL_SUBSCRIPTION_MESSAGE_LOST, events.message_lost);
  add("incompatible_type", RCL_SUBSCRIPTION_INCOMPATIBLE_TYPE, events.incompatible_type);
  add("matched", RCL_SUBSCRIPTION_MATCHED, events.matched);
}

}  // namespace rclrt_rcl
