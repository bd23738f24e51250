// Copyright 2026 The rclrt Authors
// SPDX-License-Identifier: Apache-2.0

/// Threads, one for each CPU, that do nothing but sleep for a short time again and again: so each CPU is interrupted that
/// often, and sees then that a more urgent thread was woken for it. See WaitingOptions::beat.
#ifndef BEAT_HPP_
#define BEAT_HPP_

#include <atomic>
#include <functional>
#include <memory>
#include <vector>

#include "rclrt_core/platform.hpp"

namespace rclrt_core
{

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

#endif  // BEAT_HPP_
