// Copyright 2026 The rclrt Authors
// SPDX-License-Identifier: Apache-2.0

/// CLOCK_REALTIME of a process, apart from that of the machine: for experiments with hosts whose clocks differ. Linux
/// has no namespace for this clock.
#ifndef HOST_CLOCK_HPP_
#define HOST_CLOCK_HPP_

#include <chrono>

namespace hosts
{

/// From now on every library of this process sees that clock so much ahead of what it is: they all read it through
/// clock_gettime(), of which this program has the first definition. Other clocks stay.
void set_clock_ahead(std::chrono::nanoseconds by);

}  // namespace hosts

#endif  // HOST_CLOCK_HPP_
