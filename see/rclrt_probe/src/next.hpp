// Copyright 2026 The rclrt Authors
// SPDX-License-Identifier: Apache-2.0

/// A function that this library defines although the program has another one, and the other one.
///
/// RTLD_NEXT alone does not find it: Python loads the libraries of ROS 2 apart from the program's own. There the
/// definition is found that the caller would have been given without this library.
#ifndef NEXT_HPP_
#define NEXT_HPP_

#include <atomic>
#include <cstdint>

namespace rclrt_probe
{

/// Null if there is none. `caller`: an address of the code that called ours. Takes the lock of the dynamic linker, may
/// allocate.
void * find_next(const char * name, const void * caller) noexcept;

/// For a variable with static storage: usable before constructors have run.
template <typename FunctionT>
class Next
{
public:
  constexpr explicit Next(const char * name) noexcept : name_(name) {}

  /// Looked up by the first call only.
  FunctionT * get(const void * caller) noexcept
  {
    const uintptr_t known = known_.load(std::memory_order_acquire);
    return known > kAbsent ? reinterpret_cast<FunctionT *>(known) : look(caller, known);
  }

private:
  static constexpr uintptr_t kAbsent = 1;

  FunctionT * look(const void * caller, uintptr_t known) noexcept
  {
    if (known == kAbsent) {
      return nullptr;
    }
    void * const found = find_next(name_, caller);
    known_.store(found ? reinterpret_cast<uintptr_t>(found) : kAbsent, std::memory_order_release);
    return reinterpret_cast<FunctionT *>(found);
  }

  const char * const name_;
  /// 0 until a thread has looked. All that look find the same, so it does not matter which stores last.
  std::atomic<uintptr_t> known_{0};
};

}  // namespace rclrt_probe

#endif  // NEXT_HPP_
