// Copyright 2026 The rclrt Authors
// SPDX-License-Identifier: Apache-2.0

#include "receiver.hpp"

#include "rcl/error_handling.h"
#include "rcl/subscription.h"

namespace dispatch
{
namespace
{

std::shared_ptr<rclrt_rcl::Node> make_node()
{
  rclrt_rcl::NodeOptions options;
  options.enable_rosout = false;
  return std::make_shared<rclrt_rcl::Node>("dispatch_latency", options);
}

}  // namespace

rclrt_core::Attributes fifo(int priority)
{
  rclrt_core::Attributes attributes;
  attributes.policy = rclrt_core::SchedulingPolicy::kFifo;
  attributes.priority = priority;
  return attributes;
}

Receiver::Receiver(const std::string & topic, std::size_t active, std::size_t idle)
: node_(make_node())
{
  for (std::size_t i = 0; i < active; ++i) {
    groups_.push_back(make_group("active_" + std::to_string(i)));
    rclrt_rcl::SubscriptionOptions options;
    options.group = groups_.back();
    options.scheduling.attributes = fifo(kWorkerPriority);
    active_.push_back(node_->create_subscription<Message>(
      topic, 10, [this, i](const Message & message) { received(i, message); }, options));
  }
  if (idle > 0) {
    idle_group_ = make_group("idle");
  }
  for (std::size_t i = 0; i < idle; ++i) {
    rclrt_rcl::SubscriptionOptions options;
    options.group = idle_group_;
    idle_.push_back(node_->create_subscription<Message>(
      "dispatch_idle_" + std::to_string(i), 10, [](const Message &) {}, options));
  }
}

void Receiver::drain()
{
  Message message;
  for (const auto & subscription : active_) {
    while (rcl_take(subscription->handle().get(), &message, nullptr, nullptr) == RCL_RET_OK) {
    }
    rcl_reset_error();
  }
}

std::shared_ptr<rclrt_rcl::CallbackGroup> Receiver::make_group(const std::string & name)
{
  rclrt_rcl::CallbackGroupOptions options;
  options.name = name;
  options.automatically_add_to_executor_with_node = false;
  return node_->create_callback_group(rclrt_rcl::CallbackGroupType::kMutuallyExclusive, options);
}

}  // namespace dispatch
