// Copyright 2026 The rclrt Authors
// SPDX-License-Identifier: Apache-2.0

/// What matters about callbacks, said in code, for nodes that stay as they are.
///
/// Put it in a registry by the entity itself or by its name ("/planner/timer/100ms") and give the
/// registry to the executor. A parameters file overrides it (EngineExecutorOptions).
#pragma once

#include <map>
#include <memory>
#include <mutex>
#include <optional>
#include <string>

#include "rclcpp/callback_group.hpp"
#include "rclcpp/client.hpp"
#include "rclcpp/service.hpp"
#include "rclcpp/subscription_base.hpp"
#include "rclcpp/timer.hpp"
#include "rclcpp/waitable.hpp"
#include "rclrt_core/attributes.hpp"
#include "rclrt_core/callback.hpp"

namespace rclrt_rclcpp
{

using rclrt_core::Scheduling;

/// Thread-safe. What is set after the executor has found an entity has no effect on it; see
/// EngineExecutor::set_attributes() for that. Does not keep entities alive.
class SchedulingRegistry
{
public:
  void set(const std::string & name, const Scheduling & scheduling);
  void set(const std::shared_ptr<const rclcpp::TimerBase> & timer, const Scheduling & scheduling);
  void set(
    const std::shared_ptr<const rclcpp::SubscriptionBase> & subscription,
    const Scheduling & scheduling);
  void set(
    const std::shared_ptr<const rclcpp::ServiceBase> & service, const Scheduling & scheduling);
  void set(const std::shared_ptr<const rclcpp::ClientBase> & client, const Scheduling & scheduling);
  void set(const std::shared_ptr<const rclcpp::Waitable> & waitable, const Scheduling & scheduling);
  /// The attributes are for all callbacks of the group that have none of their own, the budget is shared by all.
  void set(
    const std::shared_ptr<const rclcpp::CallbackGroup> & group,
    const rclrt_core::Attributes & attributes, const rclrt_core::Budget & budget = {});

  /// What is set for the entity, else for its name, else nothing.
  std::optional<Scheduling> find(const void * entity, const std::string & name) const;

private:
  struct Known
  {
    std::weak_ptr<const void> entity;
    Scheduling scheduling;
  };

  void put(const std::shared_ptr<const void> & entity, const Scheduling & scheduling);

  mutable std::mutex mutex_;
  std::map<const void *, Known> by_entity_;
  std::map<std::string, Scheduling> by_name_;
};

}  // namespace rclrt_rclcpp
