/* Copyright 2026 The rclrt Authors
 * SPDX-License-Identifier: Apache-2.0
 *
 * The trace record: what one job did, in one cache line.
 *
 * Every part of rclrt that runs jobs writes these 64 bytes and every tool that looks at them reads
 * these 64 bytes; SPEC.md beside this package is the prose. The layout is fixed: fields are only
 * ever added by raising RCLRT_TRACE_VERSION. All times are CLOCK_MONOTONIC nanoseconds (virtual
 * nanoseconds on the simulated platform). It is plain C11 and needs nothing but <stdint.h>.
 */
#ifndef RCLRT_TRACE__RECORD_H_
#define RCLRT_TRACE__RECORD_H_

#include <stdint.h>

#ifdef __cplusplus
extern "C" {
#endif

#define RCLRT_TRACE_MAGIC "RCLRTTRC"
#define RCLRT_TRACE_VERSION 1u

/* `callbacks` of a header: its writer has not closed the file, the names are missing. */
#define RCLRT_TRACE_UNFINISHED UINT32_MAX
/* No deadline was in force for the job. */
#define RCLRT_TRACE_NO_DEADLINE INT64_MAX
/* The platform could not tell how often the job was preempted. */
#define RCLRT_TRACE_UNKNOWN (-1)

/* How a job ended. */
enum rclrt_job_outcome
{
  RCLRT_JOB_DONE = 0,      /* the callback ran and returned */
  RCLRT_JOB_EMPTY = 1,     /* nothing to take: the middleware had dropped the sample already */
  RCLRT_JOB_EXCEPTION = 2, /* the callback threw */
};

/* One executed job. */
struct rclrt_job_record
{
  int64_t release_ns;  /* nominal release: the timer's phase grid, or arrival of the message */
  int64_t ready_ns;    /* the engine learned of it and could have run it from here on */
  int64_t start_ns;    /* its thread entered the callback */
  int64_t end_ns;      /* its thread left the callback */
  int64_t deadline_ns; /* absolute, or RCLRT_TRACE_NO_DEADLINE */
  uint64_t sequence;   /* number of the job within the engine, in release order */
  uint32_t callback;   /* index into the name table */
  uint32_t thread;     /* kernel thread id (virtual thread number when simulated) */
  int32_t preemptions; /* times the job lost its CPU unwillingly, or RCLRT_TRACE_UNKNOWN */
  uint16_t cpu;        /* CPU on which it started */
  uint8_t outcome;     /* enum rclrt_job_outcome */
  uint8_t reserved;    /* zero */
};

/* First bytes of a trace file; then `callbacks` name entries, then records to the end of the file.
 * All little-endian, without padding. */
struct rclrt_trace_header
{
  char magic[8];        /* RCLRT_TRACE_MAGIC, no terminating zero */
  uint32_t version;     /* RCLRT_TRACE_VERSION */
  uint32_t record_size; /* sizeof(struct rclrt_job_record) */
  uint32_t callbacks; /* name entries that follow: u32 id, u32 length, then length bytes of UTF-8 */
  uint32_t reserved;  /* zero */
  uint64_t dropped;   /* records lost because a ring was full */
};

#ifdef __cplusplus
static_assert(sizeof(rclrt_job_record) == 64, "one record is one cache line");
static_assert(sizeof(rclrt_trace_header) == 32, "the file header is packed");
}
#else
_Static_assert(sizeof(struct rclrt_job_record) == 64, "one record is one cache line");
_Static_assert(sizeof(struct rclrt_trace_header) == 32, "the file header is packed");
#endif

#endif /* RCLRT_TRACE__RECORD_H_ */
