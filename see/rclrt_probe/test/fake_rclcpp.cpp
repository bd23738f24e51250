// Copyright 2026 The rclrt Authors
// SPDX-License-Identifier: Apache-2.0

#include "fake_rclcpp.hpp"

#include <cstdio>

namespace rclcpp
{

Executor::~Executor() { std::puts("theirs: destroy"); }
void Executor::add_node(std::shared_ptr<node_interfaces::NodeBaseInterface>, bool)
{
  std::puts("theirs: add_node");
}
void Executor::spin_some(std::chrono::nanoseconds) { std::puts("theirs: spin_some"); }
void Executor::spin_once(std::chrono::nanoseconds) { std::puts("theirs: spin_once"); }
void executors::SingleThreadedExecutor::spin() { std::puts("theirs: single"); }
#ifndef LACKS_CANCEL
void Executor::cancel() { std::puts("theirs: cancel"); }
#endif

}  // namespace rclcpp
