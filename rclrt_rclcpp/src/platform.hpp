// Copyright 2026 The rclrt Authors
// SPDX-License-Identifier: Apache-2.0

/// The platform of every executor in the process, and mutexes for what lies on the way from a notification
/// to user code: whoever holds one is as urgent as whoever waits for it.
#ifndef PLATFORM_HPP_
#define PLATFORM_HPP_

#include <memory>

#include "rclrt_core/linux_platform.hpp"

namespace rclrt_rclcpp
{

/// Never destroyed: it has no state, and the middleware outlives us.
inline rclrt_core::LinuxPlatform & platform()
{
  static auto & instance = *new rclrt_core::LinuxPlatform;
  return instance;
}

/// A mutex with priority inheritance.
class PiMutex
{
public:
  void lock() noexcept { mutex_->lock(); }
  void unlock() noexcept { mutex_->unlock(); }

private:
  const std::unique_ptr<rclrt_core::Mutex> mutex_ = platform().make_mutex();
};

}  // namespace rclrt_rclcpp

#endif  // PLATFORM_HPP_
