// Copyright 2026 The rclrt Authors
// SPDX-License-Identifier: Apache-2.0

#include "rclrt_rcl/publisher.hpp"

#include <algorithm>
#include <mutex>
#include <utility>

#include "of_the_process.hpp"
#include "rcl/graph.h"
#include "rclrt_core/engine.hpp"
#include "rclrt_front_end/sent_message.hpp"
#include "rclrt_rcl/detail/trace_points.hpp"
#include "rclrt_rcl/error.hpp"
#include "rmw/rmw.h"

namespace rclrt_rcl
{

PublisherBase::PublisherBase(
  std::shared_ptr<Context> context, const std::shared_ptr<rcl_node_t> & node,
  const rosidl_message_type_support_t * type, std::type_index type_index, const std::string & topic,
  const QoS & qos, bool intra_process)
: context_(std::move(context))
{
  rcl_publisher_options_t options = rcl_publisher_get_default_options();
  options.qos = qos.profile();
  auto publisher = std::make_unique<rcl_publisher_t>(rcl_get_zero_initialized_publisher());
  {
    std::lock_guard<std::mutex> lock(detail::type_cache_mutex());
    throw_unless_ok(
      rcl_publisher_init(publisher.get(), node.get(), type, topic.c_str(), &options),
      "creating a publisher on '" + topic + "'");
  }
  handle_.reset(publisher.release(), [node](rcl_publisher_t * used) {
    std::lock_guard<std::mutex> lock(detail::type_cache_mutex());
    if (rcl_publisher_fini(used, node.get()) != RCL_RET_OK) {
      take_rcl_error();
    }
    delete used;
  });

  here_.emplace(topic_name());
  rmw_gid_t gid;
  throw_unless_ok(
    rmw_get_gid_for_publisher(rcl_publisher_get_rmw_handle(handle_.get()), &gid),
    "asking for the id of the publisher on '" + topic + "'");
  std::copy(std::begin(gid.data), std::end(gid.data), gid_.begin());

  // What the middleware keeps for late joiners cannot be had by pointer.
  if (intra_process && !actual_qos().is_transient_local()) {
    outbox_ = std::make_shared<detail::Outbox>(gid_);
    context_->intra_process().add({topic_name(), type_index, actual_qos()}, outbox_);
  }
}

PublisherBase::~PublisherBase()
{
  if (outbox_) {
    context_->intra_process().remove(outbox_);
  }
}

std::string PublisherBase::topic_name() const
{
  return rcl_publisher_get_topic_name(handle_.get());
}

QoS PublisherBase::actual_qos() const { return QoS(*rcl_publisher_get_actual_qos(handle_.get())); }

std::size_t PublisherBase::subscription_count() const
{
  std::size_t count = 0;
  check(rcl_publisher_get_subscription_count(handle_.get(), &count), "subscription_count()");
  return count;
}

std::size_t PublisherBase::intra_process_subscription_count() const
{
  return outbox_ ? outbox_->inboxes().size() : 0;
}

void PublisherBase::check(rcl_ret_t result, const char * what) const
{
  if (result == RCL_RET_OK) {
    return;
  }
  const std::string where = std::string(what) + " on '" + topic_name() + "'";
  if (!context_->ok()) {
    take_rcl_error();
    throw ShutdownError(
      where + " after the context was shut down (" + context_->shutdown_reason() + ")");
  }
  throw_unless_ok(result, where);
}

template <typename Send>
rcl_ret_t PublisherBase::send(const Send & how)
{
  // Readers in this process are notified by this thread, one by one, inside the middleware's locks.
  const rclrt_core::Publication publication;
  const rclrt_front_end::SentMessage message(gid_);
  const rcl_ret_t result = how();
  if (result == RCL_RET_OK) {
    message.is_sent();
  }
  return result;
}

void PublisherBase::publish_message(const void * message)
{
  detail::trace_publish(message);
  check(send([&] { return rcl_publish(handle_.get(), message, nullptr); }), "publish()");
}

void PublisherBase::publish_bytes(const SerializedMessage & message)
{
  check(
    send([&] { return rcl_publish_serialized_message(handle_.get(), &message.handle(), nullptr); }),
    "publish() of a serialized message");
}

bool PublisherBase::has_remote_subscriptions(std::size_t inboxes) const
{
  return subscription_count() > inboxes;
}

MessageInfo PublisherBase::intra_process_info()
{
  MessageInfo info;
  // Both clocks are this machine's.
  info.source_timestamp = std::chrono::system_clock::now().time_since_epoch();
  info.received_timestamp = info.source_timestamp;
  info.publication_sequence_number = sequence_.fetch_add(1) + 1;
  info.publisher_gid = gid_;
  info.from_intra_process = true;
  return info;
}

}  // namespace rclrt_rcl
