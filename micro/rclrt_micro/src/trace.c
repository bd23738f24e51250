/* Copyright 2026 The rclrt Authors
 * SPDX-License-Identifier: Apache-2.0
 */
#include "rclrt_micro/trace.h"

#include <string.h>

#include "executor_internal.h"

/* rclrt_trace/SPEC.md */
enum
{
  KIND_UNKNOWN = 0,
  KIND_TIMER = 1,
  KIND_SUBSCRIPTION = 2,
};

static void job_ready(struct rclrt_executor * executor, const struct rclrt_callback * callback)
{
  if (callback->traced != 0) {
    executor->trace->entries[callback->traced - 1U].ready_ns =
      executor->port->now_ns(executor->port->context);
  }
}

static void job_begins(
  struct rclrt_executor * executor, const struct rclrt_callback * callback, unsigned level,
  struct rclrt_trace_job * job)
{
  struct rclrt_trace * trace = executor->trace;
  if (callback->traced == 0) {
    return;
  }
  const struct rclrt_timer * timer = timer_of(callback);
  job->entry = (uint16_t)(callback->traced - 1U);
  job->thread = (uint8_t)(level + 1U);
  job->kept_processor = level + 1U == executor->levels; /* nothing of ours is above it */
  job->cause = 0;
  if (timer != NULL) {
    job->cause = 1;
  } else if (callback->sink != NULL) {
    job->cause = 2;
  }
  job->start_ns = executor->port->now_ns(executor->port->context);
  const uint32_t token = executor_enter(executor);
  job->sequence = trace->begun++;
  job->ready_ns = trace->entries[job->entry].ready_ns;
  job->release_ns = timer == NULL ? job->ready_ns : timer->called_for_ns;
  executor_leave(executor, token);
  /* It may have become ready once more just now. */
  job->ready_ns = job->ready_ns < job->start_ns ? job->ready_ns : job->start_ns;
  job->release_ns = job->release_ns < job->ready_ns ? job->release_ns : job->ready_ns;
}

static void job_ends(struct rclrt_executor * executor, struct rclrt_trace_job * job, bool ran)
{
  struct rclrt_trace * trace = executor->trace;
  job->end_ns = executor->port->now_ns(executor->port->context);
  job->outcome = ran ? 0 : 1;
  trace->jobs[trace->ended & (trace->capacity - 1U)] = *job;
  trace->ended++;
}

enum rclrt_ret rclrt_trace_init(
  struct rclrt_trace * trace, struct rclrt_executor * executor, struct rclrt_trace_job * jobs,
  uint32_t capacity, struct rclrt_trace_entry * entries, uint16_t entry_capacity, uint64_t boot)
{
  if (
    trace == NULL || !executor_usable(executor) || jobs == NULL || entries == NULL ||
    capacity == 0 || (capacity & (capacity - 1U)) != 0 || entry_capacity == UINT16_MAX) {
    return RCLRT_ERR_ARGUMENT;
  }
  memset(trace, 0, sizeof(*trace));
  trace->ready = job_ready;
  trace->begin = job_begins;
  trace->end = job_ends;
  trace->executor = executor;
  trace->jobs = jobs;
  trace->capacity = capacity;
  trace->entries = entries;
  trace->entry_capacity = entry_capacity;
  trace->boot = boot;
  const uint32_t token = executor_enter(executor);
  executor->trace = trace;
  executor_leave(executor, token);
  return RCLRT_OK;
}

enum rclrt_ret rclrt_trace_callback(
  struct rclrt_trace * trace, struct rclrt_callback * callback, const char * name)
{
  if (
    trace == NULL || trace->executor == NULL || callback == NULL || name == NULL ||
    callback->executor != trace->executor) {
    return RCLRT_ERR_ARGUMENT;
  }
  if (trace->entry_count == trace->entry_capacity) {
    return RCLRT_ERR_STORAGE;
  }
  const struct rclrt_timer * timer = timer_of(callback);
  const uint64_t now = trace->executor->port->now_ns(trace->executor->port->context);
  const uint32_t token = executor_enter(trace->executor);
  struct rclrt_trace_entry * entry = &trace->entries[trace->entry_count];
  entry->name = name;
  entry->ready_ns = now;
  entry->period_ns = timer == NULL ? -1 : (int64_t)timer->period_ns;
  entry->kind = KIND_UNKNOWN;
  if (timer != NULL) {
    entry->kind = KIND_TIMER;
  } else if (callback->sink != NULL) {
    entry->kind = KIND_SUBSCRIPTION;
  }
  trace->entry_count++;
  callback->traced = trace->entry_count;
  executor_leave(trace->executor, token);
  return RCLRT_OK;
}
