/* Copyright 2026 The rclrt Authors
 * SPDX-License-Identifier: Apache-2.0
 */
#include "executor_internal.h"

static struct rclrt_callback * callback_of(struct rclrt_link * link)
{
  return RCLRT_CONTAINER_OF(link, struct rclrt_callback, all_link);
}

/* In a critical section: the position in the ring of the first frame that waits for it. */
static bool first_frame(const struct rclrt_callback * callback, uint32_t * at)
{
  if (callback->sink == NULL || rclrt_list_empty(&callback->sink->slots)) {
    return false;
  }
  *at = RCLRT_CONTAINER_OF(rclrt_list_first(&callback->sink->slots), struct rclrt_slot, link)->at;
  return true;
}

/* The wait set: `ready` says who is in it. Readers other than that of the oldest frame are not. */
static void build_wait_set(struct rclrt_executor * executor)
{
  struct rclrt_callback * oldest = NULL;
  uint32_t oldest_at = 0;
  const uint32_t token = executor_enter(executor);
  for (struct rclrt_link * link = rclrt_list_first(&executor->all); link != NULL;
       link = rclrt_list_next(&executor->all, link)) {
    struct rclrt_callback * callback = callback_of(link);
    if (callback->granted) {
      continue; /* of a batch that has not ended: its turn comes */
    }
    uint32_t at = 0;
    if (first_frame(callback, &at) && (oldest == NULL || (int32_t)(at - oldest_at) < 0)) {
      oldest = callback;
      oldest_at = at;
    }
    if (callback->sink != NULL && callback->ready) {
      executor_take_out(executor, callback);
    }
  }
  if (oldest != NULL) {
    oldest->ready = true;
    rclrt_queue_push(&executor->ready, &oldest->ready_link, oldest->priority);
  }
  executor_leave(executor, token);
}

/* The first of the batch by registration, taken out; or null. */
static struct rclrt_callback * pop_first(struct rclrt_executor * executor)
{
  struct rclrt_callback * first = NULL;
  const uint32_t token = executor_enter(executor);
  struct rclrt_link * link = executor->granted.used == 0 ? NULL : rclrt_list_first(&executor->all);
  while (link != NULL && !callback_of(link)->granted) {
    link = rclrt_list_next(&executor->all, link);
  }
  if (link != NULL) {
    first = callback_of(link);
    executor_take_out(executor, first);
  }
  executor_leave(executor, token);
  return first;
}

static void run_batch(struct rclrt_executor * executor)
{
  executor_grant(executor);
  struct rclrt_callback * callback;
  while ((callback = pop_first(executor)) != NULL) { /* from the first: it may remove any */
    executor_run(executor, callback, 0);
  }
}

enum rclrt_ret rclrt_batch_spin_some(struct rclrt_executor * executor, uint64_t timeout_ns)
{
  uint64_t deadline = 0;
  enum rclrt_ret ret = executor_begin(executor, timeout_ns, &deadline);
  while (ret == RCLRT_OK) {
    const uint64_t next_ns = executor_collect_timers(executor);
    build_wait_set(executor);
    if (executor_triggered(executor)) {
      run_batch(executor);
      return RCLRT_OK;
    }
    ret = executor_wait(executor, next_ns, deadline);
  }
  return ret;
}
