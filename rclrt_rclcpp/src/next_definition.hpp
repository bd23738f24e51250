// Copyright 2026 The rclrt Authors
// SPDX-License-Identifier: Apache-2.0

/// A function that this library defines although another one does, and the other one.
#ifndef NEXT_DEFINITION_HPP_
#define NEXT_DEFINITION_HPP_

#include <dlfcn.h>

#include <atomic>
#include <string>

namespace rclrt_rclcpp
{

/// For a variable with static storage: it is usable before constructors have run.
template <typename FunctionT>
class NextDefinition
{
public:
  constexpr explicit NextDefinition(const char * name) noexcept : name_(name) {}

  const char * name() const noexcept { return name_; }

  /// The definition that the program would use without ours; null if there is none. Looked up once: by
  /// look_up_all(), or by the first call if that comes before.
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
  /// Null until somebody has looked; all who look find the same.
  std::atomic<FunctionT *> next_{nullptr};
};

/// The executable or library that this code is in.
inline Dl_info object_here() noexcept
{
  static const char anything = 0;
  Dl_info info{};
  dladdr(&anything, &info);
  return info;
}

/// Whether the program uses the definition of `function` that is here. (Its address would not tell: in a
/// library that is the one of the definition in use.)
inline bool is_in_effect(const char * function) noexcept
{
  Dl_info used{};
  void * const address = dlsym(RTLD_DEFAULT, function);
  return address && dladdr(address, &used) != 0 && used.dli_fbase == object_here().dli_fbase;
}

inline std::string remedy_if_not_in_effect()
{
  const char * const file = object_here().dli_fname;
  return std::string("Link rclrt_rclcpp into the executable, or set LD_PRELOAD=") +
         (file ? file : "");
}

}  // namespace rclrt_rclcpp

#endif  // NEXT_DEFINITION_HPP_
