// Copyright 2026 The rclrt Authors
// SPDX-License-Identifier: Apache-2.0

/// Threads without work that look for some before they sleep (WaitingOptions): which, when, and when nobody does.
#pragma once

#include <atomic>
#include <functional>
#include <memory>
#include <vector>

#include "rclrt_core/platform.hpp"
#include "threads/dispatch.hpp"

namespace rclrt_core
{

class Lookouts
{
public:
  Lookouts(Platform & platform, Mutex & mutex, const WaitingOptions & options)
  : platform_(platform), mutex_(mutex), options_(options)
  {
  }

  /// Under the engine's lock: so many threads may look at the same time.
  void allow(std::size_t most) noexcept { most_ = most; }
  /// Under the engine's lock: whether and when the worker looks before it sleeps. If so, look() follows.
  Look next_look(Worker & worker) noexcept;
  /// By the worker, without the lock.
  void look(Worker & worker, TimePoint idle_since, const Look & when, TimePoint until) noexcept;

private:
  Platform & platform_;
  Mutex & mutex_;
  const WaitingOptions & options_;

  // Under the engine's lock.
  std::size_t looking_ = 0;  ///< workers, of `most_` at most
  std::size_t most_ = 0;
  Duration pause_{0};           ///< after the next loss of the CPU
  TimePoint no_look_before_{};  ///< somebody else has needed the CPU
};

/// Threads, one for each CPU, that do nothing but sleep for a short time again and again: so each CPU is interrupted that
/// often, and sees then that a more urgent thread was woken for it. See WaitingOptions::beat.
class Beat
{
public:
  explicit Beat(Platform & platform) : platform_(platform) {}
  ~Beat() { end(); }
  Beat(const Beat &) = delete;
  Beat & operator=(const Beat &) = delete;

  /// On all CPUs that `attributes` allow. Once. Refusals go to `on_finding`.
  Status start(
    Duration period, const Attributes & attributes,
    const std::function<void(const Finding &)> & on_finding);
  void end();

private:
  void beat(Duration period) noexcept;

  Platform & platform_;
  /// 1: end. Written by the destructor; read by the threads, which sleep on it.
  std::atomic<uint32_t> ends_{0};
  std::vector<std::unique_ptr<Thread>> threads_;
};

}  // namespace rclrt_core
