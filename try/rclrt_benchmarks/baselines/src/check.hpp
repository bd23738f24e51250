// Copyright 2026 The rclrt Authors
// SPDX-License-Identifier: Apache-2.0

// Results of rcl functions.
#pragma once

#include <memory>
#include <string>
#include <utility>

#include "rcl/error_handling.h"
#include "rcl/guard_condition.h"
#include "rcl/types.h"
#include "rclrt_rcl/context.hpp"
#include "rclrt_rcl/error.hpp"

namespace rclrt_baselines
{

inline void check(rcl_ret_t result, const char * what)
{
  if (result != RCL_RET_OK) {
    const std::string text = std::string(what) + ": " + rcl_get_error_string().str;
    rcl_reset_error();
    throw rclrt_rcl::Error(text);
  }
}

/// Where nothing can be done about it, e.g. in destructors.
inline void ignore_failure(rcl_ret_t result) noexcept
{
  if (result != RCL_RET_OK) {
    rcl_reset_error();
  }
}

// Wakes the thread that waits on a wait set.
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
