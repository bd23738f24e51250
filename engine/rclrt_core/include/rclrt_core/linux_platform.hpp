// Copyright 2026 The rclrt Authors
// SPDX-License-Identifier: Apache-2.0

/// The engine's platform on Linux: futexes, PI mutexes, sched_setattr, CLOCK_MONOTONIC.
///
/// Stateless: all functions may be called from any thread; now(), wait(), wake_one(), apply() and
/// the Mutex are real-time safe (no allocation, at most one system call; apply() at most five).
#pragma once

#include <memory>
#include <string>
#include <utility>
#include <vector>

#include "rclrt_core/platform.hpp"

namespace rclrt_core
{

class LinuxPlatform : public Platform
{
public:
  TimePoint now() noexcept override;
  int64_t system_now_ns() noexcept override;
  std::unique_ptr<Mutex> make_mutex() override;
  Status start_thread(
    const ThreadOptions & options, std::function<void()> body,
    const std::function<void(const Finding &)> & on_finding,
    std::unique_ptr<Thread> * thread) override;
  void wait(
    const std::atomic<uint32_t> & word, uint32_t expected, TimePoint until) noexcept override;
  bool spin(
    const std::atomic<uint32_t> & word, uint32_t expected, TimePoint until) noexcept override;
  void wake_one(const std::atomic<uint32_t> & word) noexcept override;
  std::unique_ptr<Alarm> make_alarm() override;
  ThreadId current_thread() noexcept override;
  int current_cpu() noexcept override;
  CpuMeter start_meter(bool measures) noexcept override;
  CpuUse read_meter(const CpuMeter & meter) noexcept override;
  int64_t cpu_time_ns(ThreadId thread) noexcept override;
  int cpu_count() noexcept override;
  int usable_cpus() noexcept override;
  CpuSet usable_cpu_set() override;
  int apply(ThreadId thread, const Attributes & attributes) noexcept override;
  int read_back(ThreadId thread, Attributes * attributes) noexcept override;
  Finding explain(
    const std::string & subject, const Attributes & attributes, int error_number) override;
  std::vector<Finding> check_system(bool wants_realtime) override;
  std::vector<Finding> lock_memory() override;

  /// Threads of this process with their names, e.g. to find the middleware's.
  std::vector<std::pair<ThreadId, std::string>> threads();
  /// `all_named` becomes false if a thread of start_thread() was about to begin. Until it does,
  /// it has the name of the thread that started it.
  std::vector<std::pair<ThreadId, std::string>> threads(bool * all_named);
};

}  // namespace rclrt_core

namespace rclrt_core::linux_platform
{

/// Whether the calling thread has kept its CPU since a moment, without a system call.
///
/// How: a thread of Linux may name a "restartable sequence" of its code in a word that it shares with the kernel
/// (rseq(2); glibc 2.35 registers the word for every thread). If the kernel takes the CPU from the thread or gives
/// it a signal, and the thread is not inside the sequence that the word names, the kernel clears the word. So the
/// thread names a sequence of which it never runs a step. While the word still names that one, the thread has
/// kept its CPU.
///
/// Other users of rseq in the thread (an allocator) may overwrite the word. Then the answer is "has not kept it",
/// which costs a measurement and is never wrong.

/// See Platform::start_meter() and Platform::read_meter().
CpuMeter start_meter(bool measures) noexcept;
CpuUse read_meter(const CpuMeter & meter) noexcept;

}  // namespace rclrt_core::linux_platform
