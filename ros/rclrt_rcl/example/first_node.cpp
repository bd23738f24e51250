// Copyright 2026 The rclrt Authors
// SPDX-License-Identifier: Apache-2.0

// One node that talks to itself; the listener runs under SCHED_FIFO 80.

#include <cstdio>

#include "builtin_interfaces/msg/time.hpp"
#include "rclrt_rcl/rclrt_rcl.hpp"

using builtin_interfaces::msg::Time;

int main(int argc, char ** argv)
{
  rclrt_rcl::init(argc, argv);
  auto node = std::make_shared<rclrt_rcl::Node>("first_node");
  auto publisher = node->create_publisher<Time>("tick", 10);
  auto timer = node->create_wall_timer(std::chrono::milliseconds(100), [&] {
    publisher->publish(rclrt_rcl::to_message(node->now()));
  });
  rclrt_rcl::SubscriptionOptions urgent;
  urgent.scheduling.attributes = {rclrt_core::SchedulingPolicy::kFifo, 80};
  auto subscription = node->create_subscription<Time>(
    "tick", 10, [](const Time & tick) { std::printf("tick %d\n", tick.sec); }, urgent);
  rclrt_rcl::PreemptiveExecutor executor;
  executor.add_node(node);
  executor.spin();  // until Ctrl-C
}
