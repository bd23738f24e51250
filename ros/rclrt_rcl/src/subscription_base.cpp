// Copyright 2026 The rclrt Authors
// SPDX-License-Identifier: Apache-2.0

#include "rclrt_rcl/subscription.hpp"

#include <mutex>
#include <string>
#include <utility>

#include "of_all_entities.hpp"
#include "of_the_process.hpp"
#include "rcl/graph.h"
#include "rclrt_front_end/on_rcl.hpp"
#include "rclrt_front_end/process_platform.hpp"
#include "rclrt_front_end/take_on_rcl.hpp"
#include "rclrt_rcl/error.hpp"

namespace rclrt_rcl
{
namespace
{

std::shared_ptr<rcl_subscription_t> make_subscription(
  const std::shared_ptr<rcl_node_t> & node, const rosidl_message_type_support_t * type,
  const std::string & topic, const QoS & qos)
{
  rcl_subscription_options_t options = rcl_subscription_get_default_options();
  options.qos = qos.profile();
  auto subscription = std::make_unique<rcl_subscription_t>(rcl_get_zero_initialized_subscription());
  {
    std::lock_guard<std::mutex> lock(detail::type_cache_mutex());
    throw_unless_ok(
      rcl_subscription_init(subscription.get(), node.get(), type, topic.c_str(), &options),
      "creating a subscription to '" + topic + "'");
  }
  return std::shared_ptr<rcl_subscription_t>(
    subscription.release(), [node](rcl_subscription_t * used) {
      std::lock_guard<std::mutex> lock(detail::type_cache_mutex());
      if (rcl_subscription_fini(used, node.get()) != RCL_RET_OK) {
        take_rcl_error();
      }
      delete used;
    });
}

uint32_t depth_of(const rcl_subscription_t & subscription)
{
  return detail::queue_depth(QoS(*rcl_subscription_get_actual_qos(&subscription)));
}

}  // namespace

SubscriptionBase::SubscriptionBase(
  EntitySetup setup, std::shared_ptr<Context> context, const std::shared_ptr<rcl_node_t> & node,
  const rosidl_message_type_support_t * type, const std::string & topic, const QoS & qos,
  bool has_inbox)
: SubscriptionBase(
    std::move(setup), std::move(context), make_subscription(node, type, topic, qos), has_inbox,
    rclrt_front_end::begins_with_stamp(*type))
{
}

SubscriptionBase::SubscriptionBase(
  EntitySetup setup, std::shared_ptr<Context> context, std::shared_ptr<rcl_subscription_t> handle,
  bool has_inbox, bool begins_with_stamp)
: Entity(std::move(setup), depth_of(*handle) * (has_inbox ? 2 : 1), depth_of(*handle)),
  queue_depth_(depth_of(*handle)),
  context_(std::move(context)),
  handle_(std::move(handle)),
  take_mutex_(rclrt_front_end::process_platform().make_mutex())
{
  local_publishers_ = rclrt_front_end::local_publishers(topic_name());
  begins_with_stamp_ = begins_with_stamp;
}

SubscriptionBase::~SubscriptionBase() = default;

void SubscriptionBase::join_intra_process(
  const std::shared_ptr<detail::Inbox> & inbox, std::type_index type)
{
  const QoS qos = actual_qos();
  // History for late joiners comes by the middleware only.
  if (!qos.is_transient_local()) {
    inbox_ = inbox;
    context_->intra_process().add({topic_name(), type, qos}, inbox_);
  }
}

void SubscriptionBase::on_close()
{
  if (inbox_) {
    inbox_->close();
    context_->intra_process().remove(inbox_);
  }
}

std::string SubscriptionBase::topic_name() const
{
  return rcl_subscription_get_topic_name(handle_.get());
}

QoS SubscriptionBase::actual_qos() const
{
  return QoS(*rcl_subscription_get_actual_qos(handle_.get()));
}

std::size_t SubscriptionBase::publisher_count() const
{
  std::size_t count = 0;
  throw_unless_ok(
    rcl_subscription_get_publisher_count(handle_.get(), &count),
    "publisher_count() on '" + topic_name() + "'");
  return count;
}

std::vector<WaitHandle> SubscriptionBase::wait_handles()
{
  std::vector<WaitHandle> handles = {handle_.get()};
  if (inbox_) {
    handles.emplace_back(guard_condition(context_));
  }
  return handles;
}

void SubscriptionBase::set_middleware_callback(
  rcl_event_callback_t callback, const void * user_data)
{
  const rcl_ret_t result = rclrt_front_end::tell_of_work<rcl_subscription_t>(
    &rcl_subscription_set_on_new_message_callback, handle_.get(), callback, user_data);
  if (callback != nullptr) {
    throw_unless_ok(result, "listening to the subscription to '" + topic_name() + "'");
  } else if (result != RCL_RET_OK) {
    take_rcl_error();
  }
}

void SubscriptionBase::not_taken(rcl_ret_t result) const
{
  if (result == RCL_RET_SUBSCRIPTION_TAKE_FAILED) {
    rcutils_reset_error();
    return;
  }
  // One bad message from somewhere must not end the program.
  detail::warn_rarely(
    Logger("rclrt_rcl"), "taking from '" + topic_name() + "'",
    ": " + take_rcl_error() + "; the message is lost");
}

}  // namespace rclrt_rcl
