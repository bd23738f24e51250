/* Copyright 2026 The rclrt Authors
 * SPDX-License-Identifier: Apache-2.0
 *
 * The memory that threads, the scheduler in the kernel and its tools share.
 *
 * Six things are pinned in RCLRT_SCX_DIRECTORY while the scheduler is loaded. Four are BPF
 * arrays:
 *
 *   slots    struct rclrt_scx_slot[]       mapped by clients; element 0 is not used
 *   state    one struct rclrt_scx_state    mapped by clients; frozen: user space only reads it, root too
 *   owners   struct rclrt_scx_owner[]      read by tools; same index as slots
 *   cpus     struct rclrt_scx_cpu[]        read by tools; index is the CPU number
 *   bind     a program that a thread runs on itself to get or give back a slot
 *
 *   link     holds the scheduler in force
 *
 * Every word below says what writes it. The kernel
 * believes nothing that clients can write except a thread's own urgency: which thread has which slot
 * is kept where clients cannot write. So the worst a client can do with garbage is to make the
 * threads of its own group more or less urgent.
 *
 * All deadlines are absolute CLOCK_MONOTONIC nanoseconds. Aligned 64-bit words, so no reader sees
 * half a value. A store is enough: the kernel reads the word when the thread is next enqueued or its
 * CPU next looks for work, and a wake-up orders the store before that. Plain C11 and C++; the
 * same header is compiled into the BPF object.
 */
#pragma once

#ifndef __bpf__
#include <stdint.h>
#endif

#ifdef __cplusplus
extern "C" {
#endif

#define RCLRT_SCX_DIRECTORY "/run/rclrt_scx"
#define RCLRT_SCX_MAGIC 0x58435354524c4352ull /* "RCLRTSCX", little-endian */
/* Raised with every change of this file that an old client or loader would misread. */
#define RCLRT_SCX_VERSION 3u
#define RCLRT_SCX_MAX_SLOTS 65536u

/* In a deadline word: the thread has none and is scheduled with the background. So is any value
 * below: a mapped table starts with all slots in this state. */
#define RCLRT_SCX_NO_DEADLINE 0

/* What a CPU runs, in struct rclrt_scx_cpu.running_ns, beside deadlines (which are below 2^63). */
#define RCLRT_SCX_RUNS_BACKGROUND 0x8000000000000000ull
#define RCLRT_SCX_RUNS_NOTHING 0xffffffffffffffffull
/* Within the reserve of the background: not to be preempted. */
#define RCLRT_SCX_RUNS_PROTECTED 0ull

enum rclrt_scx_mode
{
  RCLRT_SCX_FULL = 0,    /* every SCHED_OTHER thread is scheduled here too, as background */
  RCLRT_SCX_PARTIAL = 1, /* only threads under SCHED_EXT */
};

/* A thread's urgency: one cache line. The smaller of the two deadlines counts. */
struct rclrt_scx_slot
{
  int64_t deadline_ns; /* stored by the thread that has the slot, or that hands it its next job */
  int64_t lent_ns;     /* lowered by threads that wait for the owner, cleared by the owner */
  int64_t ended_ns; /* the deadline of a job that is over, left by what clears it; the kernel counts
                          it when the thread stops next, and clears it */
  uint64_t asleep;  /* written by the kernel, which does not read it: 1 while the thread sleeps; it
                          is 0 again before the kernel reads the deadline of a thread that wakes */
  uint64_t
    runtime_ns; /* stored by the owner: CPU time in each period by its deadlines; 0 for any */
  uint64_t period_ns;
  uint64_t left_ns; /* of the runtime, at begun_ns */
  uint64_t
    begun_ns; /* stored last by what changes the budget: what was used before is not charged to it. The kernel
                        clears it when it takes notice */
};

/* Longest period of a budget. The kernel ignores longer ones, and more runtime than period. */
#define RCLRT_SCX_LONGEST_PERIOD_NS 0xffffffffull

/* The thread that has the slot of the same index. Written by the kernel alone. */
struct rclrt_scx_owner
{
  uint32_t tid;    /* in the initial PID namespace; 0: the slot is free */
  uint32_t tgid;   /* its process */
  uint64_t jobs;   /* deadlines that ended: it went to sleep with one, or had left it in ended_ns */
  uint64_t misses; /* of these, later than the deadline */
  char comm[16];
  uint32_t uid; /* of the thread when it got the slot */
  uint32_t reserved32;
  uint64_t reserved[2];
};

/* One CPU. Written by the kernel alone, two lines so that neighbours do not share one. */
struct rclrt_scx_cpu
{
  uint64_t
    running_ns;     /* deadline of what it runs, or RCLRT_SCX_RUNS_*; claimed by waking CPUs; of the
                           last of ours while a higher class has it */
  uint64_t fair_ns; /* when background last ran here, or none was waiting */
  uint64_t jobs;    /* as in struct rclrt_scx_owner, of threads that stopped here */
  uint64_t misses;  /* of these, later than the deadline */
  uint64_t preemptions;     /* threads with a deadline that lost this CPU while they could run */
  uint64_t reserves;        /* turns that the reserve gave to background or to a starved job */
  uint64_t in_reserve;      /* such a turn is under way */
  uint64_t reserve_left_ns; /* of it */
  uint64_t seen_mark[2];    /* of threads on their way into a queue, see the scheduler */
  uint64_t offline;         /* 1: it was taken away, and the words above say nothing */
  uint64_t search_at;       /* jiffies: when it looks for background that starves */
  uint64_t out_of_turn;     /* what it runs next was not the first of its queue */
  uint64_t hurry;   /* turns of the reserve come so many times twice as often: somebody starves */
  uint64_t leaving; /* 1: the kernel's thread that takes it down waits here, or runs */
  uint64_t waiting; /* threads with a deadline that may run here only, and are not known to run */
};

/* The scheduler itself. `in_force` to `exit_message` and `events_lost` are written by the kernel, the
 * rest by the loader before it starts. */
struct rclrt_scx_state
{
  uint64_t magic;
  uint32_t version;
  uint32_t slots; /* threads that can have one; numbered from 1 */
  uint32_t cpus;  /* elements in cpus */
  uint32_t mode;  /* enum rclrt_scx_mode */
  uint32_t reserve_percent;
  uint32_t period_ms;
  uint32_t in_force; /* 1 from when all threads are its own to the last decision; 0 after unload or
                        ejection */
  uint32_t bound;    /* slots in use */
  int64_t exit_code; /* the kernel's exit kind, once in_force has gone back to 0 */
  char exit_reason[128];
  char exit_message[256];
  /* Partial mode: what the loader found in the kernel's server for SCHED_EXT, CPU 0; 0 if nothing. */
  uint64_t server_runtime_ns;
  uint64_t server_period_ns;
  uint64_t events_lost;    /* because the ring buffer was full */
  uint64_t made_directory; /* 1: the loader made the directory; unloading removes it then */
  uint64_t reserved[6];
};

/* What the scheduler decided, for the checker of its order: through the ring buffer `events`, which
 * is pinned if the scheduler was loaded to record. */
enum rclrt_scx_event_type
{
  RCLRT_SCX_QUEUED = 1,  /* waits with `key`; again if it changed */
  RCLRT_SCX_RUNS = 2,    /* got `cpu`; also of background */
  RCLRT_SCX_STOPS = 3,   /* lost `cpu`; also of background */
  RCLRT_SCX_LEFT = 4,    /* can no longer run */
  RCLRT_SCX_RESERVE = 5, /* as RUNS, in a turn of the reserve */
};
struct rclrt_scx_event
{
  uint64_t time_ns;
  uint64_t key;     /* deadline, or RCLRT_SCX_RUNS_BACKGROUND */
  uint64_t allowed; /* CPUs 0 to 63 on which the thread may run, one bit each */
  uint32_t tid;
  uint16_t cpu;
  uint16_t type; /* enum rclrt_scx_event_type */
};

/* Most slots of one process, and of one user's processes together. Root's have no limit. Threads that bind in the
 * same instant may together exceed it, by one for each CPU. */
#define RCLRT_SCX_MOST_OF_PROCESS(slots) ((slots) - (slots) / 2)
#define RCLRT_SCX_MOST_OF_USER(slots) ((slots) - (slots) / 4)

/* Argument of the program `bind`, which acts on the thread that runs it. It returns 0 or a negative
 * errno: ENOSPC all slots are taken, EDQUOT or EUSERS its process or its user has its share (below),
 * EALREADY the thread has one (it is returned), ENOENT it has none, ESHUTDOWN the scheduler is not in force, EINVAL. */
enum rclrt_scx_operation
{
  RCLRT_SCX_BIND = 1,
  RCLRT_SCX_RELEASE = 2,
};
struct rclrt_scx_bind
{
  uint32_t operation; /* enum rclrt_scx_operation */
  uint32_t slot;      /* out: index */
};

#ifdef __cplusplus
static_assert(sizeof(rclrt_scx_slot) == 64, "one cache line");
static_assert(sizeof(rclrt_scx_owner) == 64, "one cache line");
static_assert(sizeof(rclrt_scx_cpu) == 128, "two cache lines");
static_assert(sizeof(rclrt_scx_event) == 32, "no padding");
static_assert(sizeof(rclrt_scx_state) == 512, "the layout of version 3");
}
#else
_Static_assert(sizeof(struct rclrt_scx_slot) == 64, "one cache line");
_Static_assert(sizeof(struct rclrt_scx_owner) == 64, "one cache line");
_Static_assert(sizeof(struct rclrt_scx_cpu) == 128, "two cache lines");
_Static_assert(sizeof(struct rclrt_scx_state) == 512, "the layout of version 3");
#endif
