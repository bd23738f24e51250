// Copyright 2026 The rclrt Authors
// SPDX-License-Identifier: Apache-2.0

/// Which nodes and groups an executor has, and the news of them.
#pragma once

#include <memory>
#include <mutex>
#include <vector>

#include "node_state.hpp"
#include "rclrt_rcl/executor.hpp"

namespace rclrt_rcl
{

class Executor::Membership : public EntityObserver,
                             public std::enable_shared_from_this<Executor::Membership>
{
public:
  using Entities = std::vector<std::shared_ptr<Entity>>;

  explicit Membership(Executor & executor) : executor_(&executor) {}

  void add_node(const std::shared_ptr<detail::NodeState> & node);
  /// Returns the entities it let go of, which may still be running.
  Entities remove_node(const std::shared_ptr<detail::NodeState> & node);
  void add_group(const std::shared_ptr<CallbackGroup> & group);
  Entities remove_group(const std::shared_ptr<CallbackGroup> & group);
  Entities remove_all();
  std::vector<std::shared_ptr<CallbackGroup>> groups(bool manual, bool automatic) const;

  void group_created(const std::shared_ptr<CallbackGroup> & group) override;
  void group_destroyed(const CallbackGroup * group) override;
  void entity_added(const std::shared_ptr<Entity> & entity) override;
  void entity_removed(const std::shared_ptr<Entity> & entity) override;

private:
  struct GroupRecord
  {
    const CallbackGroup * key;
    std::weak_ptr<CallbackGroup> group;
    bool automatic;
  };

  // All under the mutex:
  std::vector<GroupRecord>::iterator find(const CallbackGroup * group);
  bool attach(const std::shared_ptr<CallbackGroup> & group, bool automatic);
  void add(const std::shared_ptr<Entity> & entity);
  void detach(std::vector<GroupRecord>::iterator record, Entities * entities);

  /// Recursive: letting go of the last reference to a group destroys it, and that is news again.
  mutable std::recursive_mutex mutex_;
  Executor * executor_;  ///< null once it lets go for good
  std::vector<GroupRecord> groups_;
  std::vector<std::weak_ptr<detail::NodeState>> nodes_;
};

}  // namespace rclrt_rcl
