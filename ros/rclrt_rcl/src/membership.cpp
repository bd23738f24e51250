// Copyright 2026 The rclrt Authors
// SPDX-License-Identifier: Apache-2.0

#include "membership.hpp"

#include <algorithm>

#include "rclrt_rcl/error.hpp"

namespace rclrt_rcl
{
namespace
{

bool same(const std::weak_ptr<EntityObserver> & a, const std::shared_ptr<EntityObserver> & b)
{
  return !a.owner_before(b) && !b.owner_before(a);
}

}  // namespace

std::vector<Executor::Membership::GroupRecord>::iterator Executor::Membership::find(
  const CallbackGroup * group)
{
  return std::find_if(
    groups_.begin(), groups_.end(), [group](const auto & record) { return record.key == group; });
}

bool Executor::Membership::attach(const std::shared_ptr<CallbackGroup> & group, bool automatic)
{
  Entities present;
  if (!group->observe(shared_from_this(), &present)) {
    return false;
  }
  groups_.push_back({group.get(), group, automatic});
  try {
    executor_->on_group_added(group);
    for (const auto & entity : present) {
      add(entity);
    }
  } catch (...) {
    Entities dropped;
    detach(find(group.get()), &dropped);
    throw;
  }
  return true;
}

void Executor::Membership::add(const std::shared_ptr<Entity> & entity)
{
  // It may be in already: found in its group when that was added, while its maker had yet to tell us.
  if (entity->is_closed() || !entity->begin_stay()) {
    return;
  }
  try {
    executor_->on_entity_added(entity);
  } catch (...) {
    entity->end_stay();
    throw;
  }
}

void Executor::Membership::detach(std::vector<GroupRecord>::iterator record, Entities * entities)
{
  const CallbackGroup * const key = record->key;
  const auto group = record->group.lock();
  groups_.erase(record);
  if (group) {
    for (const auto & entity : group->entities()) {
      executor_->on_entity_removed(entity);
      entity->end_stay();
      entities->push_back(entity);
    }
    // Last: from now on another executor may add the group. An entity that came after the list was
    // made waits for our mutex, finds that the group is not ours, and is that executor's.
    group->unobserve();
  }
  executor_->on_group_removed(key);
}

void Executor::Membership::add_node(const std::shared_ptr<detail::NodeState> & node)
{
  std::lock_guard<std::recursive_mutex> lock(mutex_);
  {
    std::lock_guard<std::mutex> node_lock(node->mutex);
    if (!node->observer.expired()) {
      throw Error(
        "Node '" + node->fully_qualified_name + "' has already been added to an executor.");
    }
    node->observer = shared_from_this();
  }
  nodes_.push_back(node);
  std::vector<std::shared_ptr<CallbackGroup>> attached;
  try {
    for (const auto & group : node->present_groups()) {
      // One that is in an executor already was added there by hand.
      if (group->automatically_add_to_executor_with_node() && attach(group, true)) {
        attached.push_back(group);
      }
    }
  } catch (...) {
    Entities dropped;
    for (const auto & group : attached) {
      detach(find(group.get()), &dropped);
    }
    nodes_.pop_back();
    std::lock_guard<std::mutex> node_lock(node->mutex);
    node->observer.reset();
    throw;
  }
}

Executor::Membership::Entities Executor::Membership::remove_node(
  const std::shared_ptr<detail::NodeState> & node)
{
  Entities dropped;
  std::lock_guard<std::recursive_mutex> lock(mutex_);
  {
    std::lock_guard<std::mutex> node_lock(node->mutex);
    if (node->observer.expired()) {
      throw Error(
        "Node '" + node->fully_qualified_name + "' needs to be associated with an executor.");
    }
    if (!same(node->observer, shared_from_this())) {
      throw Error(
        "Node '" + node->fully_qualified_name + "' needs to be associated with this executor.");
    }
    node->observer.reset();
  }
  nodes_.erase(
    std::remove_if(
      nodes_.begin(), nodes_.end(),
      [&node](const auto & known) { return known.expired() || known.lock() == node; }),
    nodes_.end());
  for (const auto & group : node->present_groups()) {
    const auto record = find(group.get());
    if (record != groups_.end() && record->automatic) {
      detach(record, &dropped);
    }
  }
  return dropped;
}

void Executor::Membership::add_group(const std::shared_ptr<CallbackGroup> & group)
{
  std::lock_guard<std::recursive_mutex> lock(mutex_);
  if (find(group.get()) != groups_.end()) {
    throw Error("Callback group '" + group->name() + "' has already been added to this executor.");
  }
  if (!attach(group, false)) {
    throw Error("Callback group '" + group->name() + "' has already been added to an executor.");
  }
}

Executor::Membership::Entities Executor::Membership::remove_group(
  const std::shared_ptr<CallbackGroup> & group)
{
  Entities dropped;
  std::lock_guard<std::recursive_mutex> lock(mutex_);
  const auto record = find(group.get());
  if (record == groups_.end()) {
    throw Error(
      "Callback group '" + group->name() + "' needs to be associated with this executor.");
  }
  if (record->automatic) {
    throw Error(
      "Callback group '" + group->name() +
      "' came with its node; remove the node, or create the group with "
      "automatically_add_to_executor_with_node = false");
  }
  detach(record, &dropped);
  return dropped;
}

Executor::Membership::Entities Executor::Membership::remove_all()
{
  Entities dropped;
  std::lock_guard<std::recursive_mutex> lock(mutex_);
  for (const auto & known : nodes_) {
    if (const auto node = known.lock()) {
      std::lock_guard<std::mutex> node_lock(node->mutex);
      node->observer.reset();
    }
  }
  nodes_.clear();
  while (!groups_.empty()) {
    detach(groups_.begin(), &dropped);
  }
  executor_ = nullptr;
  return dropped;
}

std::vector<std::shared_ptr<CallbackGroup>> Executor::Membership::groups(
  bool manual, bool automatic) const
{
  std::vector<std::shared_ptr<CallbackGroup>> present;
  std::lock_guard<std::recursive_mutex> lock(mutex_);
  for (const auto & record : groups_) {
    if (record.automatic ? automatic : manual) {
      if (auto group = record.group.lock()) {
        present.push_back(std::move(group));
      }
    }
  }
  return present;
}

void Executor::Membership::group_created(const std::shared_ptr<CallbackGroup> & group)
{
  std::lock_guard<std::recursive_mutex> lock(mutex_);
  if (executor_ != nullptr && group->automatically_add_to_executor_with_node()) {
    attach(group, true);
  }
}

void Executor::Membership::group_destroyed(const CallbackGroup * group)
{
  std::lock_guard<std::recursive_mutex> lock(mutex_);
  const auto record = find(group);
  if (record != groups_.end()) {
    Entities none;
    detach(record, &none);
  }
}

void Executor::Membership::entity_added(const std::shared_ptr<Entity> & entity)
{
  std::lock_guard<std::recursive_mutex> lock(mutex_);
  // The group may have been let go of meanwhile; then its next observer finds the entity in it.
  if (find(entity->group().get()) != groups_.end()) {
    add(entity);
  }
}

void Executor::Membership::entity_removed(const std::shared_ptr<Entity> & entity)
{
  std::lock_guard<std::recursive_mutex> lock(mutex_);
  if (executor_ != nullptr) {
    executor_->on_entity_removed(entity);
    entity->end_stay();
  }
}

}  // namespace rclrt_rcl
