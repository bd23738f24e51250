// Copyright 2026 The rclrt Authors
// SPDX-License-Identifier: Apache-2.0

/// What matters about a callback, said in code: one of these comes with every subscription, timer,
/// service, client. All of it is optional, and a configuration may override it without touching
/// the code (ExecutorOptions::configuration_file).
#ifndef RCLRT_RCL__SCHEDULING_HPP_
#define RCLRT_RCL__SCHEDULING_HPP_

#include <chrono>
#include <cstdint>
#include <string>

#include "rclrt_core/callback.hpp"

namespace rclrt_rcl
{

struct Scheduling : rclrt_core::Scheduling
{
  /// Last part of the entity's name, e.g. "plan" for "/node/timer/plan". Empty: the topic or service
  /// name, or the period of a timer. A second entity without a name of its own gets the suffix "#2";
  /// a given name that is taken is an error.
  std::string name;
  /// Bound on waiting jobs. 0: the QoS depth; for a timer 16, for a waitable 1.
  uint32_t depth = 0;
};

}  // namespace rclrt_rcl

#endif  // RCLRT_RCL__SCHEDULING_HPP_
