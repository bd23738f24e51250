// Copyright 2026 The rclrt Authors
// SPDX-License-Identifier: Apache-2.0

/// A QoS event as an entity: taken from the middleware and handed to the user's callback.
#ifndef QOS_EVENT_HPP_
#define QOS_EVENT_HPP_

#include <functional>
#include <memory>
#include <vector>

#include "rcl/event.h"
#include "rclrt_front_end/status_event_on_rcl.hpp"
#include "rclrt_rcl/entity.hpp"

namespace rclrt_rcl
{
namespace detail
{

/// Keeps what it is an event of.
using EventHandle = std::shared_ptr<rcl_event_t>;

/// Null if the middleware does not support the kind.
EventHandle make_event(
  const std::shared_ptr<rcl_publisher_t> & publisher, rcl_publisher_event_type_t kind);
EventHandle make_event(
  const std::shared_ptr<rcl_subscription_t> & subscription, rcl_subscription_event_type_t kind);

class QosEventBase : public Entity
{
public:
  std::vector<WaitHandle> wait_handles() override { return {handle_.get()}; }

protected:
  QosEventBase(EntitySetup setup, EventHandle handle);
  void set_middleware_callback(rcl_event_callback_t callback, const void * user_data) override;
  virtual rcl_ret_t listen() = 0;

  const EventHandle handle_;
};

template <typename Status>
class QosEvent : public QosEventBase
{
public:
  QosEvent(EntitySetup setup, EventHandle handle, std::function<void(const Status &)> callback)
  : QosEventBase(std::move(setup), std::move(handle)), callback_(std::move(callback))
  {
  }
  bool look() override
  {
    const bool found = backlog() == 0 && event_.look(*handle_);
    if (found) {
      announce(1);
    }
    return found;
  }

private:
  rcl_ret_t listen() override { return event_.template listen<&on_middleware>(*handle_, this); }
  bool do_take_and_run(const rclrt_core::Job &) override
  {
    Status status{};
    if (!event_.take(*handle_, &status)) {
      return false;
    }
    callback_(status);
    return true;
  }

  const std::function<void(const Status &)> callback_;
  rclrt_front_end::StatusEvent<Status> event_;
};

}  // namespace detail
}  // namespace rclrt_rcl

#endif  // QOS_EVENT_HPP_
