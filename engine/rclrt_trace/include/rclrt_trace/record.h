/* Copyright 2026 The rclrt Authors
 * SPDX-License-Identifier: Apache-2.0
 *
 * The trace record: what one job did, and why it ran when it did. SPEC.md beside this package is the
 * prose. The layout is fixed: a change of it raises RCLRT_TRACE_VERSION. All times are CLOCK_MONOTONIC
 * nanoseconds (virtual nanoseconds on the simulated platform). Plain C11, needs nothing but <stdint.h>.
 */
#pragma once

#include <stdint.h>

#ifdef __cplusplus
extern "C" {
#endif

#define RCLRT_TRACE_MAGIC "RCLRTTRC"
#define RCLRT_TRACE_VERSION 2u

/* No deadline was in force for the job. */
#define RCLRT_TRACE_NO_DEADLINE INT64_MAX
/* In a signed field: nobody knows. */
#define RCLRT_TRACE_UNKNOWN (-1)
/* `message`: the middleware has said neither its time stamp nor its number. */
#define RCLRT_TRACE_NO_MESSAGE UINT64_MAX
/* `by_callback`: no job is known that has published it. */
#define RCLRT_TRACE_NO_CALLBACK UINT32_MAX
/* `cpus`: some CPU with number 63 or more. */
#define RCLRT_TRACE_MORE_CPUS (UINT64_C(1) << 63)
/* Bytes of a name, at most. */
#define RCLRT_TRACE_MAX_NAME 4096u

/* What the record tells. */
enum rclrt_job_outcome
{
  RCLRT_JOB_DONE = 0,      /* the callback ran and returned */
  RCLRT_JOB_EMPTY = 1,     /* nothing to take: the middleware had dropped the sample already */
  RCLRT_JOB_EXCEPTION = 2, /* the callback threw */
  RCLRT_JOB_DROPPED = 3,   /* did not run: more jobs waited than the depth allows */
  RCLRT_JOB_SKIPPED = 4,   /* did not run: the overrun rule, or the timer was cancelled or reset */
  RCLRT_PUBLISHED = 5,     /* no job of its own: job `sequence` has published a message */
};

/* What released the job. */
enum rclrt_job_cause
{
  RCLRT_CAUSE_UNKNOWN = 0,
  RCLRT_CAUSE_TIMER = 1,
  RCLRT_CAUSE_MESSAGE = 2, /* a message, request or event from outside the jobs of this process */
  RCLRT_CAUSE_JOB = 3,     /* a publication inside the job named by `by_...` */
};

/* What the job found busy when it was released. */
enum rclrt_job_wait
{
  RCLRT_WAITED_FOR_NOTHING = 0, /* or unknown */
  RCLRT_WAITED_FOR_GROUP = 1,   /* as many jobs of its group ran as may */
  RCLRT_WAITED_FOR_THREAD = 2,  /* no thread of the executor slept */
};

/* Policy in force. */
enum rclrt_trace_policy
{
  RCLRT_POLICY_UNKNOWN = 0,
  RCLRT_POLICY_OTHER = 1,
  RCLRT_POLICY_BATCH = 2,
  RCLRT_POLICY_IDLE = 3,
  RCLRT_POLICY_FIFO = 4,
  RCLRT_POLICY_RR = 5,
  RCLRT_POLICY_DEADLINE = 6,
  RCLRT_POLICY_EXT = 7, /* by the deadline of the job */
};

struct rclrt_job_record
{
  int64_t release_ns;   /* nominal release: the timer's grid, or arrival of the message */
  int64_t ready_ns;     /* the engine learned of it and could have run it from here on */
  int64_t start_ns;     /* its thread entered the callback */
  int64_t end_ns;       /* its thread left the callback */
  int64_t deadline_ns;  /* absolute, or RCLRT_TRACE_NO_DEADLINE */
  uint64_t sequence;    /* number of the job within the executor, in order of release */
  uint32_t callback;    /* id of a callback of the file */
  uint32_t thread;      /* kernel thread id (virtual thread number when simulated) */
  int32_t preemptions;  /* times the job lost its CPU unwillingly, or RCLRT_TRACE_UNKNOWN */
  uint16_t cpu;         /* CPU on which it started */
  uint8_t outcome;      /* enum rclrt_job_outcome */
  uint8_t cause;        /* enum rclrt_job_cause */
  int64_t cpu_ns;       /* CPU time between start and end, or RCLRT_TRACE_UNKNOWN */
  int64_t root_ns;      /* release of the first job in the line of jobs that led to this one */
  uint64_t publisher;   /* FNV-1a, 64 bits, of 16 bytes of the publisher's GID; 0 if unknown */
  uint64_t message;     /* its source time stamp or number there, or RCLRT_TRACE_NO_MESSAGE */
  uint64_t by_sequence; /* the job that published it, if cause is RCLRT_CAUSE_JOB */
  uint32_t by_callback; /* its callback, or RCLRT_TRACE_NO_CALLBACK */
  uint16_t by_executor; /* its executor, as `executor` of the header */
  uint8_t waited_for;   /* enum rclrt_job_wait */
  uint8_t policy;       /* enum rclrt_trace_policy: in force for the job */
  uint64_t cpus;        /* CPUs it may use: bit n is CPU n; 0 if unknown */
  int16_t priority;     /* fifo, rr: 1-99; other, batch: nice; else 0 */
  uint16_t reserved;    /* 0 */
  uint32_t jobs;        /* 1; of dropped and skipped ones: how many */
};

/* Whether the record is of a job that ran; else it is of jobs that were given up, or of a publication. */
static inline int rclrt_job_ran(const struct rclrt_job_record * record)
{
  return record->outcome <= RCLRT_JOB_EXCEPTION;
}

/* The head of a file. All of a file is little-endian and a sequence of chunks that follows it. */
struct rclrt_trace_header
{
  char magic[8];        /* RCLRT_TRACE_MAGIC, no terminating zero */
  uint32_t version;     /* RCLRT_TRACE_VERSION */
  uint32_t record_size; /* sizeof(struct rclrt_job_record) */
  uint8_t boot_id[16]; /* of the kernel: files of one boot have one CLOCK_MONOTONIC; 0: simulated */
  int64_t clock_offset_ns; /* CLOCK_REALTIME minus CLOCK_MONOTONIC when the file was made */
  uint32_t process;        /* its id; 0: simulated */
  uint32_t executor;       /* number within the process, from 1; 0: unknown */
  uint8_t model;           /* enum rclrt_trace_model */
  uint8_t ordering;        /* enum rclrt_trace_ordering */
  uint8_t timers_preempt;  /* 1: priority_events model, the timer thread runs timer callbacks */
  uint8_t reserved[13];    /* 0 */
};

enum rclrt_trace_model
{
  RCLRT_MODEL_UNKNOWN = 0,
  RCLRT_MODEL_PRIORITY_EVENTS = 1,
  RCLRT_MODEL_PREEMPTIVE = 2,
  RCLRT_MODEL_ISOLATED = 3,
};

/* The policy that orders jobs of equal priority. */
enum rclrt_trace_ordering
{
  RCLRT_ORDER_UNKNOWN = 0,
  RCLRT_ORDER_FIRST_COME = 1,
  RCLRT_ORDER_FIXED_PRIORITY = 2,
  RCLRT_ORDER_EDF = 3,
};

/* A chunk: this, then `size` bytes, then zeros up to a multiple of 8. */
struct rclrt_trace_chunk
{
  uint32_t
    type; /* enum rclrt_trace_chunk_type; a reader passes over a type that it does not know */
  uint32_t size;
};

enum rclrt_trace_chunk_type
{
  RCLRT_CHUNK_NONE = 0,     /* the end: nothing more has been written */
  RCLRT_CHUNK_CALLBACK = 1, /* struct rclrt_trace_callback, then both names */
  RCLRT_CHUNK_RECORDS = 2,  /* records */
  RCLRT_CHUNK_RING = 3,     /* struct rclrt_trace_ring, then `capacity` records */
  RCLRT_CHUNK_LOST = 4, /* u64: records that are missing so far. The last one of a file counts. */
  RCLRT_CHUNK_PADDING = 5, /* nothing */
  RCLRT_CHUNK_PROCESS = 6, /* struct rclrt_trace_process, then the name of the program */
  RCLRT_CHUNK_NOTE = 7, /* u32: a callback, or RCLRT_TRACE_NO_CALLBACK for the file; then UTF-8 */
};

struct rclrt_trace_callback
{
  uint32_t id;                /* `callback` of its records */
  uint32_t group;             /* callbacks with the same number share a group */
  uint32_t parallelism;       /* jobs of the group that may run at once; 0: unknown */
  uint32_t kind;              /* enum rclrt_trace_kind */
  int64_t period_ns;          /* of a timer when it was added; RCLRT_TRACE_UNKNOWN for all others */
  uint32_t name_length;       /* bytes of UTF-8 that follow */
  uint32_t group_name_length; /* and after them */
};

enum rclrt_trace_kind
{
  RCLRT_KIND_UNKNOWN = 0,
  RCLRT_KIND_TIMER = 1,
  RCLRT_KIND_SUBSCRIPTION = 2,
  RCLRT_KIND_SERVICE = 3,
  RCLRT_KIND_CLIENT = 4,
  RCLRT_KIND_WAITABLE = 5,
};

/* With `process` of the header: which process, also after its id has gone to another. */
struct rclrt_trace_process
{
  uint64_t pid_namespace; /* number of the file /proc/self/ns/pid; 0: unknown */
  uint32_t born;          /* field 22 of /proc/self/stat, the low 32 bits */
  uint32_t name_length;   /* bytes that follow */
};

/* The newest records of one thread. Record i is in slot i modulo `capacity`. While the thread runs, slot
 * `head` modulo `capacity` may hold half a record. */
struct rclrt_trace_ring
{
  uint64_t head;         /* records written so far */
  uint32_t capacity;     /* a power of two */
  uint32_t reserved[11]; /* 0 */
};

#ifdef __cplusplus
static_assert(sizeof(rclrt_job_record) == 128, "one record is two cache lines");
static_assert(sizeof(rclrt_trace_header) == 64, "the file header is packed");
static_assert(sizeof(rclrt_trace_callback) == 32, "the entry is packed");
static_assert(sizeof(rclrt_trace_process) == 16, "the entry is packed");
static_assert(sizeof(rclrt_trace_ring) == 56, "with its chunk it is one cache line");
}
#else
_Static_assert(sizeof(struct rclrt_job_record) == 128, "one record is two cache lines");
_Static_assert(sizeof(struct rclrt_trace_header) == 64, "the file header is packed");
_Static_assert(sizeof(struct rclrt_trace_callback) == 32, "the entry is packed");
_Static_assert(sizeof(struct rclrt_trace_process) == 16, "the entry is packed");
_Static_assert(sizeof(struct rclrt_trace_ring) == 56, "with its chunk: a cache line");
#endif
