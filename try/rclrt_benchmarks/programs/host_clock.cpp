// Copyright 2026 The rclrt Authors
// SPDX-License-Identifier: Apache-2.0

#include "host_clock.hpp"

#include <sys/syscall.h>
#include <unistd.h>

#include <atomic>
#include <cstdint>
#include <ctime>

namespace
{

constexpr int64_t kSecond_ns = 1'000'000'000;

/// Stored once, before there are other threads.
std::atomic<int64_t> ahead_ns{0};

}  // namespace

namespace hosts
{

void set_clock_ahead(std::chrono::nanoseconds by)
{
  ahead_ns.store(by.count(), std::memory_order_relaxed);
}

}  // namespace hosts

// By a system call: the definition of the C library may not have been found yet when a library asks first.
extern "C" __attribute__((visibility("default"))) int clock_gettime(
  clockid_t clock, timespec * time) noexcept
{
  const auto result = static_cast<int>(syscall(SYS_clock_gettime, clock, time));
  if (result == 0 && clock == CLOCK_REALTIME) {
    const int64_t ns =
      time->tv_sec * kSecond_ns + time->tv_nsec + ahead_ns.load(std::memory_order_relaxed);
    time->tv_sec = ns / kSecond_ns;
    time->tv_nsec = ns % kSecond_ns;
  }
  return result;
}
