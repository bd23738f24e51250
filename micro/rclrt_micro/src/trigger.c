/* Copyright 2026 The rclrt Authors
 * SPDX-License-Identifier: Apache-2.0
 *
 * Triggers, LET, and callbacks that always run: rounds in batches. Linked by programs that use them.
 */
#include "executor_internal.h"

/* In a critical section. */
static bool all_ready(const struct rclrt_executor * executor)
{
  const struct rclrt_link * link = rclrt_list_first(&executor->all);
  bool all = link != NULL;
  for (; link != NULL && all; link = rclrt_list_next(&executor->all, link)) {
    all = RCLRT_CONTAINER_OF(link, const struct rclrt_callback, all_link)->ready;
  }
  return all;
}

bool executor_triggered(struct rclrt_executor * executor)
{
  const uint32_t token = executor_enter(executor);
  const struct rclrt_callback * one = executor->trigger_callback;
  bool holds = executor->trigger == RCLRT_TRIGGER_ALWAYS;
  if (executor->trigger == RCLRT_TRIGGER_ANY) {
    holds = executor->ready.used != 0;
  } else if (executor->trigger == RCLRT_TRIGGER_ONE) {
    holds = one != NULL && one->ready;
  } else if (executor->trigger == RCLRT_TRIGGER_ALL) {
    holds = all_ready(executor);
  }
  executor_leave(executor, token);
  return holds;
}

void executor_grant(struct rclrt_executor * executor)
{
  for (struct rclrt_link * link = rclrt_list_first(&executor->all); link != NULL;
       link = rclrt_list_next(&executor->all, link)) {
    struct rclrt_callback * callback = RCLRT_CONTAINER_OF(link, struct rclrt_callback, all_link);
    const uint32_t token = executor_enter(executor);
    const bool granted = callback->ready || callback->invocation == RCLRT_ALWAYS;
    if (granted && !callback->ready) {
      trace_ready(executor, callback); /* it runs in every batch */
    }
    if (granted) {
      executor_take_out(executor, callback);
      callback->granted = true;
      struct rclrt_link * after = executor->granted.head.previous;
      while (after != &executor->granted.head &&
             executor_ready_of(after)->priority < callback->priority) {
        after = after->previous;
      }
      rclrt_list_insert_after(after, &callback->ready_link);
    }
    executor_leave(executor, token);
    if (granted && executor->semantics == RCLRT_SEMANTICS_LET && callback->take != NULL) {
      callback->fresh = callback->take(callback, executor->buffers, executor->buffer_size);
    }
  }
}

/* The most urgent of the batch, taken out. */
static struct rclrt_callback * pop_granted(struct rclrt_executor * executor)
{
  const uint32_t token = executor_enter(executor);
  struct rclrt_callback * callback = executor_ready_of(rclrt_list_first(&executor->granted));
  if (callback != NULL) {
    executor_take_out(executor, callback);
  }
  executor_leave(executor, token);
  return callback;
}

/* With batches, the next callback to run; or null. */
static struct rclrt_callback * next_of_batch(struct rclrt_executor * executor)
{
  struct rclrt_callback * callback = pop_granted(executor);
  if (callback == NULL && executor_triggered(executor)) {
    executor_grant(executor);
    callback = pop_granted(executor);
  }
  return callback;
}

enum rclrt_ret rclrt_executor_set_trigger(
  struct rclrt_executor * executor, enum rclrt_trigger trigger,
  const struct rclrt_callback * callback)
{
  if (
    executor == NULL || (trigger == RCLRT_TRIGGER_ONE) != (callback != NULL) ||
    (executor->levels > 1 && trigger != RCLRT_TRIGGER_ANY)) {
    return RCLRT_ERR_ARGUMENT;
  }
  executor->next_of_batch = next_of_batch;
  executor->trigger = (uint8_t)trigger;
  executor->trigger_callback = callback;
  return RCLRT_OK;
}

enum rclrt_ret rclrt_executor_set_semantics(
  struct rclrt_executor * executor, enum rclrt_semantics semantics)
{
  if (executor == NULL || (executor->levels > 1 && semantics == RCLRT_SEMANTICS_LET)) {
    return RCLRT_ERR_ARGUMENT;
  }
  executor->next_of_batch = next_of_batch;
  executor->semantics = (uint8_t)semantics;
  return RCLRT_OK;
}

enum rclrt_ret rclrt_executor_add_always(
  struct rclrt_executor * executor, struct rclrt_callback * callback, uint8_t priority)
{
  if (!executor_usable(executor) || executor->levels > 1) {
    return RCLRT_ERR_ARGUMENT;
  }
  const enum rclrt_ret ret = rclrt_executor_add_on_new_data(executor, callback, priority);
  if (ret == RCLRT_OK) {
    const uint32_t token = executor_enter(executor);
    callback->invocation = RCLRT_ALWAYS;
    executor->next_of_batch = next_of_batch;
    executor->always++;
    executor_leave(executor, token);
  }
  return ret;
}

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

/* The wait set: `ready` says what is in it. Readers other than that of the oldest frame are not. */
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
  struct rclrt_link * link =
    rclrt_list_empty(&executor->granted) ? NULL : rclrt_list_first(&executor->all);
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
