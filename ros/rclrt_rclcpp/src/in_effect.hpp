// Copyright 2026 The rclrt Authors
// SPDX-License-Identifier: Apache-2.0

/// Whether the functions are in use that this library defines although another one does.
#pragma once

#include <dlfcn.h>

#include <string>

#include "rclrt_front_end/process_platform.hpp"

namespace rclrt_rclcpp
{

using rclrt_front_end::NextDefinition;

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
  if (&rclrt_stock_find_next) {
    return true;  // librclrt_run is called, which calls what is here
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
