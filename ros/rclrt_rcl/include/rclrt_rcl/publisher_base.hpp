// Copyright 2026 The rclrt Authors
// SPDX-License-Identifier: Apache-2.0

/// The common part of publishers of all message types.
///
/// Thread-safe: several threads may publish at once.
#ifndef RCLRT_RCL__PUBLISHER_BASE_HPP_
#define RCLRT_RCL__PUBLISHER_BASE_HPP_

#include <array>
#include <chrono>
#include <cstddef>
#include <cstdint>
#include <memory>
#include <optional>
#include <string>
#include <typeindex>
#include <vector>

#include "rcl/node.h"
#include "rcl/publisher.h"
#include "rclrt_front_end/local_publishers.hpp"
#include "rclrt_rcl/context.hpp"
#include "rclrt_rcl/detail/intra_process.hpp"
#include "rclrt_rcl/entity.hpp"
#include "rclrt_rcl/qos.hpp"
#include "rclrt_rcl/serialized_message.hpp"

namespace rclrt_rcl
{

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

}  // namespace rclrt_rcl

#endif  // RCLRT_RCL__PUBLISHER_BASE_HPP_
