// Copyright 2026 The rclrt Authors
// SPDX-License-Identifier: Apache-2.0

// rclcpp's intra-process manager holds a std::shared_timed_mutex, locked for reading, from before it tells
// the first subscription until it has told the last one. libstdc++ makes that of a pthread_rwlock_t.

#include "intra_process_lock.hpp"

#include <pthread.h>

#include <new>

#include "in_effect.hpp"
#include "publications.hpp"
#include "rclrt_core/engine.hpp"

namespace rclrt_rclcpp
{
namespace
{

NextDefinition<int(pthread_rwlock_t *)> next_read_lock("pthread_rwlock_rdlock");
NextDefinition<int(pthread_rwlock_t *)> next_unlock("pthread_rwlock_unlock");

[[gnu::constructor]] void look_up_locks()
{
  next_read_lock.get();
  next_unlock.get();
}

/// What a thread keeps for itself; no other one touches it. Without constructor and destructor: the functions below may be called
/// before the one and after the other.
struct Here
{
  /// Locked for reading last, if it still is.
  const pthread_rwlock_t * read_locked;
  /// The publication in `publication` lasts until this is unlocked. Null: there is none.
  const pthread_rwlock_t * publishes_under;
  alignas(rclrt_core::Publication) unsigned char publication[sizeof(rclrt_core::Publication)];
};

// Initial-exec: looking at it never allocates, not even in a library that was loaded later.
[[gnu::tls_model("initial-exec")]] thread_local Here here;

}  // namespace

// Only under a lock that is seen to be held does it begin: so it ends, since that lock will be unlocked by
// this thread. If another publication of this thread is under the lock, that ends it earlier.
void begin_intra_process_publication() noexcept
{
  if (here.read_locked && !here.publishes_under) {
    new (here.publication) rclrt_core::Publication;
    here.publishes_under = here.read_locked;
  }
}

}  // namespace rclrt_rclcpp

extern "C" {

int pthread_rwlock_rdlock(pthread_rwlock_t * lock) noexcept
{
  using rclrt_rclcpp::here;
  const int error = rclrt_rclcpp::next_read_lock.get()(lock);
  if (error == 0) {
    here.read_locked = lock;
  }
  return error;
}

int pthread_rwlock_unlock(pthread_rwlock_t * lock) noexcept
{
  using rclrt_rclcpp::here;
  if (here.read_locked == lock) {
    here.read_locked = nullptr;
  }
  const int error = rclrt_rclcpp::next_unlock.get()(lock);
  if (here.publishes_under == lock) {  // only compared: it may be gone
    here.publishes_under = nullptr;
    std::launder(reinterpret_cast<rclrt_core::Publication *>(here.publication))->~Publication();
  }
  return error;
}
}

namespace rclrt_rclcpp
{

bool sees_intra_process_lock() noexcept { return is_in_effect("pthread_rwlock_unlock"); }

}  // namespace rclrt_rclcpp
