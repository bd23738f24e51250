// Copyright 2026 The rclrt Authors
// SPDX-License-Identifier: Apache-2.0

/// An object, in practice an executor, that is told when groups and entities come and go.
///
/// Nodes and groups hold it weakly. Called without locks of the node or group held.
#ifndef RCLRT_RCL__ENTITY_OBSERVER_HPP_
#define RCLRT_RCL__ENTITY_OBSERVER_HPP_

#include <memory>

namespace rclrt_rcl
{

class CallbackGroup;
class Entity;

class EntityObserver
{
public:
  virtual ~EntityObserver() = default;
  /// A node that is observed has a new group.
  virtual void group_created(const std::shared_ptr<CallbackGroup> & group) = 0;
  /// An observed group is being destroyed; it has no entities any more.
  virtual void group_destroyed(const CallbackGroup * group) = 0;
  /// An observed group has a new entity.
  virtual void entity_added(const std::shared_ptr<Entity> & entity) = 0;
  /// The entity is closed. On return the executor starts no further run of it.
  virtual void entity_removed(const std::shared_ptr<Entity> & entity) = 0;
};

}  // namespace rclrt_rcl

#endif  // RCLRT_RCL__ENTITY_OBSERVER_HPP_
