/* Copyright 2026 The rclrt Authors
 * SPDX-License-Identifier: Apache-2.0
 *
 * The trace file. Apart from trace.c, so that only programs that read their trace have it.
 */
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
  MODEL_PRIORITY_EVENTS = 1,
  MODEL_PREEMPTIVE = 2,
  ORDER_FIXED_PRIORITY = 2,
};

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

static void put_bytes(uint8_t * at, const char * bytes, size_t size)
{
  for (size_t i = 0; i < size; ++i) {
    at[i] = (uint8_t)bytes[i];
  }
}

static size_t put_header(const struct rclrt_trace * trace, uint8_t * at)
{
  const struct rclrt_executor * executor = trace->executor;
  const uint8_t * key = executor->session->key;
  memset(at, 0, HEADER_SIZE);
  put_bytes(at, "RCLRTTRC", 8);
  put(at + 8, VERSION, 4);
  put(at + 12, RECORD_SIZE, 4);
  put_bytes(at + 16, "rclrt_", 6);
  at[22] = key[0] ^ key[2];
  at[23] = key[1] ^ key[3];
  put(at + 24, trace->boot, 8);
  put(at + 32, (uint64_t)executor->session->clock_offset_ns, 8);
  memcpy(at + 40, key, 4);
  at[43] &= 0x7F; /* as ids of processes */
  put(at + 44, 1, 4);
  at[48] = executor->levels > 1 ? MODEL_PREEMPTIVE : MODEL_PRIORITY_EVENTS;
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
  put_bytes(at + size + ENTRY_SIZE, entry->name, length);
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
