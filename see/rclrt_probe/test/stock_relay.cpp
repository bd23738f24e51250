// Copyright 2026 The rclrt Authors
// SPDX-License-Identifier: Apache-2.0

// Plain rclcpp, as a stranger has it: what comes on /ping goes out on /pong.
//
//   stock_relay single|multi|events

#include <sys/prctl.h>

#include <csignal>
#include <memory>
#include <rcl_interfaces/msg/log.hpp>
#include <rclcpp/experimental/executors/events_executor/events_executor.hpp>
#include <rclcpp/rclcpp.hpp>
#include <string>

using rcl_interfaces::msg::Log;

int main(int argc, char ** argv)
{
  prctl(PR_SET_PDEATHSIG, SIGKILL);
  rclcpp::init(argc, argv);
  const std::string kind = argc > 1 ? argv[1] : "";
  const auto node = std::make_shared<rclcpp::Node>("relay");
  const auto publisher = node->create_publisher<Log>("pong", 10);
  const auto subscription = node->create_subscription<Log>(
    "ping", 10, [&](const Log & message) { publisher->publish(message); });
  const auto timer = node->create_wall_timer(std::chrono::milliseconds(3), [] {});
  std::unique_ptr<rclcpp::Executor> executor;
  if (kind == "multi") {
    executor = std::make_unique<rclcpp::executors::MultiThreadedExecutor>();
  } else if (kind == "events") {
    executor = std::make_unique<rclcpp::experimental::executors::EventsExecutor>();
  } else {
    executor = std::make_unique<rclcpp::executors::SingleThreadedExecutor>();
  }
  executor->add_node(node);
  executor->spin();
  rclcpp::shutdown();
}
