// Copyright 2026 The rclrt Authors
// SPDX-License-Identifier: Apache-2.0

#include "group_names.hpp"

#include <stdexcept>
#include <vector>

#include "rclcpp/client.hpp"
#include "rclcpp/exceptions.hpp"
#include "rclcpp/service.hpp"
#include "rclcpp/subscription_base.hpp"
#include "rclcpp/timer.hpp"
#include "rclrt_config/cie_group_id.hpp"

namespace rclrt_rclcpp
{
namespace detail
{

void check(const rclrt_core::Status & status)
{
  if (!status.ok()) {
    throw std::runtime_error(status.message());
  }
}

rclrt_core::Duration period_of(rclcpp::TimerBase & timer)
{
  int64_t period = 0;
  const rcl_ret_t result = rcl_timer_get_period(timer.get_timer_handle().get(), &period);
  if (result != RCL_RET_OK) {
    rclcpp::exceptions::throw_from_rcl_error(result, "reading the period of a timer");
  }
  return rclrt_core::Duration(period);
}

std::string label_of_group(
  rclcpp::node_interfaces::NodeBaseInterface & node, const rclcpp::CallbackGroup & group)
{
  std::string label;
  int number = 0;
  const auto default_group = node.get_default_callback_group();
  node.for_each_callback_group([&](const rclcpp::CallbackGroup::SharedPtr & present) {
    if (present.get() == &group) {
      label = present == default_group ? "default" : std::to_string(number);
    }
    ++number;
  });
  return label;
}

std::string cie_id(const std::string & node, const rclcpp::CallbackGroup & group)
{
  using rclrt_core::CallbackKind;
  std::vector<rclrt_config::CieMember> members;
  const auto add = [&members](CallbackKind kind, const char * name) {
    members.push_back({kind, name, rclrt_core::Duration(0)});
  };
  group.collect_all_ptrs(
    [&](const auto & entity) { add(CallbackKind::kSubscription, entity->get_topic_name()); },
    [&](const auto & entity) { add(CallbackKind::kService, entity->get_service_name()); },
    [&](const auto & entity) { add(CallbackKind::kClient, entity->get_service_name()); },
    [&](const auto & entity) { members.push_back({CallbackKind::kTimer, "", period_of(*entity)}); },
    [](const auto &) {});
  return rclrt_config::cie_group_id(node, members);
}

}  // namespace detail
}  // namespace rclrt_rclcpp
