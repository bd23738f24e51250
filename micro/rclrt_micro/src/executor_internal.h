/* Copyright 2026 The rclrt Authors
 * SPDX-License-Identifier: Apache-2.0
 *
 * What the two executors share.
 */
#pragma once

#include "rclrt_micro/executor.h"
#include "rclrt_micro/trace.h"

static inline uint32_t executor_enter(const struct rclrt_executor * executor)
{
  return executor->port->enter(executor->port->context);
}

static inline void executor_leave(const struct rclrt_executor * executor, uint32_t token)
{
  executor->port->leave(executor->port->context, token);
}

/* False if its rclrt_executor_init() failed. */
static inline bool executor_usable(const struct rclrt_executor * executor)
{
  return executor != NULL && executor->port != NULL;
}

/* Does a round grant a batch, instead of running whatever is most urgent? */
static inline bool executor_batches(const struct rclrt_executor * executor)
{
  return executor->trigger != RCLRT_TRIGGER_ANY || executor->semantics != RCLRT_SEMANTICS_RCLCPP ||
         executor->always > 0;
}

static inline struct rclrt_callback * executor_ready_of(struct rclrt_link * link)
{
  return link == NULL ? NULL : RCLRT_CONTAINER_OF(link, struct rclrt_callback, ready_link);
}

/* When the next timer expires; those that have are ready. */
static inline uint64_t executor_collect_timers(struct rclrt_executor * executor)
{
  return executor->collect == NULL ? UINT64_MAX : executor->collect(executor);
}

/* Takes the message if need be and runs the callback; more messages make it ready again. */
void executor_run(
  struct rclrt_executor * executor, struct rclrt_callback * callback, unsigned level);
/* In a critical section. True when it was not ready before: its level is to be pended then. */
bool executor_enter_ready(struct rclrt_executor * executor, struct rclrt_callback * callback);
/* Not in a critical section. */
void executor_pend(struct rclrt_executor * executor, const struct rclrt_callback * callback);
/* In a critical section: its next expiry at `due_ns`; UINT64_MAX: none. It is in this executor. */
static inline void timer_set(
  struct rclrt_executor * executor, struct rclrt_timer * timer, uint64_t due_ns)
{
  rclrt_heap_remove(&executor->timers, &timer->due);
  timer->due.key = due_ns;
  (void)rclrt_heap_push(&executor->timers, &timer->due); /* its place is free */
}
/* The timer that it is, or null. */
const struct rclrt_timer * timer_of(const struct rclrt_callback * callback);
/* In a critical section: neither ready nor granted any more. */
void executor_take_out(struct rclrt_executor * executor, struct rclrt_callback * callback);
/* Moves to the batch whatever is ready or runs always, and with LET takes its data. One step per
 * callback, as the trigger ALL. */
void executor_grant(struct rclrt_executor * executor);
bool executor_triggered(struct rclrt_executor * executor);
/* The begin of a round: handles what the line has brought. Errors: ARGUMENT, TRANSPORT. */
enum rclrt_ret executor_begin(
  struct rclrt_executor * executor, uint64_t timeout_ns, uint64_t * deadline_ns);
/* Waits for the line until `next_ns` at most. TIMEOUT: `deadline_ns` has passed. */
enum rclrt_ret executor_wait(
  struct rclrt_executor * executor, uint64_t next_ns, uint64_t deadline_ns);

/* In a critical section: tells a trace, if there is one, that the callback has become ready. */
static inline void trace_ready(
  struct rclrt_executor * executor, const struct rclrt_callback * callback)
{
  if (executor->trace != NULL) {
    executor->trace->ready(executor, callback);
  }
}

/* Not in a critical section: before a job runs. */
static inline void trace_begin(
  struct rclrt_executor * executor, const struct rclrt_callback * callback, unsigned level,
  struct rclrt_trace_job * job)
{
  job->thread = 0;
  if (executor->trace != NULL) {
    executor->trace->begin(executor, callback, level, job);
  }
}

/* In a critical section: after it. */
static inline void trace_end(
  struct rclrt_executor * executor, struct rclrt_trace_job * job, bool ran)
{
  if (executor->trace != NULL && job->thread != 0) {
    executor->trace->end(executor, job, ran);
  }
}
