// Copyright 2026 The rclrt Authors
// SPDX-License-Identifier: Apache-2.0

#include "time_source.hpp"

#include <utility>

#include "rclrt_front_end/callback_name.hpp"
#include "rclrt_rcl/clock.hpp"

namespace rclrt_rcl
{
namespace detail
{

TimeSource::TimeSource(Node & node) : follower_(std::make_shared<Follower>(node.clock()))
{
  node.clock()->set_simulated_time(std::chrono::nanoseconds(0));
  CallbackGroupOptions group;
  group.name = "clock";
  SubscriptionOptions options;
  options.group = node.create_callback_group(CallbackGroupType::kMutuallyExclusive, group);
  static_cast<rclrt_core::Scheduling &>(options.scheduling) =
    rclrt_front_end::scheduling_of_clocks();
  options.use_intra_process = false;
  subscription_ = node.create_subscription<rosgraph_msgs::msg::Clock>(
    "/clock", QoS::clock(),
    [follower = follower_](const rosgraph_msgs::msg::Clock & message) {
      follower->on_clock(from_message(message.clock));
    },
    options);
}

TimeSource::~TimeSource()
{
  subscription_.reset();
  follower_->stop();
}

void TimeSource::Follower::stop()
{
  std::lock_guard<std::mutex> lock(mutex);
  active = false;
  clock->clear_simulated_time();
}

void TimeSource::Follower::on_clock(std::chrono::nanoseconds time)
{
  std::lock_guard<std::mutex> lock(mutex);
  if (active) {  // this may be the last message of a subscription that has gone
    clock->set_simulated_time(time);
  }
}

}  // namespace detail
}  // namespace rclrt_rcl
