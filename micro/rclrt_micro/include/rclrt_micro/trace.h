/* Copyright 2026 The rclrt Authors
 * SPDX-License-Identifier: Apache-2.0
 *
 * What an executor ran, and when: the newest jobs in memory of yours. rclrt_trace_read() makes bytes of
 * them that are a trace file of rclrt (engine/rclrt_trace/SPEC.md), so that a board is in one timeline
 * with the computers it talks to. Send the bytes over a line of yours, or keep them in memory that a
 * debugger reads.
 */
#pragma once

#include "rclrt_micro/executor.h"

#ifdef __cplusplus
extern "C" {
#endif

/* rclrt_trace_read() needs at least so many bytes. Longer names are cut. */
#define RCLRT_TRACE_BYTES_MIN 136U
#define RCLRT_TRACE_NAME_MAX 96U

struct rclrt_trace_job
{
  uint64_t release_ns; /* a timer's nominal time; else when it became ready */
  uint64_t ready_ns;
  uint64_t start_ns;
  uint64_t end_ns;
  uint32_t sequence; /* in the order in which jobs begin */
  uint16_t entry;
  uint8_t outcome; /* 0: ran, 1: its message had been lost */
  uint8_t cause;   /* 0: a guard condition, 1: a timer, 2: a message */
  uint8_t thread;  /* its level, from 1 */
  bool kept_processor;
};

struct rclrt_trace_entry
{
  const char * name;
  uint64_t ready_ns; /* of the job that is ready or runs */
  int64_t period_ns;
  uint8_t kind;
};

struct rclrt_trace
{
  /* Called by the executor; through pointers, so that a program without a trace does not link them. */
  void (*ready)(struct rclrt_executor * executor, const struct rclrt_callback * callback);
  void (*begin)(
    struct rclrt_executor * executor, const struct rclrt_callback * callback, unsigned level,
    struct rclrt_trace_job * job);
  void (*end)(struct rclrt_executor * executor, struct rclrt_trace_job * job, bool ran);
  struct rclrt_executor * executor;
  struct rclrt_trace_job * jobs;
  struct rclrt_trace_entry * entries;
  uint64_t boot;
  uint32_t capacity;
  uint32_t begun; /* jobs */
  uint32_t ended;
  uint16_t entry_capacity;
  uint16_t entry_count;
  /* For the reader. */
  uint32_t read;
  uint32_t lost;
  uint32_t lost_told;
  uint16_t entries_told;
  bool header_told;
};

/* From now on. `jobs`: a ring of `capacity`, which is a power of two. `entries`: one for each callback that
 * is to be seen. `boot`: a number that no other boot of this board has and no other board, for instance a
 * random one; files of different boots have different clocks. Errors: ARGUMENT. */
enum rclrt_ret rclrt_trace_init(
  struct rclrt_trace * trace, struct rclrt_executor * executor, struct rclrt_trace_job * jobs,
  uint32_t capacity, struct rclrt_trace_entry * entries, uint16_t entry_capacity, uint64_t boot);
/* Call it after the callback is added to the executor, and again if it is added again. `name` is not
 * copied; one like those on the computers, /imu/timer/1ms, is found by the same patterns. Errors:
 * ARGUMENT, STORAGE (entry_capacity). */
enum rclrt_ret rclrt_trace_callback(
  struct rclrt_trace * trace, struct rclrt_callback * callback, const char * name);
/* Writes the next bytes of the file; returns how many, 0 if there is nothing new or `size` is below
 * RCLRT_TRACE_BYTES_MIN. From one context at a time, at any priority: jobs are copied one by one in critical
 * sections. The file says how many jobs the ring has lost meanwhile. */
size_t rclrt_trace_read(struct rclrt_trace * trace, uint8_t * bytes, size_t size);

#ifdef __cplusplus
}
#endif
