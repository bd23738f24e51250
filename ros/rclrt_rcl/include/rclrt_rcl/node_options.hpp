// Copyright 2026 The rclrt Authors
// SPDX-License-Identifier: Apache-2.0

/// Options of a node.
#ifndef RCLRT_RCL__NODE_OPTIONS_HPP_
#define RCLRT_RCL__NODE_OPTIONS_HPP_

#include <memory>
#include <string>
#include <vector>

#include "rclrt_rcl/context.hpp"
#include "rclrt_rcl/parameter.hpp"
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

  /// Values that count more than defaults, command lines and files.
  std::vector<Parameter> parameter_overrides;
  /// Reading and setting declares, with dynamic typing.
  bool allow_undeclared_parameters = false;
  /// Declare what a command line or file gives, with dynamic typing.
  bool automatically_declare_parameters_from_overrides = false;
  /// The six services by which others see and change the parameters. They are callbacks of the
  /// default group, so that no other callback of it runs while parameters are changed by them.
  bool start_parameter_services = true;
  /// Tell of changes on /parameter_events.
  bool start_parameter_event_publisher = true;
  /// ~/get_type_description. The parameter `start_type_description_service` overrides it.
  bool start_type_description_service = true;
  /// ~/get_logger_levels and ~/set_logger_levels.
  bool enable_logger_service = false;
};

}  // namespace rclrt_rcl

#endif  // RCLRT_RCL__NODE_OPTIONS_HPP_
