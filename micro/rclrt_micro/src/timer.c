/* Copyright 2026 The rclrt Authors
 * SPDX-License-Identifier: Apache-2.0
 *
 * Timers, guard conditions, and the priorities of chains.
 */
#include <string.h>

#include "daemon_internal.h"
#include "executor_internal.h"

static void run_timer(struct rclrt_callback * callback, bool fresh)
{
  (void)fresh;
  struct rclrt_timer * timer = RCLRT_CONTAINER_OF(callback, struct rclrt_timer, callback);
  timer->run(timer->context, timer);
}

const struct rclrt_timer * timer_of(const struct rclrt_callback * callback)
{
  return callback->run == run_timer
           ? RCLRT_CONTAINER_OF(callback, const struct rclrt_timer, callback)
           : NULL;
}

/* In a critical section: if it is a timer, it expires no more. */
static void take_out(struct rclrt_executor * executor, struct rclrt_callback * callback)
{
  if (callback->run != run_timer) {
    return;
  }
  struct rclrt_timer * timer = RCLRT_CONTAINER_OF(callback, struct rclrt_timer, callback);
  if (timer->due.place != RCLRT_HEAP_OUTSIDE) {
    rclrt_heap_remove(&executor->timers, &timer->due);
  }
}

/* Is it in this executor? Its storage may hold anything. */
static bool has(struct rclrt_executor * executor, const struct rclrt_callback * callback)
{
  const uint32_t token = executor_enter(executor);
  const struct rclrt_link * link = rclrt_list_first(&executor->all);
  while (link != NULL && link != &callback->all_link) {
    link = rclrt_list_next(&executor->all, link);
  }
  executor_leave(executor, token);
  return link != NULL;
}

enum rclrt_ret rclrt_executor_add_timer_at(
  struct rclrt_executor * executor, struct rclrt_timer * timer, uint64_t first_ns,
  uint64_t period_ns, uint8_t priority, void (*run)(void * context, struct rclrt_timer * timer),
  void * context)
{
  if (!executor_usable(executor) || timer == NULL || run == NULL || period_ns == 0) {
    return RCLRT_ERR_ARGUMENT;
  }
  if (has(executor, &timer->callback)) {
    return RCLRT_ERR_ARGUMENT;
  }
  memset(timer, 0, sizeof(*timer));
  timer->period_ns = period_ns;
  timer->run = run;
  timer->context = context;
  timer->callback.run = run_timer;
  timer->due.key = first_ns;
  timer->due.place = RCLRT_HEAP_OUTSIDE;
  const enum rclrt_ret ret = rclrt_executor_add_on_new_data(executor, &timer->callback, priority);
  if (ret != RCLRT_OK) {
    return ret;
  }
  /* Last: from here on a timer interrupt may make it ready. */
  const uint32_t token = executor_enter(executor);
  executor->collect = rclrt_executor_collect;
  executor->take_out = take_out;
  const bool fits = rclrt_heap_push(&executor->timers, &timer->due);
  executor_leave(executor, token);
  if (!fits) {
    rclrt_executor_remove(executor, &timer->callback);
    const uint16_t limit = executor->timers.capacity;
    return daemon_short(executor->daemon, "timer_count", limit, limit + 1U);
  }
  return RCLRT_OK;
}

enum rclrt_ret rclrt_executor_add_timer(
  struct rclrt_executor * executor, struct rclrt_timer * timer, uint64_t period_ns,
  uint8_t priority, void (*run)(void * context, struct rclrt_timer * timer), void * context)
{
  if (!executor_usable(executor)) {
    return RCLRT_ERR_ARGUMENT;
  }
  const uint64_t now = executor->port->now_ns(executor->port->context);
  return rclrt_executor_add_timer_at(
    executor, timer, time_after(now, period_ns), period_ns, priority, run, context);
}

void rclrt_timer_cancel(struct rclrt_timer * timer)
{
  if (timer == NULL) {
    return;
  }
  rclrt_executor_remove(timer->callback.executor, &timer->callback);
}

static void run_guard(struct rclrt_callback * callback, bool fresh)
{
  (void)fresh;
  struct rclrt_guard * guard = RCLRT_CONTAINER_OF(callback, struct rclrt_guard, callback);
  guard->run(guard->context);
}

enum rclrt_ret rclrt_executor_add_guard(
  struct rclrt_executor * executor, struct rclrt_guard * guard, uint8_t priority,
  void (*run)(void * context), void * context)
{
  if (
    !executor_usable(executor) || guard == NULL || run == NULL || has(executor, &guard->callback)) {
    return RCLRT_ERR_ARGUMENT;
  }
  memset(guard, 0, sizeof(*guard));
  guard->run = run;
  guard->context = context;
  guard->callback.run = run_guard;
  return rclrt_executor_add_on_new_data(executor, &guard->callback, priority);
}

void rclrt_guard_trigger(struct rclrt_guard * guard)
{
  if (guard == NULL) {
    return;
  }
  rclrt_callback_make_ready(&guard->callback);
}

bool rclrt_chain_priorities(unsigned chains, unsigned length, uint8_t * priorities)
{
  if (
    priorities == NULL || chains > RCLRT_PRIORITIES || length > RCLRT_PRIORITIES ||
    chains * length > RCLRT_PRIORITIES) {
    return false;
  }
  for (unsigned chain = 0; chain < chains; ++chain) {
    for (unsigned i = 0; i < length; ++i) {
      priorities[chain * length + i] = (uint8_t)((chains - 1U - chain) * length + i);
    }
  }
  return true;
}

/* How often `period_ns` fits into `ns`: as a rule not once. A division of 64 bits is 700 bytes of library
 * on processors that have none. At most 64 steps each way. */
static uint64_t count_periods(uint64_t ns, uint64_t period_ns)
{
  uint64_t count = 0;
  uint64_t times = 1;
  uint64_t step = period_ns;
  while (step <= ns / 2U) {
    step *= 2U;
    times *= 2U;
  }
  for (; times > 0; times /= 2U, step /= 2U) {
    if (step <= ns) {
      ns -= step;
      count += times;
    }
  }
  return count;
}

/* One expired timer. False: none. */
static bool collect_one(struct rclrt_executor * executor, uint64_t now, uint64_t * next)
{
  struct rclrt_timer * timer = NULL;
  bool entered = false;
  const uint32_t token = executor_enter(executor);
  struct rclrt_heap_node * first = rclrt_heap_first(&executor->timers);
  *next = first == NULL ? UINT64_MAX : first->key;
  if (*next <= now) {
    timer = RCLRT_CONTAINER_OF(first, struct rclrt_timer, due);
    /* The last expiration that has passed counts; those before it were missed. */
    const uint64_t missed = count_periods(now - first->key, timer->period_ns);
    timer->overruns += (uint32_t)missed;
    rclrt_heap_remove(&executor->timers, first);
    const uint64_t called_for = first->key + missed * timer->period_ns;
    first->key = time_after(called_for, timer->period_ns);
    (void)rclrt_heap_push(&executor->timers, first);
    entered = executor_enter_ready(executor, &timer->callback);
    if (entered) {
      timer->called_for_ns = called_for;
    } else {
      timer->overruns++;
    }
  }
  executor_leave(executor, token);
  if (entered) {
    executor_pend(executor, &timer->callback);
  }
  return timer != NULL;
}

uint64_t rclrt_executor_collect(struct rclrt_executor * executor)
{
  if (!executor_usable(executor)) {
    return UINT64_MAX;
  }
  const uint64_t now = executor->port->now_ns(executor->port->context);
  uint64_t next = UINT64_MAX;
  /* Each timer at most once: afterwards it is in the future. */
  for (uint32_t i = 0; i <= executor->timers.capacity && collect_one(executor, now, &next); ++i) {
  }
  return next;
}
