// Copyright 2026 The rclrt Authors
// SPDX-License-Identifier: Apache-2.0

// Functions that librclrt_stock defines although another library does: it was opened too late for the program to find
// its definitions, so these stand in for them, and those that do more (calls_rmw.cpp, carry.cpp). Without that library they call the program's own, to which the caller of one
// must have been linked.

#include <pthread.h>

#include <cstdint>

#include "next.hpp"

#define RCLRT_EXPORT extern "C" __attribute__((visibility("default")))

// The calling conventions of these put integers and pointers into registers from the left, at least six of them, and a
// function does not look at those that it does not have. So five are passed on whatever the function takes, and a result
// of any such type comes back in a whole register.
#if !defined(__x86_64__) && !defined(__aarch64__)
#error "passed_on.cpp: write these functions with their own parameters for this architecture"
#endif

using Word = std::uintptr_t;

/// A function of up to five integers or pointers that returns one. `prepare`: done first.
#define RCLRT_PASS_ON(name, prepare)                                          \
  RCLRT_EXPORT Word name(Word a, Word b, Word c, Word d, Word e)              \
  {                                                                           \
    static rclrt_probe::Next<Word(Word, Word, Word, Word, Word)> next(#name); \
    prepare;                                                                  \
    auto * const function = next.get(__builtin_return_address(0));            \
    return function(a, b, c, d, e);                                           \
  }

// By what an rclcpp that was loaded late makes first it is seen: from then on it is served.
RCLRT_PASS_ON(rmw_create_publisher, rclrt_probe::has_module())
RCLRT_PASS_ON(rcl_node_type_cache_register_type, rclrt_probe::has_module())
RCLRT_PASS_ON(rmw_destroy_publisher, )
RCLRT_PASS_ON(rcl_clock_remove_jump_callback, )
RCLRT_PASS_ON(rcl_logging_fini, )
RCLRT_PASS_ON(rcl_node_type_cache_unregister_type, )
RCLRT_PASS_ON(rcl_node_type_description_service_handle_request, )

struct JumpThreshold  // rcl_jump_threshold_t
{
  bool on_clock_change;
  int64_t min_forward;
  int64_t min_backward;
};

RCLRT_EXPORT int rcl_clock_add_jump_callback(
  void * clock, JumpThreshold threshold, void * callback, void * data)
{
  static rclrt_probe::Next<int(void *, JumpThreshold, void *, void *)> next(
    "rcl_clock_add_jump_callback");
  rclrt_probe::has_module();
  auto * const function = next.get(__builtin_return_address(0));
  return function(clock, threshold, callback, data);
}

// Every program may call these, with rclcpp or without.

RCLRT_EXPORT int pthread_rwlock_rdlock(pthread_rwlock_t * lock) noexcept
{
  static rclrt_probe::Next<int(pthread_rwlock_t *)> next("pthread_rwlock_rdlock");
  return next.get(nullptr)(lock);
}

RCLRT_EXPORT int pthread_rwlock_unlock(pthread_rwlock_t * lock) noexcept
{
  static rclrt_probe::Next<int(pthread_rwlock_t *)> next("pthread_rwlock_unlock");
  return next.get(nullptr)(lock);
}
