// Copyright 2026 The rclrt Authors
// SPDX-License-Identifier: Apache-2.0

/// The names that callbacks have in parameters files, findings and traces, whatever the front end.
#pragma once

#include <chrono>
#include <string>

#include "rclrt_core/callback.hpp"
#include "rclrt_core/time.hpp"

namespace rclrt_front_end
{

/// Node's full name + "/" + kind + "/" + label, which is the topic, the service or a given name:
/// "/planner/subscription/map", "/planner/timer/100ms".
std::string callback_name(
  const std::string & node, rclrt_core::CallbackKind kind, const std::string & label);

/// Label of a timer without a given name: the period in the largest unit that divides it, "100ms".
std::string period_label(rclrt_core::Duration period);

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
