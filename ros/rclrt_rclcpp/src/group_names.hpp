// Copyright 2026 The rclrt Authors
// SPDX-License-Identifier: Apache-2.0

/// What callback groups are called, and small things that several files need.
#pragma once

#include <memory>
#include <string>
#include <vector>

#include "rclcpp/callback_group.hpp"
#include "rclcpp/node_interfaces/node_base_interface.hpp"
#include "rclcpp/timer.hpp"
#include "rclrt_core/status.hpp"
#include "rclrt_core/time.hpp"

namespace rclrt_rclcpp
{
namespace detail
{

/// What was looked at and must not die, with all that callbacks hold, under anybody's mutex. What came last goes
/// first: the destructor of an entity may use its node.
class Kept : public std::vector<std::shared_ptr<const void>>
{
public:
  Kept() = default;
  ~Kept()
  {
    while (!empty()) {
      pop_back();
    }
  }
  Kept(const Kept &) = delete;
  Kept & operator=(const Kept &) = delete;
};

/// Throws std::runtime_error unless it is ok.
void check(const rclrt_core::Status & status);

rclrt_core::Duration period_of(rclcpp::TimerBase & timer);

/// "default" for the node's default group, else its number in the order of creation, as far as they
/// still exist ("clock" for the one that rclcpp makes for simulated time, which does not count); empty
/// if it is not one of this node.
std::string label_of_group(
  rclcpp::node_interfaces::NodeBaseInterface & node, const rclcpp::CallbackGroup & group,
  Kept & kept);

/// As CallbackIsolatedExecutor would call the group.
std::string cie_id(const std::string & node, const rclcpp::CallbackGroup & group, Kept & kept);

}  // namespace detail
}  // namespace rclrt_rclcpp
