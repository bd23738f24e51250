// Copyright 2026 The rclrt Authors
// SPDX-License-Identifier: Apache-2.0

/// The six standard services by which others see and change a node's parameters.
///
/// They run in the node's default group, so that callbacks on changes never run beside the
/// callbacks of that group, as users of rclcpp count on.
#ifndef PARAMETER_SERVICES_HPP_
#define PARAMETER_SERVICES_HPP_

#include <memory>
#include <vector>

#include "rclrt_rcl/node.hpp"
#include "rclrt_rcl/parameters.hpp"
#include "rclrt_rcl/service_base.hpp"

namespace rclrt_rcl
{
namespace detail
{

std::vector<std::shared_ptr<ServiceBase>> create_parameter_services(
  Node & node, const std::shared_ptr<Parameters> & parameters);

/// Publishes on /parameter_events in the node's name.
Parameters::Publish parameter_event_publisher(Node & node);

}  // namespace detail
}  // namespace rclrt_rcl

#endif  // PARAMETER_SERVICES_HPP_
