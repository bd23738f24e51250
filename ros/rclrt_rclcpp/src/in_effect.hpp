// Copyright 2026 The rclrt Authors
// SPDX-License-Identifier: Apache-2.0

/// Whether the functions are in use that this library defines although another one does.
#ifndef NEXT_DEFINITION_HPP_
#define NEXT_DEFINITION_HPP_

#include <dlfcn.h>

#include <atomic>
#include <string>

#include "rclrt_front_end/process_platform.hpp"

namespace rclrt_rclcpp
{

/// As in rclrt_front_end, also for librclrt_stock. That was opened by librclrt_run, so what the program would use without
/// ours is the definition after that library's, which only that library can look up.
template <typename FunctionT>
class NextDefinition
{
public:
  constexpr explicit NextDefinition(const char * name) noexcept : name_(name), next_(name) {}

  const char * name() const noexcept { return name_; }

  FunctionT * get() noexcept
  {
    using Find = void * (*)(const char *);
    static const auto find = reinterpret_cast<Find>(dlsym(RTLD_DEFAULT, "rclrt_find_next"));
    if (!find) {
      return next_.get();
    }
    FunctionT * found = found_.load(std::memory_order_acquire);
    if (!found) {
      found = reinterpret_cast<FunctionT *>(find(name_));
      found_.store(found, std::memory_order_release);
    }
    return found;
  }

private:
  const char * const name_;
  rclrt_front_end::NextDefinition<FunctionT> next_;
  /// Null until a thread has looked; all that look find the same.
  std::atomic<FunctionT *> found_{nullptr};
};

/// The executable or library that this code is in.
inline Dl_info object_here() noexcept
{
  static const char anything = 0;
  Dl_info info{};
  dladdr(&anything, &info);
  return info;
}

/// Whether a preloaded library calls the definitions that are here. Written before the first executor is made.
inline bool & called_by_preload() noexcept
{
  static bool is_so = false;
  return is_so;
}

/// Whether the program uses the definition of `function` that is here. (Its address would not tell: in a
/// library that is the one of the definition in use.)
inline bool is_in_effect(const char * function) noexcept
{
  if (called_by_preload()) {
    return true;
  }
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
