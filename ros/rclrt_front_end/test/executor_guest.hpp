// Copyright 2026 The rclrt Authors
// SPDX-License-Identifier: Apache-2.0

/// What the scenarios of executor_guest share.
#pragma once

#include <time.h>

#include <chrono>
#include <cstdint>
#include <map>
#include <string>
#include <thread>

namespace guest
{

/// What was seen instead of what was wanted; empty: all as wanted; "skip: " and the reason.
using Scenarios = std::map<std::string, std::string (*)()>;
/// Scenarios in which CPUs go away.
Scenarios cpu_scenarios();

inline void use_cpu(std::chrono::milliseconds work)
{
  const auto now_ns = [] {
    timespec time{};
    clock_gettime(CLOCK_THREAD_CPUTIME_ID, &time);
    return int64_t{time.tv_sec} * 1'000'000'000 + time.tv_nsec;
  };
  for (const int64_t end = now_ns() + std::chrono::nanoseconds(work).count(); now_ns() < end;) {
#if defined(__x86_64__)
    __builtin_ia32_pause();  // The emulator's other CPUs get their turns.
#endif
  }
}

inline void sleep(std::chrono::milliseconds time) { std::this_thread::sleep_for(time); }

}  // namespace guest
