// Copyright 2026 The rclrt Authors
// SPDX-License-Identifier: Apache-2.0

#include "platform/forks.hpp"

#include <pthread.h>

#include <atomic>

namespace rclrt_core
{
namespace
{

// Written by the only thread of a child, before anything else runs in it: relaxed.
std::atomic<uint32_t> forks{0};

}  // namespace

uint32_t count_forks() noexcept
{
  static const int registered =
    pthread_atfork(nullptr, nullptr, [] { forks.fetch_add(1, std::memory_order_relaxed); });
  static_cast<void>(registered);
  return forks.load(std::memory_order_relaxed);
}

}  // namespace rclrt_core
