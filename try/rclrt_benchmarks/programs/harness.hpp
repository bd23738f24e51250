// Copyright 2026 The rclrt Authors
// SPDX-License-Identifier: Apache-2.0

#pragma once

// What the programs do alike: clocks, work, priorities, the result and failures.

#include <sched.h>
#include <unistd.h>

#include <cerrno>
#include <chrono>
#include <csignal>
#include <cstdint>
#include <ctime>
#include <exception>
#include <iostream>
#include <stdexcept>
#include <string>
#include <system_error>

namespace harness
{

/// The exit status if the system does not permit what a program needs.
constexpr int kNotPermitted = 77;

inline int64_t clock_ns(clockid_t clock)
{
  timespec time{};
  clock_gettime(clock, &time);
  return time.tv_sec * int64_t{1'000'000'000} + time.tv_nsec;
}

/// As std::chrono::steady_clock.
inline int64_t now_ns() { return clock_ns(CLOCK_MONOTONIC); }

inline int64_t thread_cpu_ns() { return clock_ns(CLOCK_THREAD_CPUTIME_ID); }

inline int64_t process_cpu_ns() { return clock_ns(CLOCK_PROCESS_CPUTIME_ID); }

/// Take so much CPU time.
inline void work(std::chrono::nanoseconds length)
{
  const int64_t until = thread_cpu_ns() + length.count();
  while (thread_cpu_ns() < until) {
  }
}

/// Throw what a status of the engine says, if it is no success.
template <typename Status>
void check(const Status & status)
{
  if (!status.ok()) {
    throw std::runtime_error(status.message());
  }
}

/// The calling thread, and those that it starts. Throws where that is not permitted.
inline void become_fifo(int priority)
{
  sched_param parameters{};
  parameters.sched_priority = priority;
  if (sched_setscheduler(0, SCHED_FIFO, &parameters) != 0) {
    throw std::system_error(errno, std::generic_category(), "becoming a SCHED_FIFO thread");
  }
}

/// Print the JSON that `measure` returns; if it throws, say what and return 1.
template <typename Measure>
int print_result(const char * program, Measure && measure)
{
  try {
    std::cout << measure() << std::endl;
    return std::cout ? 0 : 1;
  } catch (const std::exception & error) {
    std::cerr << program << ": " << error.what() << '\n';
    return 1;
  }
}

/// For a program whose results are written: if the middleware does not end in five seconds, the process does, with status
/// 0. In Fast DDS 3.2 a participant that ends while it learns that a writer of another process has ended may wait for
/// ever for the thread that tells it so: 1 of 461 pairs of processes that ended together.
inline void end_soon()
{
  std::signal(SIGALRM, [](int) { _exit(0); });
  alarm(5);
}

}  // namespace harness
