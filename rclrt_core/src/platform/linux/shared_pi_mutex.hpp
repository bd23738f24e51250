// Copyright 2026 The rclrt Authors
// SPDX-License-Identifier: Apache-2.0

/// A mutex in shared memory, with priority inheritance, that survives owners that die and words that
/// somebody has overwritten.
///
/// pthread's robust mutex does the former, but waits for ever or ends the process when its memory is
/// not what it left there. This one gives up after a time. It is the kernel's protocol of
/// FUTEX_LOCK_PI and nothing more:
/// - word_: 0, or the owner's thread id, with a bit that the kernel sets when somebody waits. The
///   owner's compare-and-swap from its id to 0 (release) fails if that bit is set, and the kernel hands
///   over. An id of a thread that is gone makes the kernel say ESRCH.
/// - busy_: 1 while locked. Found 1 by who has just got the lock: the owner before died with it.
/// - version_: counts unlocks; the release here and the acquire in lock() order the memory also when
///   the kernel hands over (sanitizers do not see into it).
#ifndef RCLRT_CORE__PLATFORM__LINUX__SHARED_PI_MUTEX_HPP_
#define RCLRT_CORE__PLATFORM__LINUX__SHARED_PI_MUTEX_HPP_

#include <atomic>
#include <cstdint>

namespace rclrt_core::linux_platform
{

class SharedPiMutex
{
public:
  enum class Result : uint8_t
  {
    kLocked,
    kOwnerDied,  ///< locked, but what it protects may be half changed
    kBroken,  ///< not locked: the memory is damaged, or the owner keeps it for longer than 100 ms
  };

  /// Real-time safe: no system call when it is free. Not recursive.
  Result lock() noexcept;
  void unlock() noexcept;

private:
  std::atomic<uint32_t> word_{0};
  std::atomic<uint32_t> busy_{0};
  std::atomic<uint64_t> version_{0};
};

static_assert(sizeof(SharedPiMutex) == 16, "part of a layout that processes share");

}  // namespace rclrt_core::linux_platform

#endif  // RCLRT_CORE__PLATFORM__LINUX__SHARED_PI_MUTEX_HPP_
