/* Copyright 2026 The rclrt Authors
 * SPDX-License-Identifier: Apache-2.0
 */
#include "rclrt_micro/executor.h"

#include <string.h>

#include "daemon_internal.h"
#include "executor_internal.h"
#include "session_internal.h"

enum rclrt_ret rclrt_executor_init(
  struct rclrt_executor * executor, struct rclrt_session * session,
  struct rclrt_heap_node ** timer_slots, uint16_t timer_count, uint8_t * buffers)
{
  if (executor == NULL) {
    return RCLRT_ERR_ARGUMENT;
  }
  memset(executor, 0, sizeof(*executor)); /* whatever the storage held */
  if (
    session == NULL || session->daemon == NULL || buffers == NULL ||
    (timer_slots == NULL && timer_count > 0) || timer_count == RCLRT_HEAP_OUTSIDE) {
    return RCLRT_ERR_ARGUMENT;
  }
  executor->session = session;
  executor->daemon = session->daemon;
  executor->port = session->daemon->port;
  executor->buffers = buffers;
  executor->buffer_size = session->daemon->config.message_capacity;
  executor->levels = 1;
  rclrt_queue_init(&executor->ready);
  rclrt_list_init(&executor->granted);
  rclrt_heap_init(&executor->timers, timer_slots, timer_count);
  rclrt_list_init(&executor->all);
  return RCLRT_OK;
}

enum rclrt_ret rclrt_executor_use_levels(
  struct rclrt_executor * executor, const uint8_t * floors, uint8_t levels)
{
  if (
    !executor_usable(executor) || floors == NULL || levels == 0 || levels > RCLRT_LEVELS_MAX ||
    executor->port->pend == NULL || floors[0] != 0 || executor_batches(executor) ||
    !rclrt_list_empty(&executor->all)) {
    return RCLRT_ERR_ARGUMENT;
  }
  for (uint8_t i = 1; i < levels; ++i) {
    if (floors[i] <= floors[i - 1]) {
      return RCLRT_ERR_ARGUMENT;
    }
  }
  memcpy(executor->floors, floors, levels);
  executor->levels = levels;
  return RCLRT_OK;
}

static unsigned level_of(const struct rclrt_executor * executor, unsigned priority)
{
  unsigned level = executor->levels - 1U;
  while (level > 0 && priority < executor->floors[level]) {
    level--;
  }
  return level;
}

bool executor_enter_ready(struct rclrt_executor * executor, struct rclrt_callback * callback)
{
  if (callback->ready || callback->granted) {
    return false;
  }
  callback->ready = true;
  trace_ready(executor, callback);
  rclrt_queue_push(&executor->ready, &callback->ready_link, callback->priority);
  return true;
}

void executor_pend(struct rclrt_executor * executor, const struct rclrt_callback * callback)
{
  const struct rclrt_port * port = executor->port;
  if (executor->levels > 1) {
    port->pend(port->context, level_of(executor, callback->priority));
  } else if (port->wake != NULL) {
    port->wake(port->context);
  }
}

void rclrt_callback_make_ready(struct rclrt_callback * callback)
{
  struct rclrt_executor * executor = callback->executor;
  if (executor == NULL) {
    return; /* not added yet, or removed: its frames wait */
  }
  const uint32_t token = executor_enter(executor);
  /* It may have been removed just before. */
  const bool entered = callback->executor == executor && executor_enter_ready(executor, callback);
  executor_leave(executor, token);
  if (entered) {
    executor_pend(executor, callback);
  }
}

enum rclrt_ret rclrt_callback_set_budget(
  struct rclrt_callback * callback, struct rclrt_budget * budget)
{
  if (callback == NULL || callback->executor == NULL || (budget != NULL && budget->amount == 0)) {
    return RCLRT_ERR_ARGUMENT;
  }
  struct rclrt_executor * executor = callback->executor;
  const uint32_t token = executor_enter(executor);
  callback->budget = budget;
  const bool ready = callback->ready;
  executor_leave(executor, token);
  if (ready) {
    executor_pend(executor, callback); /* it may have waited for the budget it had before */
  }
  return RCLRT_OK;
}

static bool run_next(struct rclrt_executor * executor);

enum rclrt_ret rclrt_executor_add_on_new_data(
  struct rclrt_executor * executor, struct rclrt_callback * callback, uint8_t priority)
{
  if (
    !executor_usable(executor) || callback == NULL || callback->run == NULL ||
    callback->executor != NULL || priority >= RCLRT_PRIORITIES) {
    return RCLRT_ERR_ARGUMENT;
  }
  const uint32_t token = executor_enter(executor);
  callback->priority = priority;
  callback->invocation = RCLRT_ON_NEW_DATA;
  callback->ready = false;
  callback->granted = false;
  callback->fresh = false;
  callback->traced = 0;
  callback->budget = NULL;
  if (callback->sink != NULL) {
    daemon_set_priority(executor->daemon, callback->sink, priority); /* reception looks at it */
  }
  rclrt_list_push_back(&executor->all, &callback->all_link);
  callback->executor = executor;
  executor->run_next = run_next;
  const bool has_work = callback->sink != NULL && !rclrt_list_empty(&callback->sink->slots);
  executor_leave(executor, token);
  if (has_work) {
    rclrt_callback_make_ready(callback);
  }
  return RCLRT_OK;
}

void rclrt_executor_remove(struct rclrt_executor * executor, struct rclrt_callback * callback)
{
  if (executor == NULL || callback == NULL || callback->executor != executor) {
    return;
  }
  const uint32_t token = executor_enter(executor);
  executor_take_out(executor, callback);
  if (executor->take_out != NULL) {
    executor->take_out(executor, callback);
  }
  rclrt_list_remove(&callback->all_link);
  if (callback->invocation == RCLRT_ALWAYS) {
    executor->always--;
  }
  if (executor->trigger_callback == callback) {
    executor->trigger_callback = NULL; /* its storage may go: RCLRT_TRIGGER_ONE holds no more */
  }
  callback->executor = NULL;
  executor_leave(executor, token);
}

void executor_run(
  struct rclrt_executor * executor, struct rclrt_callback * callback, unsigned level)
{
  uint8_t * buffer = executor->buffers + (size_t)level * executor->buffer_size;
  struct rclrt_trace_job job;
  trace_begin(executor, callback, level, &job);
  bool fresh = callback->fresh;
  callback->fresh = false;
  if (!fresh && callback->take != NULL && executor->semantics == RCLRT_SEMANTICS_RCLCPP) {
    fresh = callback->take(callback, buffer, executor->buffer_size);
  }
  const bool runs = fresh || callback->take == NULL || callback->invocation == RCLRT_ALWAYS;
  if (runs) {
    callback->run(callback, fresh);
  }
  const uint32_t token = executor_enter(executor);
  executor->executed += runs ? 1U : 0U;
  executor->empty += runs ? 0U : 1U;
  trace_end(executor, &job, runs);
  const bool more = callback->executor != NULL && callback->sink != NULL &&
                    !rclrt_list_empty(&callback->sink->slots);
  executor_leave(executor, token);
  if (more) {
    rclrt_callback_make_ready(callback);
  }
}

void executor_take_out(struct rclrt_executor * executor, struct rclrt_callback * callback)
{
  if (callback->ready) {
    rclrt_queue_remove(&executor->ready, &callback->ready_link, callback->priority);
  } else if (callback->granted) {
    rclrt_list_remove(&callback->ready_link);
  }
  callback->ready = false;
  callback->granted = false;
}

/* In a critical section: of the ready ones from `least` up to `below`, the most urgent with budget
 * left; if none has, the most urgent, but with levels none, for those below are to run: `*again`
 * says when. One step per callback without budget. */
static struct rclrt_callback * first_with_budget(
  struct rclrt_executor * executor, unsigned least, unsigned below, uint64_t now, uint64_t * again)
{
  const struct rclrt_queue * ready = &executor->ready;
  struct rclrt_callback * const first =
    executor_ready_of(rclrt_queue_first_between(ready, least, below));
  struct rclrt_callback * callback = first;
  *again = UINT64_MAX;
  while (callback != NULL && !rclrt_budget_left(callback->budget, now)) {
    *again = callback->budget->full_ns < *again ? callback->budget->full_ns : *again;
    callback =
      executor_ready_of(rclrt_queue_next(ready, &callback->ready_link, callback->priority));
    callback = callback != NULL && callback->priority < least ? NULL : callback;
  }
  return callback == NULL && executor->levels == 1 ? first : callback;
}

/* The next of the ready ones from `least` up to `below`, taken out. Before them what was granted, also
 * when there are no batches any more. */
static struct rclrt_callback * pop_ready(
  struct rclrt_executor * executor, unsigned least, unsigned below, uint64_t * again)
{
  const uint64_t now = executor->port->now_ns(executor->port->context);
  const uint32_t token = executor_enter(executor);
  struct rclrt_callback * callback = executor_ready_of(rclrt_list_first(&executor->granted));
  if (callback == NULL) {
    callback = first_with_budget(executor, least, below, now, again);
    rclrt_budget_use(callback == NULL ? NULL : callback->budget, 1, now);
  }
  if (callback != NULL) {
    executor_take_out(executor, callback);
  }
  executor_leave(executor, token);
  return callback;
}

uint64_t rclrt_executor_run_level(struct rclrt_executor * executor, unsigned level)
{
  if (!executor_usable(executor) || level >= executor->levels) {
    return UINT64_MAX;
  }
  /* Only its own: where levels are threads, the one above may be running a callback at this moment
   * that has just become ready again, and a callback never runs twice at once. */
  const unsigned below =
    level + 1U < executor->levels ? executor->floors[level + 1U] : RCLRT_PRIORITIES;
  struct rclrt_callback * callback;
  uint64_t again = UINT64_MAX;
  while ((callback = pop_ready(executor, executor->floors[level], below, &again)) != NULL) {
    executor_run(executor, callback, level);
    daemon_answered(executor->daemon); /* without levels the next poll does it */
  }
  return again;
}

static bool run_next(struct rclrt_executor * executor)
{
  uint64_t again;
  struct rclrt_callback * callback = executor_batches(executor)
                                       ? executor->next_of_batch(executor)
                                       : pop_ready(executor, 0, RCLRT_PRIORITIES, &again);
  if (callback != NULL) {
    executor_run(executor, callback, 0);
  }
  return callback != NULL;
}

enum rclrt_ret executor_wait(
  struct rclrt_executor * executor, uint64_t next_ns, uint64_t deadline_ns)
{
  const uint64_t now = executor->port->now_ns(executor->port->context);
  const uint64_t until = next_ns < deadline_ns ? next_ns : deadline_ns;
  if (now >= deadline_ns) {
    return RCLRT_ERR_TIMEOUT;
  }
  return rclrt_executor_serve(executor, until > now ? until - now : 0);
}

enum rclrt_ret rclrt_executor_serve(struct rclrt_executor * executor, uint64_t timeout_ns)
{
  if (!executor_usable(executor)) {
    return RCLRT_ERR_ARGUMENT;
  }
  if (timeout_ns > 0) {
    const uint64_t due = session_due(executor->session);
    const uint64_t now = executor->port->now_ns(executor->port->context);
    const uint64_t left = due > now ? due - now : 0;
    timeout_ns = left < timeout_ns ? left : timeout_ns;
  }
  enum rclrt_ret ret = rclrt_daemon_poll(executor->daemon, timeout_ns);
  if (ret == RCLRT_ERR_TRANSPORT && executor->session->keep_alive_ns != 0) {
    session_line_broken(executor->session); /* and opened anew in time */
    ret = RCLRT_OK;
  }
  rclrt_session_handle(executor->session);
  return ret;
}

enum rclrt_ret executor_begin(
  struct rclrt_executor * executor, uint64_t timeout_ns, uint64_t * deadline_ns)
{
  if (!executor_usable(executor) || executor->levels > 1) {
    return RCLRT_ERR_ARGUMENT; /* with levels the port runs them */
  }
  *deadline_ns = time_after(executor->port->now_ns(executor->port->context), timeout_ns);
  /* Data that a line without interrupts has brought meanwhile. */
  return rclrt_executor_serve(executor, 0);
}

enum rclrt_ret rclrt_executor_spin_some(struct rclrt_executor * executor, uint64_t timeout_ns)
{
  uint64_t deadline = 0;
  enum rclrt_ret ret = executor_begin(executor, timeout_ns, &deadline);
  while (ret == RCLRT_OK) {
    const uint64_t next_ns = executor_collect_timers(executor);
    if (executor->run_next != NULL && executor->run_next(executor)) {
      return RCLRT_OK;
    }
    ret = executor_wait(executor, next_ns, deadline);
  }
  return ret;
}

enum rclrt_ret rclrt_executor_spin(struct rclrt_executor * executor, const volatile bool * stop)
{
  enum rclrt_ret ret = stop == NULL ? RCLRT_ERR_ARGUMENT : RCLRT_OK;
  while ((ret == RCLRT_OK || ret == RCLRT_ERR_TIMEOUT) && !*stop) {
    ret = rclrt_executor_spin_some(executor, UINT64_C(100) * 1000000U);
  }
  return ret == RCLRT_ERR_TIMEOUT ? RCLRT_OK : ret;
}

enum rclrt_ret rclrt_executor_spin_period(
  struct rclrt_executor * executor, uint64_t period_ns, const volatile bool * stop)
{
  if (!executor_usable(executor) || stop == NULL || period_ns == 0) {
    return RCLRT_ERR_ARGUMENT;
  }
  const struct rclrt_port * port = executor->port;
  uint64_t next = port->now_ns(port->context);
  enum rclrt_ret ret = RCLRT_OK;
  while (!*stop && ret == RCLRT_OK) {
    next += (port->now_ns(port->context) - next) / period_ns * period_ns;
    next = time_after(next, period_ns);
    do {
      ret = rclrt_executor_spin_some(executor, 0);
    } while (ret == RCLRT_OK && port->now_ns(port->context) < next &&
             (!executor_batches(executor) || !rclrt_list_empty(&executor->granted)));
    if (ret == RCLRT_ERR_TIMEOUT) { /* nothing is ready any more */
      ret = RCLRT_OK;
    }
    while (ret == RCLRT_OK) {
      ret = executor_wait(executor, UINT64_MAX, next);
    }
    ret = ret == RCLRT_ERR_TIMEOUT ? RCLRT_OK : ret; /* the next period begins */
  }
  return ret;
}
