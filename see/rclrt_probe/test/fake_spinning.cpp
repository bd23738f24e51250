// Copyright 2026 The rclrt Authors
// SPDX-License-Identifier: Apache-2.0

// A program of a fake rclcpp that knows nothing of rclrt. LOADS: it loads rclcpp itself, late; with a second argument in
// the way of RTLD_DEEPBIND.

#include <cstdio>

#ifdef LOADS
#include <dlfcn.h>
#else
#include "fake_rclcpp.hpp"
#endif

extern "C" void use_executor()
#ifdef LOADS
  ;
#else
{
  rclcpp::executors::SingleThreadedExecutor executor;
  executor.add_node(nullptr, true);
  executor.spin();
  executor.spin_some(std::chrono::nanoseconds(1));
  executor.spin_once(std::chrono::nanoseconds(1));
}
#endif

int main(int count, char ** arguments)
{
  std::setvbuf(stdout, nullptr, _IOLBF, 0);
#ifdef LOADS
  const int how = count > 2 ? RTLD_DEEPBIND : RTLD_LOCAL;
  void * const library = dlopen(arguments[1], RTLD_NOW | how);
  auto * const use =
    library ? reinterpret_cast<void (*)()>(dlsym(library, "use_executor")) : nullptr;
  if (!use) {
    std::puts(dlerror());
    return 1;
  }
  use();
#else
  static_cast<void>(count), static_cast<void>(arguments);
  use_executor();
#endif
}
