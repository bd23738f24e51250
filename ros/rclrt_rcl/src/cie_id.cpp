// Copyright 2026 The rclrt Authors
// SPDX-License-Identifier: Apache-2.0

#include "cie_id.hpp"

#include <utility>

#include "rclrt_config/cie_group_id.hpp"
#include "rclrt_rcl/client.hpp"
#include "rclrt_rcl/service.hpp"
#include "rclrt_rcl/subscription.hpp"
#include "rclrt_rcl/timer.hpp"

namespace rclrt_rcl
{
namespace detail
{

std::string cie_id(const CallbackGroup & group)
{
  std::vector<rclrt_config::CieMember> members;
  for (const auto & entity : group.entities()) {
    rclrt_config::CieMember member;
    member.kind = entity->kind();
    if (const auto * subscription = dynamic_cast<const SubscriptionBase *>(entity.get())) {
      member.resolved_name = subscription->topic_name();
    } else if (const auto * service = dynamic_cast<const ServiceBase *>(entity.get())) {
      member.resolved_name = service->service_name();
    } else if (const auto * client = dynamic_cast<const ClientBase *>(entity.get())) {
      member.resolved_name = client->service_name();
    } else if (const auto * timer = dynamic_cast<const Timer *>(entity.get())) {
      member.period = timer->period();
    }
    members.push_back(std::move(member));
  }
  const std::string node = group.name().substr(0, group.name().rfind("/group/"));
  return rclrt_config::cie_group_id(node, members);
}

}  // namespace detail
}  // namespace rclrt_rcl
