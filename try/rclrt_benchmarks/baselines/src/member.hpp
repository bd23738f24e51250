// Copyright 2026 The rclrt Authors
// SPDX-License-Identifier: Apache-2.0

// What an executor knows about one entity, and how it stops running it.
#pragma once

#include <atomic>
#include <cstddef>
#include <memory>
#include <utility>
#include <vector>

#include "rcl_timer.hpp"
#include "rclrt_rcl/callback_group.hpp"
#include "rclrt_rcl/entity.hpp"

namespace rclrt_baselines
{

/// Whether a callback of the group may start: rclcpp's can_be_taken_from.
struct GroupState
{
  explicit GroupState(rclrt_rcl::CallbackGroupType group_type) : type(group_type) {}
  const rclrt_rcl::CallbackGroupType type;
  std::atomic<bool> is_free{true};
};

class Member
{
public:
  Member(std::shared_ptr<rclrt_rcl::Entity> of, std::shared_ptr<GroupState> its_group)
  : entity(std::move(of)),
    stay(entity->stay()),
    group(std::move(its_group)),
    is_timer(entity->kind() == rclrt_core::CallbackKind::kTimer),
    handles(entity->wait_handles())
  {
  }

  rclrt_rcl::Timer & as_timer() const { return static_cast<rclrt_rcl::Timer &>(*entity); }

  const std::shared_ptr<rclrt_rcl::Entity> entity;
  const rclrt_rcl::Entity::Stay stay;
  const std::shared_ptr<GroupState> group;
  const bool is_timer;
  const std::vector<rclrt_rcl::WaitHandle> handles;
  /// For a timer; null while it is not driven. Written before the member is known to others.
  std::shared_ptr<RclTimer> timer;
  /// Set when the entity leaves the executor; read before each run.
  std::atomic<bool> is_removed{false};
  /// Where `handles` or `timer` are in the wait set. Only for the thread that waits.
  std::vector<std::size_t> places;
};

}  // namespace rclrt_baselines
