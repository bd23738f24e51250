// Copyright 2026 The rclrt Authors
// SPDX-License-Identifier: Apache-2.0

/// What librclrt_run stands in for of rclcpp: these functions say that they were called. `LACKS_CANCEL`: an rclcpp
/// without one of its functions.
#pragma once

#include <chrono>
#include <memory>

namespace rclcpp
{

namespace node_interfaces
{
class NodeBaseInterface;
}

class Executor
{
public:
  virtual ~Executor();
  virtual void add_node(std::shared_ptr<node_interfaces::NodeBaseInterface> node, bool notify);
  virtual void spin() = 0;
  virtual void spin_some(std::chrono::nanoseconds max_duration);
  virtual void spin_once(std::chrono::nanoseconds timeout);
  void cancel();
};

namespace executors
{

class SingleThreadedExecutor : public Executor
{
public:
  void spin() override;
};

}  // namespace executors
}  // namespace rclcpp
