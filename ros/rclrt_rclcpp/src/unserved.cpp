// Copyright 2026 The rclrt Authors
// SPDX-License-Identifier: Apache-2.0

#include "unserved.hpp"

#include <iterator>
#include <utility>

namespace rclrt_rclcpp
{

Unserved & Unserved::instance()
{
  static auto & instance = *new Unserved;  // never destroyed: executors may outlive what is static
  return instance;
}

void Unserved::keep(const std::shared_ptr<const void> & entity, const EventCounts & counts)
{
  const std::lock_guard<rclrt_front_end::PiMutex> lock(mutex_);
  for (auto known = kept_.begin(); known != kept_.end();) {
    known = known->second.entity.expired() ? kept_.erase(known) : std::next(known);
  }
  if (!counts.empty()) {
    Kept & kept = kept_[entity.get()];
    kept.entity = entity;
    kept.counts.insert(kept.counts.end(), counts.begin(), counts.end());
  }
}

EventCounts Unserved::take(const void * entity)
{
  const std::lock_guard<rclrt_front_end::PiMutex> lock(mutex_);
  const auto found = kept_.find(entity);
  if (found == kept_.end()) {
    return {};
  }
  // Another entity may lie at the same address by now.
  EventCounts counts =
    found->second.entity.expired() ? EventCounts() : std::move(found->second.counts);
  kept_.erase(found);
  return counts;
}

}  // namespace rclrt_rclcpp
