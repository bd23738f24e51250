// Copyright 2026 The rclrt Authors
// SPDX-License-Identifier: Apache-2.0

#include "fake_rclcpp.hpp"

#include <cstdio>

#ifndef WHOSE
#define WHOSE "theirs"
#endif

namespace rclcpp
{

Executor::~Executor() { std::puts(WHOSE ": destroy"); }
void Executor::add_node(std::shared_ptr<node_interfaces::NodeBaseInterface>, bool)
{
  std::puts(WHOSE ": add_node");
}
void Executor::spin_some(std::chrono::nanoseconds) { std::puts(WHOSE ": spin_some"); }
void Executor::spin_once(std::chrono::nanoseconds) { std::puts(WHOSE ": spin_once"); }
void executors::SingleThreadedExecutor::spin() { std::puts(WHOSE ": single"); }
#ifndef LACKS_CANCEL
void Executor::cancel() { std::puts(WHOSE ": cancel"); }
#endif

}  // namespace rclcpp
