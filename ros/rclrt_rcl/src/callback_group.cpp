// Copyright 2026 The rclrt Authors
// SPDX-License-Identifier: Apache-2.0

#include "rclrt_rcl/callback_group.hpp"

#include <algorithm>
#include <utility>

#include "rclrt_rcl/entity.hpp"

namespace rclrt_rcl
{

CallbackGroup::CallbackGroup(std::string name, CallbackGroupType type, CallbackGroupOptions options)
: name_(std::move(name)), type_(type), options_(std::move(options))
{
}

CallbackGroup::~CallbackGroup()
{
  if (const auto observer = observer_.lock()) {
    observer->group_destroyed(this);
  }
}

std::vector<std::shared_ptr<Entity>> CallbackGroup::entities() const
{
  std::vector<std::shared_ptr<Entity>> present;
  std::lock_guard<std::mutex> lock(mutex_);
  for (const auto & known : entities_) {
    if (auto entity = known.lock()) {
      present.push_back(std::move(entity));
    }
  }
  return present;
}

void CallbackGroup::add(const std::shared_ptr<Entity> & entity)
{
  std::shared_ptr<EntityObserver> observer;
  {
    std::lock_guard<std::mutex> lock(mutex_);
    entities_.push_back(entity);
    observer = observer_.lock();
  }
  if (observer) {
    observer->entity_added(entity);
  }
}

void CallbackGroup::remove(const std::shared_ptr<Entity> & entity)
{
  // The observer first: once the entity has left the group, its name may be given out again.
  std::shared_ptr<EntityObserver> told;
  {
    std::lock_guard<std::mutex> lock(mutex_);
    told = observer_.lock();
  }
  if (told) {
    told->entity_removed(entity);
  }
  std::shared_ptr<EntityObserver> observer;
  {
    std::lock_guard<std::mutex> lock(mutex_);
    const auto found =
      std::find_if(entities_.begin(), entities_.end(), [&entity](const auto & known) {
        return !known.owner_before(entity) && !entity.owner_before(known);
      });
    if (found != entities_.end()) {
      entities_.erase(found);
    }
    observer = observer_.lock();
  }
  if (observer && observer != told) {  // it came in between
    observer->entity_removed(entity);
  }
}

bool CallbackGroup::observe(
  const std::shared_ptr<EntityObserver> & observer, std::vector<std::shared_ptr<Entity>> * present)
{
  {
    std::lock_guard<std::mutex> lock(mutex_);
    if (!observer_.expired()) {
      return false;
    }
    observer_ = observer;
    for (const auto & known : entities_) {
      if (auto entity = known.lock()) {
        present->push_back(std::move(entity));
      }
    }
  }
  return true;
}

void CallbackGroup::unobserve()
{
  std::lock_guard<std::mutex> lock(mutex_);
  observer_.reset();
}

}  // namespace rclrt_rcl
