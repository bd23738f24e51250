// Copyright 2026 The rclrt Authors
// SPDX-License-Identifier: Apache-2.0

/// What every ROS 2 node offers besides what its author writes: parameter services and events,
/// simulated time, the description of types, and if asked for logger levels.
#ifndef STANDARD_INTERFACES_HPP_
#define STANDARD_INTERFACES_HPP_

#include <memory>
#include <vector>

#include "rclrt_rcl/node.hpp"
#include "rclrt_rcl/service_base.hpp"
#include "time_source.hpp"

namespace rclrt_rcl
{
namespace detail
{

/// The parameters of a node that has its name, context and clock, with overrides read.
std::shared_ptr<Parameters> make_parameters(Node & node);

/// Destroyed before anything else of the node.
class StandardInterfaces
{
public:
  /// `node` has its parameters.
  explicit StandardInterfaces(Node & node);

private:
  std::vector<std::shared_ptr<ServiceBase>> services_;
  std::unique_ptr<TimeSource> time_source_;
};

}  // namespace detail
}  // namespace rclrt_rcl

#endif  // STANDARD_INTERFACES_HPP_
