// Copyright 2026 The rclrt Authors
// SPDX-License-Identifier: Apache-2.0

/// A function that this library defines although the program has another one, and the other one.
///
/// RTLD_NEXT alone does not find it: Python loads the libraries of ROS 2 apart from the program's own. There the
/// definition is found that the caller would have been given without this library.
#pragma once

#include <atomic>
#include <cstdint>

namespace rclrt_probe
{

/// Null if there is none. `caller`: an address of the code that called ours. Takes the lock of the dynamic linker, may
/// allocate.
void * find_next(const char * name, const void * caller) noexcept;
/// Looks past what `find_first` finds. `caller` may be null: it is not known.
void * find_past_ours(const char * name, const void * caller) noexcept;

/// If it is set, what it finds is the next definition: has_module() sets it. Stored once, before the program's own code runs or
/// when an rclcpp that it loads late makes its first node; a thread that sees it sees all that it needs.
extern std::atomic<void * (*)(const char * name)> find_first;

/// The library by which rclcpp's executors spin with the engine: librclrt_stock-<version of rclcpp>, of package
/// rclrt_rclcpp, in the folder that RCLRT_RUN names.
///
/// Whether the program uses rclcpp and the library serves it; then find_next() finds what the library defines. Opens it
/// if it was not: a program may load rclcpp late. False without RCLRT_RUN, and if the library does not fit the program's
/// rclcpp, of which the user is told once. The first call takes the lock of the dynamic linker and allocates; while there
/// is no rclcpp so does every call.
bool has_module() noexcept;

/// For a variable with static storage: usable before constructors have run.
template <typename FunctionT>
class Next
{
public:
  constexpr explicit Next(const char * name) noexcept : name_(name) {}

  /// Looked up by the first call only, and by the first one after `find_first` was set.
  FunctionT * get(const void * caller) noexcept
  {
    auto & known = known_[find_first.load(std::memory_order_acquire) ? 1 : 0];
    const uintptr_t found = known.load(std::memory_order_acquire);
    return found > kAbsent ? reinterpret_cast<FunctionT *>(found) : look(caller, known, found);
  }

private:
  static constexpr uintptr_t kAbsent = 1;

  FunctionT * look(const void * caller, std::atomic<uintptr_t> & known, uintptr_t before) noexcept
  {
    if (before == kAbsent) {
      return nullptr;
    }
    void * const found = find_next(name_, caller);
    known.store(found ? reinterpret_cast<uintptr_t>(found) : kAbsent, std::memory_order_release);
    return reinterpret_cast<FunctionT *>(found);
  }

  const char * const name_;
  /// Without and with `find_first`; 0 until a thread has looked. All that look find the same, so it does not matter which stores last.
  std::atomic<uintptr_t> known_[2]{};
};

}  // namespace rclrt_probe
