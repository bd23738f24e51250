// Copyright 2026 The rclrt Authors
// SPDX-License-Identifier: Apache-2.0

#include "system_calls.hpp"

#include <dlfcn.h>
#include <linux/futex.h>
#include <sys/syscall.h>

#include <atomic>
#include <cstdarg>

namespace
{

// Relaxed: statistics, read when nothing is going on.
std::atomic<uint64_t> wakes{0};
std::atomic<uint64_t> scheduling{0};

}  // namespace

namespace system_calls
{

Counts counts() noexcept
{
  return {wakes.load(std::memory_order_relaxed), scheduling.load(std::memory_order_relaxed)};
}

}  // namespace system_calls

#if !defined(RCLRT_SANITIZE_address) && !defined(RCLRT_SANITIZE_thread)
extern "C" long syscall(long number, ...) noexcept
{
  using Call = long (*)(long, ...);
  static const auto next = reinterpret_cast<Call>(dlsym(RTLD_NEXT, "syscall"));
  va_list given;
  va_start(given, number);
  long a[6];
  for (long & argument : a) {
    argument = va_arg(given, long);  // those that were not given are not looked at by the kernel
  }
  va_end(given);
  if (number == SYS_futex && (a[1] & FUTEX_CMD_MASK) == FUTEX_WAKE) {
    wakes.fetch_add(1, std::memory_order_relaxed);
  } else if (number == SYS_sched_setattr || number == SYS_sched_setaffinity) {
    scheduling.fetch_add(1, std::memory_order_relaxed);
  }
  return next(number, a[0], a[1], a[2], a[3], a[4], a[5]);
}
#endif
