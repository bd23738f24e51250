// Copyright 2026 The rclrt Authors
// SPDX-License-Identifier: Apache-2.0

// Two components for the launch files and tests: one publishes how the thread of its timer is
// scheduled (policy/priority), the other passes that on together with its own.

#include <sched.h>

#include <chrono>
#include <memory>
#include <string>

#include "rcl_interfaces/msg/log.hpp"
#include "rclcpp/rclcpp.hpp"
#include "rclcpp_components/register_node_macro.hpp"

namespace rclrt_rclcpp
{

using rcl_interfaces::msg::Log;

namespace
{

std::string scheduling()
{
  sched_param parameters{};
  sched_getparam(0, &parameters);
  return std::to_string(sched_getscheduler(0) & ~SCHED_RESET_ON_FORK) + "/" +
         std::to_string(parameters.sched_priority);
}

}  // namespace

/// Every 10 ms, on `said`.
class Talker : public rclcpp::Node
{
public:
  explicit Talker(const rclcpp::NodeOptions & options)
  : Node("talker", options), publisher_(create_publisher<Log>("said", 10))
  {
    timer_ = create_wall_timer(std::chrono::milliseconds(10), [this] {
      Log log;
      log.msg = scheduling();
      publisher_->publish(log);
    });
  }

private:
  rclcpp::Publisher<Log>::SharedPtr publisher_;
  rclcpp::TimerBase::SharedPtr timer_;
};

/// What it hears on `said`, on `heard`.
class Listener : public rclcpp::Node
{
public:
  explicit Listener(const rclcpp::NodeOptions & options)
  : Node("listener", options), publisher_(create_publisher<Log>("heard", 10))
  {
    subscription_ = create_subscription<Log>("said", 10, [this](const Log & said) {
      Log log = said;
      log.name = scheduling();
      publisher_->publish(log);
    });
  }

private:
  rclcpp::Publisher<Log>::SharedPtr publisher_;
  rclcpp::Subscription<Log>::SharedPtr subscription_;
};

}  // namespace rclrt_rclcpp

RCLCPP_COMPONENTS_REGISTER_NODE(rclrt_rclcpp::Talker)
RCLCPP_COMPONENTS_REGISTER_NODE(rclrt_rclcpp::Listener)
