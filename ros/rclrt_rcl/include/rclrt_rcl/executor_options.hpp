// Copyright 2026 The rclrt Authors
// SPDX-License-Identifier: Apache-2.0

/// Options that the executors on the engine have in common.
#ifndef RCLRT_RCL__EXECUTOR_OPTIONS_HPP_
#define RCLRT_RCL__EXECUTOR_OPTIONS_HPP_

#include <functional>
#include <memory>

#include "rclrt_core/attributes.hpp"
#include "rclrt_front_end/common_options.hpp"
#include "rclrt_rcl/callback_group.hpp"
#include "rclrt_rcl/context.hpp"
#include "rclrt_rcl/scheduling.hpp"

namespace rclrt_rcl
{

struct ExecutorOptions : rclrt_front_end::CommonOptions
{
  /// Null: the default context.
  std::shared_ptr<Context> context;

  /// Called for each entity before it is scheduled; may change what the entity's options say. Must
  /// not call the executor; may throw Error.
  std::function<void(const Entity &, Scheduling &)> configure;
  /// Called for each group: may change the attributes of its threads.
  std::function<void(const CallbackGroup &, rclrt_core::Attributes &)> configure_group;
};

}  // namespace rclrt_rcl

#endif  // RCLRT_RCL__EXECUTOR_OPTIONS_HPP_
