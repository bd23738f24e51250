// Copyright 2026 The rclrt Authors
// SPDX-License-Identifier: Apache-2.0

/// Proves from what the scheduler recorded that it kept EDF order: at no time did a thread with a
/// deadline wait, for longer than a bound, while a CPU where it may run ran something later. Something
/// later is a thread with a later deadline or background; not a turn of the reserve.
///
/// The bound is there because the decision and the switch of a running CPU are not one instant.
/// A deadline is known as of the last event of its thread: one that the thread stores while it runs, as a
/// worker does between jobs without sleeping, counts when it is next queued or gets a CPU.
/// Knows nothing of the kernel; works on records alone, so it can be tested with made-up ones.
#pragma once

#include <cstdint>
#include <istream>
#include <ostream>
#include <string>
#include <vector>

#include "rclrt_scx/slots.h"

namespace rclrt_scx
{

/// Where EDF order was broken: `waiting` could have run on `cpu`, which ran `running`.
struct Violation
{
  uint64_t from_ns;
  uint64_t until_ns;
  uint32_t waiting;
  uint64_t waiting_key;
  uint32_t running;
  uint64_t running_key;
  uint16_t cpu;
};

struct CheckResult
{
  std::vector<Violation> violations;
  std::size_t waits = 0;     ///< times a thread with a deadline was queued
  std::size_t switches = 0;  ///< times one got a CPU
  uint64_t longest_ns = 0;   ///< the longest inversion that stayed within the bound
};

/// Check `events`, in any order of time. O(n log n + n x waiting threads x CPUs).
CheckResult check_order(std::vector<rclrt_scx_event> events, uint64_t bound_ns);

/// One event a line: `time_ns key allowed(hex) tid cpu type`, after a line that names the format.
/// With `lost` above zero the records prove nothing, and reading them is an error.
void write_events(std::ostream & out, const std::vector<rclrt_scx_event> & events, uint64_t lost);
/// Empty, or what is wrong in which line.
std::string read_events(std::istream & in, std::vector<rclrt_scx_event> & events);

}  // namespace rclrt_scx
