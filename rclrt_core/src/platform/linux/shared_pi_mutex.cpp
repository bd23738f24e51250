// Copyright 2026 The rclrt Authors
// SPDX-License-Identifier: Apache-2.0

#include "platform/linux/shared_pi_mutex.hpp"

#include <linux/futex.h>
#include <pthread.h>
#include <sys/syscall.h>
#include <time.h>
#include <unistd.h>

#include <cerrno>

namespace rclrt_core::linux_platform
{
namespace
{

constexpr int64_t kSecond = 1'000'000'000;
constexpr int64_t kPatience = 100'000'000;
// Of a lock that others take as often as we find its owner dead.
constexpr int kTries = 100;
#ifdef FUTEX_LOCK_PI2
constexpr int kLockPi2 = FUTEX_LOCK_PI2;
#else
constexpr int kLockPi2 = 13;  // Linux 5.14; the header is older
#endif

thread_local uint32_t id_of_thread = 0;

// Asking the kernel every time would cost as much as the lock. Who has forked is another thread.
uint32_t own_id() noexcept
{
  static const int at_fork = pthread_atfork(nullptr, nullptr, [] { id_of_thread = 0; });
  if (id_of_thread == 0 || at_fork != 0) {
    id_of_thread = static_cast<uint32_t>(syscall(SYS_gettid));
  }
  return id_of_thread;
}

timespec after(clockid_t clock, int64_t nanoseconds) noexcept
{
  timespec time{};
  clock_gettime(clock, &time);
  const int64_t sum = time.tv_nsec + nanoseconds;
  time.tv_sec += static_cast<time_t>(sum / kSecond);
  time.tv_nsec = static_cast<long>(sum % kSecond);
  return time;
}

// 0 or errno. The older call waits on the settable clock, which only matters when it is set meanwhile.
int lock_in_kernel(std::atomic<uint32_t> * word) noexcept
{
  timespec until = after(CLOCK_MONOTONIC, kPatience);
  if (syscall(SYS_futex, word, kLockPi2, 0, &until, nullptr, 0) == 0) {
    return 0;
  }
  if (errno != ENOSYS) {
    return errno;
  }
  until = after(CLOCK_REALTIME, kPatience);
  return syscall(SYS_futex, word, FUTEX_LOCK_PI, 0, &until, nullptr, 0) == 0 ? 0 : errno;
}

}  // namespace

SharedPiMutex::Result SharedPiMutex::lock() noexcept
{
  for (int i = 0; i < kTries; ++i) {
    uint32_t found = 0;
    int error = 0;
    // Acquire: pairs with the release of unlock().
    if (!word_.compare_exchange_strong(found, own_id(), std::memory_order_acquire)) {
      error = lock_in_kernel(&word_);
    }
    if (error == 0) {
      // Acquire: see version_. busy_ is ours with the lock.
      static_cast<void>(version_.load(std::memory_order_acquire));
      const bool died = busy_.exchange(1, std::memory_order_relaxed) != 0;
      return died ? Result::kOwnerDied : Result::kLocked;
    }
    if (error == ESRCH) {
      // Nobody has this id. If the word is still the same, whoever gets here first frees it.
      word_.compare_exchange_strong(found, 0, std::memory_order_relaxed);
    } else if (error != EINTR && error != EAGAIN) {
      return Result::kBroken;
    }
  }
  return Result::kBroken;
}

void SharedPiMutex::unlock() noexcept
{
  busy_.store(0, std::memory_order_relaxed);  // published by the release below
  version_.fetch_add(1, std::memory_order_release);
  uint32_t expected = own_id();
  if (!word_.compare_exchange_strong(expected, 0, std::memory_order_release)) {
    // It fails only if the word is not what we left there: who comes next finds out.
    syscall(SYS_futex, &word_, FUTEX_UNLOCK_PI, 0, nullptr, nullptr, 0);
  }
}

}  // namespace rclrt_core::linux_platform
