// Copyright 2026 The rclrt Authors
// SPDX-License-Identifier: Apache-2.0

#include "rclrt_rclcpp/scheduling.hpp"

#include <iterator>
#include <stdexcept>

namespace rclrt_rclcpp
{

void SchedulingRegistry::put(
  const std::shared_ptr<const void> & entity, const Scheduling & scheduling)
{
  if (!entity) {
    throw std::invalid_argument("SchedulingRegistry::set(): no entity given");
  }
  const std::lock_guard<std::mutex> lock(mutex_);
  for (auto known = by_entity_.begin(); known != by_entity_.end();) {
    known = known->second.entity.expired() ? by_entity_.erase(known) : std::next(known);
  }
  by_entity_[entity.get()] = {entity, scheduling};
}

void SchedulingRegistry::set(const std::string & name, const Scheduling & scheduling)
{
  const std::lock_guard<std::mutex> lock(mutex_);
  by_name_[name] = scheduling;
}

void SchedulingRegistry::set(
  const std::shared_ptr<const rclcpp::TimerBase> & timer, const Scheduling & scheduling)
{
  put(timer, scheduling);
}

void SchedulingRegistry::set(
  const std::shared_ptr<const rclcpp::SubscriptionBase> & subscription,
  const Scheduling & scheduling)
{
  put(subscription, scheduling);
}

void SchedulingRegistry::set(
  const std::shared_ptr<const rclcpp::ServiceBase> & service, const Scheduling & scheduling)
{
  put(service, scheduling);
}

void SchedulingRegistry::set(
  const std::shared_ptr<const rclcpp::ClientBase> & client, const Scheduling & scheduling)
{
  put(client, scheduling);
}

void SchedulingRegistry::set(
  const std::shared_ptr<const rclcpp::Waitable> & waitable, const Scheduling & scheduling)
{
  put(waitable, scheduling);
}

void SchedulingRegistry::set(
  const std::shared_ptr<const rclcpp::CallbackGroup> & group,
  const rclrt_core::Attributes & attributes, const rclrt_core::Budget & budget)
{
  Scheduling scheduling;
  scheduling.attributes = attributes;
  scheduling.budget = budget;
  put(group, scheduling);
}

std::optional<Scheduling> SchedulingRegistry::find(
  const void * entity, const std::string & name) const
{
  const std::lock_guard<std::mutex> lock(mutex_);
  const auto known = by_entity_.find(entity);
  if (known != by_entity_.end() && !known->second.entity.expired()) {
    return known->second.scheduling;
  }
  const auto named = by_name_.find(name);
  return named != by_name_.end() ? std::optional<Scheduling>(named->second) : std::nullopt;
}

}  // namespace rclrt_rclcpp
