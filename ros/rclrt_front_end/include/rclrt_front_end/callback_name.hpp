// Copyright 2026 The rclrt Authors
// SPDX-License-Identifier: Apache-2.0

/// The names that callbacks have in parameters files, findings and traces, whatever the front end.
#pragma once

#include <chrono>
#include <cstdint>
#include <string>
#include <utility>

#include "rclrt_core/callback.hpp"
#include "rclrt_core/time.hpp"

namespace rclrt_front_end
{

/// Node's full name + "/" + kind + "/" + label, which is the topic, the service or a given name:
/// "/planner/subscription/map", "/planner/timer/100ms".
inline std::string callback_name(
  const std::string & node, rclrt_core::CallbackKind kind, const std::string & label)
{
  return node + "/" + to_string(kind) + (label.empty() || label.front() == '/' ? "" : "/") + label;
}

/// Label of a timer without a given name: the period in the largest unit that divides it, "100ms".
inline std::string period_label(rclrt_core::Duration period)
{
  constexpr std::pair<int64_t, const char *> kUnits[] = {
    {1000000000, "s"}, {1000000, "ms"}, {1000, "us"}, {1, "ns"}};
  const int64_t ns = period.count();
  for (const auto & [size, unit] : kUnits) {
    if (ns != 0 && ns % size == 0) {
      return std::to_string(ns / size) + unit;
    }
  }
  return "0ns";
}

/// What both front ends say of the callback by which a node hears of simulated time. A parameters file may say more.
inline rclrt_core::Scheduling scheduling_of_clocks()
{
  rclrt_core::Scheduling scheduling;
  scheduling.queue_priority = 99;  // under fixed priorities nothing comes before it
  scheduling.relative_deadline =
    std::chrono::milliseconds(1);  // under EDF only what is due within this time
  scheduling.sets_clock = true;
  return scheduling;
}

}  // namespace rclrt_front_end
