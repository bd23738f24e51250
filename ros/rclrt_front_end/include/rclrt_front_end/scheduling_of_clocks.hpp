// Copyright 2026 The rclrt Authors
// SPDX-License-Identifier: Apache-2.0

/// What both front ends say of the callback by which a node hears of simulated time. A configuration file may say more.
#ifndef RCLRT_FRONT_END__SCHEDULING_OF_CLOCKS_HPP_
#define RCLRT_FRONT_END__SCHEDULING_OF_CLOCKS_HPP_

#include <chrono>

#include "rclrt_core/callback.hpp"

namespace rclrt_front_end
{

inline rclrt_core::Scheduling scheduling_of_clocks()
{
  rclrt_core::Scheduling scheduling;
  scheduling.priority = 99;  // under fixed priorities nothing comes before it
  scheduling.relative_deadline =
    std::chrono::milliseconds(1);  // under EDF only what is due within this time
  scheduling.sets_clock = true;
  return scheduling;
}

}  // namespace rclrt_front_end

#endif  // RCLRT_FRONT_END__SCHEDULING_OF_CLOCKS_HPP_
