// Copyright 2026 The rclrt Authors
// SPDX-License-Identifier: Apache-2.0

/// A group of callbacks that share a limit on how many of them run at once.
///
/// Exclusion is queue membership: jobs of a busy group wait in an ordered queue. No thread waits in
/// a lock for them. If a job that waits is more urgent than the one that runs, the runner's thread
/// inherits its urgency.
#pragma once

#include <cstdint>
#include <string>
#include <utility>

#include "rclrt_core/attributes.hpp"
#include "rclrt_core/budget.hpp"

namespace rclrt_core
{

struct GroupOptions
{
  std::string name;
  /// How many jobs of the group may run at once: 1 is mutually exclusive, more is reentrant.
  /// 0 means reentrant up to the number of CPUs, but at least 2: a callback that waits for another one of
  /// its group must not wait for ever.
  uint32_t parallelism = 1;
  /// For threads that serve only this group (the isolated model) and for callbacks of the group
  /// whose own attributes leave the policy unchanged.
  Attributes attributes;
  /// CPU time of the jobs of all callbacks of the group together: when it is used up, all of them are demoted. Then no
  /// callback of it may have a budget of its own, be inline or ask for SCHED_DEADLINE.
  Budget budget{};
  std::string place{};  ///< as in CallbackOptions; forgotten once the group is there
};

class Group
{
public:
  virtual ~Group() = default;
  Group(const Group &) = delete;
  Group & operator=(const Group &) = delete;

  const std::string & name() const noexcept { return options_.name; }
  const GroupOptions & options() const noexcept { return options_; }

protected:
  explicit Group(GroupOptions options) : options_(std::move(options)) {}

  GroupOptions options_;
};

}  // namespace rclrt_core
