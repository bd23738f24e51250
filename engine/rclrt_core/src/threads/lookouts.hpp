// Copyright 2026 The rclrt Authors
// SPDX-License-Identifier: Apache-2.0

/// Threads without work that look for some before they sleep (WaitingOptions): which, when, and when nobody does.
#ifndef LOOKOUTS_HPP_
#define LOOKOUTS_HPP_

#include "threads/crew.hpp"

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

}  // namespace rclrt_core

#endif  // LOOKOUTS_HPP_
