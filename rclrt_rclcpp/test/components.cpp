// Copyright 2026 The rclrt Authors
// SPDX-License-Identifier: Apache-2.0

// Two components: one publishes how its timer's thread is scheduled, the other passes it on with its
// own.

#include <sched.h>

#include <chrono>
#include <memory>
#include <string>

#include "rcl_interfaces/msg/log.hpp"
#include "rclcpp/rclcpp.hpp"
#include "rclcpp_components/register_node_macro.hpp"

namespace test_components
{

using rcl_interfaces::msg::Log;

std::string scheduling()
{
  sched_param parameters{};
  sched_getparam(0, &parameters);
  return std::to_string(sched_getscheduler(0) & ~SCHED_RESET_ON_FORK) + "/" +
         std::to_string(parameters.sched_priority);
}

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

}  // namespace test_components

RCLCPP_COMPONENTS_REGISTER_NODE(test_components::Talker)
RCLCPP_COMPONENTS_REGISTER_NODE(test_components::Listener)
