// Copyright 2026 The rclrt Authors
// SPDX-License-Identifier: Apache-2.0

/// A publisher of messages of type M.
///
/// publish() returns when the middleware has taken the message over (Fast DDS writes it to the
/// network or to readers in this process in the calling thread). Jobs released by it inherit the
/// deadline of the job that publishes. Until it returns, the calling thread is as urgent as the
/// most urgent callback that it has released, and it wakes none of them. So these callbacks do not
/// hold it up, and the most urgent of them runs first (see rclrt_core::Publication).
///
/// Thread-safe. publish() throws ShutdownError once the context is shut down, Error if the
/// middleware refuses. Not real-time safe as far as the middleware is not.
#pragma once

#include <array>
#include <chrono>
#include <cstddef>
#include <cstdint>
#include <memory>
#include <optional>
#include <string>
#include <typeindex>
#include <utility>
#include <vector>

#include "rcl/node.h"
#include "rcl/publisher.h"
#include "rclrt_core/engine.hpp"
#include "rclrt_front_end/local_publishers.hpp"
#include "rclrt_rcl/context.hpp"
#include "rclrt_rcl/detail/intra_process.hpp"
#include "rclrt_rcl/detail/trace_points.hpp"
#include "rclrt_rcl/entity.hpp"
#include "rclrt_rcl/qos.hpp"
#include "rosidl_typesupport_cpp/message_type_support.hpp"

namespace rclrt_rcl
{

/// The common part of publishers of all message types.
///
/// Thread-safe: several threads may publish at once.
class PublisherBase
{
public:
  virtual ~PublisherBase();
  PublisherBase(const PublisherBase &) = delete;
  PublisherBase & operator=(const PublisherBase &) = delete;

  /// After remapping.
  std::string topic_name() const;
  QoS actual_qos() const;
  /// Matched subscriptions in all processes, those served by pointer among them.
  std::size_t subscription_count() const;
  /// Matched subscriptions that are served by pointer.
  std::size_t intra_process_subscription_count() const;
  std::array<uint8_t, 16> gid() const noexcept { return gid_; }

  const std::shared_ptr<rcl_publisher_t> & handle() const noexcept { return handle_; }

protected:
  PublisherBase(
    std::shared_ptr<Context> context, const std::shared_ptr<rcl_node_t> & node,
    const rosidl_message_type_support_t * type, std::type_index type_index,
    const std::string & topic, const QoS & qos, bool intra_process);

  /// Throws ShutdownError after shutdown, Error if the middleware refuses.
  void publish_message(const void * message);
  void publish_bytes(const SerializedMessage & message);

  /// Null unless intra-process delivery is on.
  const std::shared_ptr<detail::Outbox> & outbox() const noexcept { return outbox_; }
  /// Whether there are subscriptions besides the `inboxes` that got the message by pointer.
  bool has_remote_subscriptions(std::size_t inboxes) const;
  MessageInfo intra_process_info();

private:
  template <typename Send>
  rcl_ret_t send(const Send & how);
  void check(rcl_ret_t result, const char * what) const;

  std::shared_ptr<Context> context_;
  std::shared_ptr<rcl_publisher_t> handle_;
  std::optional<rclrt_front_end::PublisherHere> here_;
  std::array<uint8_t, 16> gid_{};
  std::shared_ptr<detail::Outbox> outbox_;
  std::atomic<uint64_t> sequence_{0};  ///< of messages that go by pointer
};

struct PublisherOptions
{
  /// Hand messages to subscriptions in the same context by pointer. Unset: as the node says.
  /// Volatile durability only; others go through the middleware.
  std::optional<bool> use_intra_process;
};

template <typename M>
class Publisher : public PublisherBase
{
public:
  Publisher(
    std::shared_ptr<Context> context, const std::shared_ptr<rcl_node_t> & node,
    const std::string & topic, const QoS & qos, bool intra_process)
  : PublisherBase(
      std::move(context), node, rosidl_typesupport_cpp::get_message_type_support_handle<M>(),
      typeid(M), topic, qos, intra_process)
  {
  }

  void publish(const M & message)
  {
    const auto inboxes = matched();
    if (inboxes.empty()) {
      publish_message(&message);
      return;
    }
    publish(std::make_unique<M>(message));
  }

  /// To a single subscription in this context the message itself is handed over; several share it.
  void publish(std::unique_ptr<M> message)
  {
    const rclrt_core::Publication publication;
    const auto inboxes = matched();
    if (inboxes.empty() || has_remote_subscriptions(inboxes.size())) {
      publish_message(message.get());
    }
    hand_over(inboxes, std::move(message));
  }

private:
  detail::Outbox::Inboxes matched() const
  {
    return outbox() ? outbox()->inboxes() : detail::Outbox::Inboxes{};
  }

  void hand_over(const detail::Outbox::Inboxes & inboxes, std::unique_ptr<M> message)
  {
    if (inboxes.empty()) {
      return;
    }
    detail::trace_intra_publish(handle().get(), message.get());
    const MessageInfo info = intra_process_info();
    if (inboxes.size() == 1) {
      detail::offer<M>(*inboxes.begin(), std::move(message), info);
      return;
    }
    const std::shared_ptr<const M> shared = std::move(message);
    for (const auto & inbox : inboxes) {
      detail::offer<M>(inbox, shared, info);
    }
  }
};

}  // namespace rclrt_rcl
