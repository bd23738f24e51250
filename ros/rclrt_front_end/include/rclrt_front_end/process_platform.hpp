// Copyright 2026 The rclrt Authors
// SPDX-License-Identifier: Apache-2.0

/// The platform of every executor in the process, and mutexes for what lies on the way from a notification
/// to user code: the thread that holds one is as urgent as the threads that wait for it.
#pragma once

#include <dlfcn.h>

#include <atomic>
#include <memory>

#include "rclrt_core/linux_platform.hpp"

/// In librclrt_stock only, which librclrt_run opens: the definition that the program would use without both.
extern "C" [[gnu::weak]] void * rclrt_stock_find_next(const char * name) noexcept;

namespace rclrt_front_end
{

/// Usable for the whole life of the process, also in destructors of statics: it is never destroyed. It has no
/// state.
inline rclrt_core::LinuxPlatform & process_platform()
{
  static auto & instance = *new rclrt_core::LinuxPlatform;
  return instance;
}

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

/// A mutex with priority inheritance.
class PiMutex
{
public:
  void lock() noexcept { mutex_->lock(); }
  void unlock() noexcept { mutex_->unlock(); }

private:
  const std::unique_ptr<rclrt_core::Mutex> mutex_ = process_platform().make_mutex();
};

/// A function that a front end defines although another library does, and the definition of the other one.
///
/// For a variable with static storage: it is usable before constructors have run.
template <typename FunctionT>
class NextDefinition
{
public:
  constexpr explicit NextDefinition(const char * name) noexcept : name_(name) {}

  const char * name() const noexcept { return name_; }

  /// The definition that the program would use without ours; null if there is none. Looked up by the first call,
  /// which may allocate.
  FunctionT * get() noexcept
  {
    FunctionT * next = next_.load(std::memory_order_acquire);
    if (!next) {
      void * const found = &rclrt_stock_find_next ? rclrt_stock_find_next(name_) : nullptr;
      next = reinterpret_cast<FunctionT *>(found ? found : dlsym(RTLD_NEXT, name_));
      next_.store(next, std::memory_order_release);
    }
    return next;
  }

private:
  const char * const name_;
  /// Null until somebody has looked; all that look find the same.
  std::atomic<FunctionT *> next_{nullptr};
};

}  // namespace rclrt_front_end
