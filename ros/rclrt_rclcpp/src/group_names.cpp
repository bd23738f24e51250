// Copyright 2026 The rclrt Authors
// SPDX-License-Identifier: Apache-2.0

#include "group_names.hpp"

#include <stdexcept>
#include <vector>

#include "clock_group.hpp"
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
  rclcpp::node_interfaces::NodeBaseInterface & node, const rclcpp::CallbackGroup & group,
  Kept & kept)
{
  std::vector<rclcpp::CallbackGroup::SharedPtr> all;  // to be looked at without the node's lock
  node.for_each_callback_group([&all](const auto & present) { all.push_back(present); });
  kept.insert(kept.end(), all.begin(), all.end());
  const auto default_group = node.get_default_callback_group();
  int number = 0;
  for (const auto & present : all) {
    const bool counts = !is_clock_group(node, *present, kept);
    if (present.get() == &group) {
      return present == default_group ? "default" : counts ? std::to_string(number) : "clock";
    }
    number += counts ? 1 : 0;
  }
  return "";
}

std::string cie_id(const std::string & node, const rclcpp::CallbackGroup & group, Kept & kept)
{
  using rclrt_core::CallbackKind;
  std::vector<rclrt_config::CieMember> members;
  const auto add = [&](CallbackKind kind, const char * name, const auto & entity) {
    kept.push_back(entity);
    members.push_back({kind, name, rclrt_core::Duration(0)});
  };
  group.collect_all_ptrs(
    [&](const auto & entity) {
      add(CallbackKind::kSubscription, entity->get_topic_name(), entity);
    },
    [&](const auto & entity) { add(CallbackKind::kService, entity->get_service_name(), entity); },
    [&](const auto & entity) { add(CallbackKind::kClient, entity->get_service_name(), entity); },
    [&](const auto & entity) {
      kept.push_back(entity);
      members.push_back({CallbackKind::kTimer, "", period_of(*entity)});
    },
    [&kept](const auto & entity) { kept.push_back(entity); });
  return rclrt_config::cie_group_id(node, members);
}

}  // namespace detail
}  // namespace rclrt_rclcpp
