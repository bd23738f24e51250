// Copyright 2026 The rclrt Authors
// SPDX-License-Identifier: Apache-2.0

/// Options of a node.
#ifndef RCLRT_RCL__NODE_OPTIONS_HPP_
#define RCLRT_RCL__NODE_OPTIONS_HPP_

#include <memory>
#include <string>
#include <vector>

#include "rclrt_rcl/context.hpp"
#include "rclrt_rcl/qos.hpp"

namespace rclrt_rcl
{

struct NodeOptions
{
  /// Null: the default context (init()).
  std::shared_ptr<Context> context;
  /// As on a command line, e.g. {"--ros-args", "-r", "chatter:=talk"}; they go before the context's.
  std::vector<std::string> arguments;
  /// Also obey the arguments of the context.
  bool use_global_arguments = true;
  /// Publish the node's log lines on /rosout.
  bool enable_rosout = true;
  QoS rosout_qos = QoS::rosout();
  /// Deliver by pointer between publishers and subscriptions of this context that both want it.
  bool use_intra_process = false;
};

}  // namespace rclrt_rcl

#endif  // RCLRT_RCL__NODE_OPTIONS_HPP_
