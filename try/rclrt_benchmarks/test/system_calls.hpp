// Copyright 2026 The rclrt Authors
// SPDX-License-Identifier: Apache-2.0

// How often this process has called syscall() for what a dispatch may not do often. Linking
// system_calls.cpp puts it between our libraries and the C library; glibc's own locks and the
// middleware's do not come by here.
#ifndef SYSTEM_CALLS_HPP_
#define SYSTEM_CALLS_HPP_

#include <cstdint>

namespace system_calls
{

struct Counts
{
  uint64_t wakes = 0;       ///< futex wakes
  uint64_t scheduling = 0;  ///< changes of policy, priority or CPUs
};

/// So far, from all threads. All 0 in sanitizer builds.
Counts counts() noexcept;

}  // namespace system_calls

#endif  // SYSTEM_CALLS_HPP_
