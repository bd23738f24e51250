// Copyright 2026 The rclrt Authors
// SPDX-License-Identifier: Apache-2.0

#pragma once

#include <atomic>

namespace rclrt_front_end
{

/// Keeps an object until the process has ended, where a search for leaks finds it: what other threads use while exit()
/// runs in a job. Allocates. Any thread may call it.
inline void keep_for_ever(void * object)
{
  struct Kept
  {
    void * object;
    Kept * next;
  };
  // Written by the threads that keep something, by compare and exchange; nobody reads what it points to.
  static std::atomic<Kept *> kept{nullptr};
  auto * const one = new Kept{object, kept.load(std::memory_order_relaxed)};
  while (!kept.compare_exchange_weak(one->next, one, std::memory_order_relaxed)) {
  }
}

}  // namespace rclrt_front_end
