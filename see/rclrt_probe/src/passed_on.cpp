// Copyright 2026 The rclrt Authors
// SPDX-License-Identifier: Apache-2.0

// Functions that librclrt_stock defines although another library does: it was opened too late for the program to find
// its definitions, so these stand in for them. Without that library they call the program's own, to which the caller of one
// must have been linked.

#include <pthread.h>

#include <cstdint>

#include "next.hpp"

#define RCLRT_EXPORT extern "C" __attribute__((visibility("default")))

using Word = std::uintptr_t;

/// A function of up to five integers or pointers that returns one. It does not look at those that it does not have.
#define RCLRT_PASS_ON(name)                                                   \
  RCLRT_EXPORT Word name(Word a, Word b, Word c, Word d, Word e)              \
  {                                                                           \
    static rclrt_probe::Next<Word(Word, Word, Word, Word, Word)> next(#name); \
    auto * const function = next.get(__builtin_return_address(0));            \
    return function(a, b, c, d, e);                                           \
  }

RCLRT_PASS_ON(rmw_create_publisher)
RCLRT_PASS_ON(rmw_destroy_publisher)
RCLRT_PASS_ON(rmw_publish)
RCLRT_PASS_ON(rmw_publish_serialized_message)
RCLRT_PASS_ON(rmw_publish_loaned_message)
RCLRT_PASS_ON(rcl_clock_remove_jump_callback)
RCLRT_PASS_ON(rcl_logging_fini)
RCLRT_PASS_ON(rcl_node_type_cache_register_type)
RCLRT_PASS_ON(rcl_node_type_cache_unregister_type)
RCLRT_PASS_ON(rcl_node_type_description_service_handle_request)

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
