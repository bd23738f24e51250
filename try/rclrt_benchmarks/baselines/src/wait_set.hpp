// Copyright 2026 The rclrt Authors
// SPDX-License-Identifier: Apache-2.0

// An rcl wait set, the entities in it, and what the last wait has found.
#pragma once

#include <array>
#include <chrono>
#include <cstddef>
#include <functional>
#include <memory>
#include <vector>

#include "check.hpp"
#include "member.hpp"
#include "rcl/wait.h"
#include "rclrt_rcl/context.hpp"

namespace rclrt_baselines
{

using MemberPointer = std::shared_ptr<Member>;

class WaitSet
{
public:
  /// Kinds of entities, in the order in which they are handed out.
  enum Kind : std::size_t
  {
    kTimers,
    kSubscriptions,
    kServices,
    kClients,
    kOthers,
    kKinds
  };

  WaitSet(std::shared_ptr<rclrt_rcl::Context> context, const GuardCondition & interrupt);
  ~WaitSet();
  WaitSet(const WaitSet &) = delete;
  WaitSet & operator=(const WaitSet &) = delete;

  /// A member that stays keeps its place, a new one comes last. Drops the result.
  void update(const std::vector<MemberPointer> & present);

  /// Fill the set anew and wait. Negative: no timeout. Returns whether it was interrupted.
  bool wait(std::chrono::nanoseconds timeout);
  void drop_result() noexcept { has_result_ = false; }

  /// The next one of that kind that the wait found ready, taken from the result; null if there is
  /// none. A timer that `may_run` refuses stays in the result, others go until the next wait.
  MemberPointer next_ready(Kind kind, const std::function<bool(const Member &)> & may_run);

private:
  void fill();
  void add(Member & member);
  /// Whether it is in the result; it is not any more.
  bool take(const Member & member);

  const std::shared_ptr<rclrt_rcl::Context> context_;
  const GuardCondition & interrupt_;
  rcl_wait_set_t set_ = rcl_get_zero_initialized_wait_set();
  std::array<std::vector<MemberPointer>, kKinds> members_;
  std::array<std::size_t, kKinds> next_{};  ///< where to go on looking
  std::size_t interrupt_place_ = 0;
  bool needs_resize_ = true;
  bool has_result_ = false;
};

}  // namespace rclrt_baselines
