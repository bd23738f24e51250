// Copyright 2026 The rclrt Authors
// SPDX-License-Identifier: Apache-2.0

#include "time_source.hpp"

#include <utility>
#include <vector>

#include "rclrt_front_end/scheduling_of_clocks.hpp"
#include "rclrt_rcl/time_message.hpp"

namespace rclrt_rcl
{
namespace detail
{
namespace
{

constexpr char kUseSimTime[] = "use_sim_time";

}  // namespace

TimeSource::TimeSource(Node & node, Parameters & parameters)
: node_(node), follower_(std::make_shared<Follower>(node.clock()))
{
  ParameterDescriptor descriptor;
  descriptor.description = "Take ROS time from /clock instead of the system clock.";
  const bool simulated = parameters.declare(kUseSimTime, false, descriptor).as<bool>();
  on_change_ = parameters.add_post_set_callback([this](const std::vector<Parameter> & changed) {
    for (const auto & parameter : changed) {
      if (parameter.name() == kUseSimTime) {
        follow(parameter.as<bool>());
      }
    }
  });
  follow(simulated);
}

TimeSource::~TimeSource()
{
  on_change_.reset();
  follow(false);
}

void TimeSource::follow(bool simulated)
{
  if (simulated == (subscription_ != nullptr)) {
    return;
  }
  if (!simulated) {
    subscription_.reset();
    follower_->set_active(false);
    return;
  }
  if (!group_) {
    CallbackGroupOptions group;
    group.name = "clock";
    group_ = node_.create_callback_group(CallbackGroupType::kMutuallyExclusive, group);
  }
  SubscriptionOptions options;
  options.group = group_;
  static_cast<rclrt_core::Scheduling &>(options.scheduling) =
    rclrt_front_end::scheduling_of_clocks();
  options.use_intra_process = false;
  subscription_ = node_.create_subscription<rosgraph_msgs::msg::Clock>(
    "/clock", QoS::clock(),
    [follower = follower_](const rosgraph_msgs::msg::Clock & message) {
      follower->on_clock(from_message(message.clock));
    },
    options);
  follower_->set_active(true);
}

void TimeSource::Follower::set_active(bool value)
{
  std::lock_guard<std::mutex> lock(mutex);
  active = value;
  if (active) {
    clock->set_simulated_time(latest);
  } else {
    clock->clear_simulated_time();
  }
}

void TimeSource::Follower::on_clock(std::chrono::nanoseconds time)
{
  std::lock_guard<std::mutex> lock(mutex);
  if (active) {  // this may be the last message of a subscription that has gone
    latest = time;
    clock->set_simulated_time(time);
  }
}

}  // namespace detail
}  // namespace rclrt_rcl
