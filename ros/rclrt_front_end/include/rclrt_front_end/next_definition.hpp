// Copyright 2026 The rclrt Authors
// SPDX-License-Identifier: Apache-2.0

/// A function that a front end defines although another library does, and the definition of the other one.
#ifndef RCLRT_FRONT_END__NEXT_DEFINITION_HPP_
#define RCLRT_FRONT_END__NEXT_DEFINITION_HPP_

#include <dlfcn.h>

#include <atomic>

namespace rclrt_front_end
{

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
      next = reinterpret_cast<FunctionT *>(dlsym(RTLD_NEXT, name_));
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

#endif  // RCLRT_FRONT_END__NEXT_DEFINITION_HPP_
