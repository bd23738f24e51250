// Copyright 2026 The rclrt Authors
// SPDX-License-Identifier: Apache-2.0

// Stands for librclrt_stock: says what it is called for. FAKE_DECLINES=1: it serves no executor.

#include <cstdint>
#include <cstdio>
#include <cstdlib>

#include "fake_rclcpp.hpp"

namespace
{

bool serve(const char * function)
{
  const bool declines = std::getenv("FAKE_DECLINES") != nullptr;
  std::printf("ours: %s\n", function);
  return !declines;
}

}  // namespace

extern "C" {

/// The library needs a function that not every version has, as the real one does.
void needs_cancel(rclcpp::Executor & executor) { executor.cancel(); }

void * rclrt_stock_find_next(const char *) { return nullptr; }
bool rclrt_stock_spin(void *) { return serve("spin"); }
bool rclrt_stock_spin_some(void *, int64_t) { return serve("spin_some"); }
bool rclrt_stock_spin_once(void *, int64_t) { return serve("spin_once"); }
void rclrt_stock_add_node(void *, const void *) { serve("add_node"); }
void rclrt_stock_forget(void *) { serve("destroy"); }
}
