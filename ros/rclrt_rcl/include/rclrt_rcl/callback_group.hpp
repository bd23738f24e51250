// Copyright 2026 The rclrt Authors
// SPDX-License-Identifier: Apache-2.0

/// A group of callbacks: mutually exclusive or reentrant.
///
/// Entities keep their group alive; the group knows its entities weakly. It is executed by at most
/// one executor at a time.
#pragma once

#include <cstdint>
#include <memory>
#include <mutex>
#include <string>
#include <vector>

#include "rclrt_core/attributes.hpp"
#include "rclrt_core/budget.hpp"

namespace rclrt_rcl
{

class CallbackGroup;
class Entity;

/// An object, in practice an executor, that is told when groups and entities come and go.
///
/// Nodes and groups hold it weakly. Called without locks of the node or group held.
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

enum class CallbackGroupType : uint8_t
{
  kMutuallyExclusive,  ///< one callback of the group at a time
  kReentrant,          ///< any callbacks at once, also the same one several times
};

struct CallbackGroupOptions
{
  /// Last part of the name, e.g. "control" for "/node/group/control". Empty: its number.
  std::string name;
  /// For the group's own threads (CallbackIsolatedExecutor), and for its callbacks that leave the
  /// policy unchanged.
  rclrt_core::Attributes attributes;
  /// CPU time that all of its callbacks share (rclrt_core::GroupOptions::budget).
  rclrt_core::Budget budget;
  /// Reentrant groups: how many callbacks at once; 0 is the number of CPUs, but at least 2.
  uint32_t parallelism = 0;
  /// Join the executor of the node. Otherwise Executor::add_callback_group() is needed.
  bool automatically_add_to_executor_with_node = true;
};

class CallbackGroup : public std::enable_shared_from_this<CallbackGroup>
{
public:
  CallbackGroup(std::string name, CallbackGroupType type, CallbackGroupOptions options);
  ~CallbackGroup();
  CallbackGroup(const CallbackGroup &) = delete;
  CallbackGroup & operator=(const CallbackGroup &) = delete;

  /// Node's full name + "/group/" + given name or number; the first group of a node is "default".
  const std::string & name() const noexcept { return name_; }
  CallbackGroupType type() const noexcept { return type_; }
  const CallbackGroupOptions & options() const noexcept { return options_; }
  bool automatically_add_to_executor_with_node() const noexcept
  {
    return options_.automatically_add_to_executor_with_node;
  }

  /// The entities that exist now.
  std::vector<std::shared_ptr<Entity>> entities() const;

  // For nodes, entities and executors:

  void add(const std::shared_ptr<Entity> & entity);
  void remove(const std::shared_ptr<Entity> & entity);
  /// Returns false if another observer, still alive, has the group. From then on the observer is
  /// told of every entity that is not in `present`.
  bool observe(
    const std::shared_ptr<EntityObserver> & observer,
    std::vector<std::shared_ptr<Entity>> * present);
  void unobserve();

private:
  const std::string name_;
  const CallbackGroupType type_;
  const CallbackGroupOptions options_;

  mutable std::mutex mutex_;
  std::vector<std::weak_ptr<Entity>> entities_;
  std::weak_ptr<EntityObserver> observer_;
};

}  // namespace rclrt_rcl
