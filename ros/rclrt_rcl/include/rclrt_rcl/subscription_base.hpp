// Copyright 2026 The rclrt Authors
// SPDX-License-Identifier: Apache-2.0

/// The common part of subscriptions of all message types.
#ifndef RCLRT_RCL__SUBSCRIPTION_BASE_HPP_
#define RCLRT_RCL__SUBSCRIPTION_BASE_HPP_

#include <chrono>
#include <cstddef>
#include <memory>
#include <optional>
#include <string>
#include <typeindex>
#include <utility>
#include <vector>

#include "rcl/node.h"
#include "rcl/subscription.h"
#include "rclrt_rcl/context.hpp"
#include "rclrt_rcl/detail/intra_process.hpp"
#include "rclrt_rcl/entity.hpp"
#include "rclrt_rcl/message_info.hpp"
#include "rclrt_rcl/qos.hpp"
#include "rclrt_rcl/serialized_message.hpp"

namespace rclrt_rcl
{

class SubscriptionBase : public Entity
{
public:
  ~SubscriptionBase() override;

  /// After remapping.
  std::string topic_name() const;
  QoS actual_qos() const;
  /// Matched publishers in all processes.
  std::size_t publisher_count() const;

  const std::shared_ptr<rcl_subscription_t> & handle() const noexcept { return handle_; }
  std::vector<WaitHandle> wait_handles() override;

protected:
  SubscriptionBase(
    EntitySetup setup, std::shared_ptr<Context> context, const std::shared_ptr<rcl_node_t> & node,
    const rosidl_message_type_support_t * type, const std::string & topic, const QoS & qos,
    bool ignore_local_publications, bool has_inbox);

  /// Depth of the middleware's queue, and also of the inbox; depth() counts both.
  uint32_t queue_depth() const noexcept { return queue_depth_; }

  /// Deliver by pointer too, through this inbox. Called once, by the constructor of the subclass.
  void join_intra_process(const std::shared_ptr<detail::Inbox> & inbox, std::type_index type);

  void set_middleware_callback(rcl_event_callback_t callback, const void * user_data) override;
  void on_close() override;

  // One unit from the middleware; false if there is none (any more), or if it is one that came by
  // pointer already. Calls of the same subscription must not overlap: take_mutex().
  bool take_message(void * message, MessageInfo * info);
  bool take_bytes(SerializedMessage * message, MessageInfo * info);

  rclrt_core::Mutex & take_mutex() noexcept { return *take_mutex_; }

  /// A message was taken: its deadline counts for the job from here on. Without locks.
  void inherit_deadline(const MessageInfo & info, const void * message);
  void inherit_deadline(const MessageInfo & info, const SerializedMessage & bytes);
  /// For a message that came by pointer, and was published by a job with this deadline.
  void inherit_deadline(
    rclrt_core::TimePoint deadline, const MessageInfo & info, const void * message);

private:
  SubscriptionBase(
    EntitySetup setup, std::shared_ptr<Context> context, std::shared_ptr<rcl_subscription_t> handle,
    bool has_inbox, bool begins_with_stamp);
  /// The one that the job's deadline counts from. `header_stamp`: how to read that of the message.
  template <typename HeaderStamp>
  int64_t stamp(const MessageInfo & info, HeaderStamp header_stamp) const noexcept;
  template <typename HeaderStamp>
  void inherit_from_outside(const MessageInfo & info, HeaderStamp header_stamp);
  bool accept(
    rcl_ret_t result, const void * message, const rmw_message_info_t & from, MessageInfo * info);

  const uint32_t queue_depth_;
  std::shared_ptr<Context> context_;
  std::shared_ptr<rcl_subscription_t> handle_;
  std::unique_ptr<rclrt_core::Mutex> take_mutex_;
  std::shared_ptr<detail::Inbox> inbox_;
};

}  // namespace rclrt_rcl

#endif  // RCLRT_RCL__SUBSCRIPTION_BASE_HPP_
