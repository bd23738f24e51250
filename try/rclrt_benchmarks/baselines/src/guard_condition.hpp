// Copyright 2026 The rclrt Authors
// SPDX-License-Identifier: Apache-2.0

// Wakes who waits on a wait set.
#ifndef GUARD_CONDITION_HPP_
#define GUARD_CONDITION_HPP_

#include <memory>
#include <utility>

#include "check.hpp"
#include "rcl/guard_condition.h"
#include "rclrt_rcl/context.hpp"

namespace rclrt_baselines
{

class GuardCondition
{
public:
  explicit GuardCondition(std::shared_ptr<rclrt_rcl::Context> context)
  : context_(std::move(context))
  {
    check(
      rcl_guard_condition_init(
        &handle_, context_->handle(), rcl_guard_condition_get_default_options()),
      "making a guard condition");
  }
  ~GuardCondition() { ignore_failure(rcl_guard_condition_fini(&handle_)); }
  GuardCondition(const GuardCondition &) = delete;
  GuardCondition & operator=(const GuardCondition &) = delete;

  void trigger() noexcept { ignore_failure(rcl_trigger_guard_condition(&handle_)); }
  const rcl_guard_condition_t * handle() const noexcept { return &handle_; }

private:
  const std::shared_ptr<rclrt_rcl::Context> context_;
  rcl_guard_condition_t handle_ = rcl_get_zero_initialized_guard_condition();
};

}  // namespace rclrt_baselines

#endif  // GUARD_CONDITION_HPP_
