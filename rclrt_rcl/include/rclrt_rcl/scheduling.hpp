// Copyright 2026 The rclrt Authors
// SPDX-License-Identifier: Apache-2.0

/// What matters about a callback, said in code: one of these comes with every subscription, timer,
/// service, client. All of it is optional, and a configuration may override it without touching
/// the code (ExecutorOptions::configuration_file).
#ifndef RCLRT_RCL__SCHEDULING_HPP_
#define RCLRT_RCL__SCHEDULING_HPP_

#include <chrono>
#include <cstdint>
#include <optional>
#include <string>

#include "rclrt_core/attributes.hpp"
#include "rclrt_core/callback.hpp"

namespace rclrt_rcl
{

struct Scheduling
{
  /// Last part of the entity's name, e.g. "plan" for "/node/timer/plan". Empty: the topic or service
  /// name, or the period of a timer. A second entity without a name of its own gets the suffix "#2";
  /// a given name that is taken is an error.
  std::string name;
  /// Policy, priority, CPU affinity ... of the thread while it runs the callback.
  rclrt_core::Attributes attributes;
  /// Priority in the order of an executor with fixed priorities. 0: the one in `attributes`.
  int priority = 0;
  /// Deadline of a job = release + this. 0: inherited from the job that published.
  std::chrono::nanoseconds relative_deadline{0};
  /// With a relative deadline: what the deadline that a message carries counts for.
  rclrt_core::DeadlineRule deadline_rule = rclrt_core::DeadlineRule::kOwn;
  /// Without: which of several inputs of the group it inherits from.
  rclrt_core::FanIn fan_in = rclrt_core::FanIn::kEarliest;
  /// Of a subscription to messages with a header: they carry the deadline header.stamp + this (stamps are
  /// the system clock's; hosts must have synchronised clocks). 0: the one that their publisher's job
  /// had, if it runs under rclrt on this machine. A stamp of 0 is none.
  std::chrono::nanoseconds deadline_after_stamp{0};
  /// Raise the priority to that of the most urgent callback that publishes to it under the same
  /// executor.
  bool inherit_priority = false;
  /// Unset: keep latest for timers, queue all for the rest.
  std::optional<rclrt_core::OverrunRule> overrun_rule;
  /// Bound on waiting jobs. 0: the QoS depth; for a timer 16, for a waitable 1.
  uint32_t depth = 0;
};

}  // namespace rclrt_rcl

#endif  // RCLRT_RCL__SCHEDULING_HPP_
