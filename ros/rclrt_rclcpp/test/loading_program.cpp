// Copyright 2026 The rclrt Authors
// SPDX-License-Identifier: Apache-2.0

// Loads the library that it is given, as a container of rclcpp loads components, and calls
// print_findings() in it.

#include <dlfcn.h>

#include <cstdio>

#include "rclcpp/rclcpp.hpp"

int main(int count, char ** arguments)
{
  rclcpp::init(0, nullptr);
  void * const library = count == 2 ? dlopen(arguments[1], RTLD_NOW | RTLD_LOCAL) : nullptr;
  void * const function = library ? dlsym(library, "print_findings") : nullptr;
  if (!function) {
    std::fprintf(stderr, "%s\n", dlerror());
    return 1;
  }
  reinterpret_cast<void (*)()>(function)();
  rclcpp::shutdown();
  return 0;
}
