/* Copyright 2026 The rclrt Authors
 * SPDX-License-Identifier: Apache-2.0
 */
#include "rclrt_micro/trace.h"

#include <string.h>

#include "executor_internal.h"

/* rclrt_trace/SPEC.md */
enum
{
  HEADER_SIZE = 64,
  CHUNK_SIZE = 8,
  ENTRY_SIZE = 32,
  RECORD_SIZE = 128,
  VERSION = 2,
  CHUNK_CALLBACK = 1,
  CHUNK_RECORDS = 2,
  CHUNK_LOST = 4,
  MODEL_EVENTS = 1,
  MODEL_POOL = 2,
  ORDER_FIXED_PRIORITY = 2,
  KIND_UNKNOWN = 0,
  KIND_TIMER = 1,
  KIND_SUBSCRIPTION = 2,
};

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

void trace_ready(struct rclrt_executor * executor, const struct rclrt_callback * callback)
{
  if (executor->trace != NULL && callback->traced != 0) {
    executor->trace->entries[callback->traced - 1U].ready_ns =
      executor->port->now_ns(executor->port->context);
  }
}

void trace_begin(
  struct rclrt_executor * executor, const struct rclrt_callback * callback, unsigned level,
  struct rclrt_trace_job * job)
{
  struct rclrt_trace * trace = executor->trace;
  job->thread = 0;
  if (trace == NULL || callback->traced == 0) {
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

void trace_end(struct rclrt_executor * executor, struct rclrt_trace_job * job, bool ran)
{
  struct rclrt_trace * trace = executor->trace;
  if (trace == NULL || job->thread == 0) {
    return;
  }
  job->end_ns = executor->port->now_ns(executor->port->context);
  job->outcome = ran ? 0 : 1;
  trace->jobs[trace->ended & (trace->capacity - 1U)] = *job;
  trace->ended++;
}

static void put(uint8_t * at, uint64_t value, unsigned size)
{
  for (unsigned i = 0; i < size; ++i) {
    at[i] = (uint8_t)(value >> (8U * i));
  }
}

static size_t put_chunk(uint8_t * at, uint32_t type, size_t size)
{
  put(at, type, 4);
  put(at + 4, size, 4);
  return CHUNK_SIZE;
}

static size_t put_header(const struct rclrt_trace * trace, uint8_t * at)
{
  const struct rclrt_executor * executor = trace->executor;
  const uint8_t * key = executor->session->key;
  memset(at, 0, HEADER_SIZE);
  memcpy(at, "RCLRTTRC", 8);
  put(at + 8, VERSION, 4);
  put(at + 12, RECORD_SIZE, 4);
  memcpy(at + 16, "rclrt_", 6);
  at[22] = key[0] ^ key[2];
  at[23] = key[1] ^ key[3];
  put(at + 24, trace->boot, 8);
  put(at + 32, (uint64_t)executor->session->clock_offset_ns, 8);
  memcpy(at + 40, key, 4);
  at[43] &= 0x7F; /* as ids of processes */
  put(at + 44, 1, 4);
  at[48] = executor->levels > 1 ? MODEL_POOL : MODEL_EVENTS;
  at[49] = ORDER_FIXED_PRIORITY;
  return HEADER_SIZE;
}

static size_t put_entry(const struct rclrt_trace * trace, uint16_t number, uint8_t * at)
{
  const struct rclrt_trace_entry * entry = &trace->entries[number];
  size_t length = strlen(entry->name);
  length = length < RCLRT_TRACE_NAME_MAX ? length : RCLRT_TRACE_NAME_MAX;
  const size_t padded = (length + 7U) / 8U * 8U;
  size_t size = put_chunk(at, CHUNK_CALLBACK, ENTRY_SIZE + length);
  memset(at + size, 0, ENTRY_SIZE + padded);
  put(at + size, number, 4);
  put(at + size + 4, number, 4);
  put(at + size + 8, 1, 4);
  put(at + size + 12, entry->kind, 4);
  put(at + size + 16, (uint64_t)entry->period_ns, 8);
  put(at + size + 24, length, 4);
  memcpy(at + size + ENTRY_SIZE, entry->name, length);
  return size + ENTRY_SIZE + padded;
}

static void put_job(const struct rclrt_trace_job * job, uint8_t * at)
{
  const uint64_t unknown = UINT64_MAX;
  memset(at, 0, RECORD_SIZE);
  put(at, job->release_ns, 8);
  put(at + 8, job->ready_ns, 8);
  put(at + 16, job->start_ns, 8);
  put(at + 24, job->end_ns, 8);
  put(at + 32, INT64_MAX, 8); /* no deadline */
  put(at + 40, job->sequence, 8);
  put(at + 48, job->entry, 4);
  put(at + 52, job->thread, 4);
  put(at + 56, job->kept_processor ? 0 : unknown, 4);
  at[62] = job->outcome;
  at[63] = job->cause;
  put(at + 64, job->kept_processor ? job->end_ns - job->start_ns : unknown, 8);
  put(at + 72, job->release_ns, 8);
  put(at + 88, unknown, 8);
  put(at + 104, unknown, 4);
  put(at + 124, 1, 4);
}

/* Copies the oldest job that was not read. False: there is none. */
static bool take_job(struct rclrt_trace * trace, struct rclrt_trace_job * job)
{
  const uint32_t token = executor_enter(trace->executor);
  const uint32_t waiting = trace->ended - trace->read;
  if (waiting > trace->capacity) {
    trace->lost += waiting - trace->capacity;
    trace->read = trace->ended - trace->capacity;
  }
  const bool some = waiting > 0;
  if (some) {
    *job = trace->jobs[trace->read & (trace->capacity - 1U)];
    trace->read++;
  }
  executor_leave(trace->executor, token);
  return some;
}

size_t rclrt_trace_read(struct rclrt_trace * trace, uint8_t * bytes, size_t size)
{
  if (trace == NULL || trace->executor == NULL || bytes == NULL || size < RCLRT_TRACE_BYTES_MIN) {
    return 0;
  }
  if (!trace->header_told) {
    trace->header_told = true;
    return put_header(trace, bytes);
  }
  const uint32_t token = executor_enter(trace->executor);
  const uint16_t entries = trace->entry_count;
  executor_leave(trace->executor, token);
  if (trace->entries_told < entries) {
    return put_entry(trace, trace->entries_told++, bytes);
  }
  if (trace->lost != trace->lost_told) {
    trace->lost_told = trace->lost;
    put(bytes + put_chunk(bytes, CHUNK_LOST, 8), trace->lost, 8);
    return CHUNK_SIZE + 8U;
  }
  size_t made = 0;
  struct rclrt_trace_job job;
  while (CHUNK_SIZE + made + RECORD_SIZE <= size && take_job(trace, &job)) {
    put_job(&job, bytes + CHUNK_SIZE + made);
    made += RECORD_SIZE;
  }
  return made == 0 ? 0 : put_chunk(bytes, CHUNK_RECORDS, made) + made;
}
