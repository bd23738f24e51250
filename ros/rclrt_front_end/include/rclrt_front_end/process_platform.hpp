// Copyright 2026 The rclrt Authors
// SPDX-License-Identifier: Apache-2.0

/// The platform of every executor in the process, and mutexes for what lies on the way from a notification
/// to user code: the thread that holds one is as urgent as the threads that wait for it.
#ifndef RCLRT_FRONT_END__PROCESS_PLATFORM_HPP_
#define RCLRT_FRONT_END__PROCESS_PLATFORM_HPP_

#include <memory>

#include "rclrt_core/linux_platform.hpp"

namespace rclrt_front_end
{

/// Usable for the whole life of the process, also in destructors of statics: it is never destroyed. It has no
/// state.
inline rclrt_core::LinuxPlatform & process_platform()
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
  const std::unique_ptr<rclrt_core::Mutex> mutex_ = process_platform().make_mutex();
};

}  // namespace rclrt_front_end

#endif  // RCLRT_FRONT_END__PROCESS_PLATFORM_HPP_
