/* SPDX-License-Identifier: GPL-2.0 */
/*
 * What the scheduler keeps: the tables of rclrt_scx/slots.h, which the loader sizes and pins, and for
 * each thread what only the scheduler may know.
 */
#pragma once

#include "rclrt_scx/slots.h"

const volatile u32 cpu_count = 1;
const volatile bool record;
const volatile bool ksoftirqd_first; /* see wakes_sleepers() */
const volatile u64 immediate;	     /* SCX_ENQ_IMMED, 0 if the kernel lacks it */

struct {
	__uint(type, BPF_MAP_TYPE_ARRAY);
	__uint(map_flags, BPF_F_MMAPABLE);
	__uint(max_entries, 1);
	__type(key, u32);
	__type(value, struct rclrt_scx_state);
} state SEC(".maps");

struct {
	__uint(type, BPF_MAP_TYPE_ARRAY);
	__uint(map_flags, BPF_F_MMAPABLE);
	__uint(max_entries, 1);
	__type(key, u32);
	__type(value, struct rclrt_scx_slot);
} slots SEC(".maps");

struct {
	__uint(type, BPF_MAP_TYPE_ARRAY);
	__uint(map_flags, BPF_F_MMAPABLE);
	__uint(max_entries, 1);
	__type(key, u32);
	__type(value, struct rclrt_scx_owner);
} owners SEC(".maps");

struct {
	__uint(type, BPF_MAP_TYPE_ARRAY);
	__uint(map_flags, BPF_F_MMAPABLE);
	__uint(max_entries, 1);
	__type(key, u32);
	__type(value, struct rclrt_scx_cpu);
} cpus SEC(".maps");

struct {
	__uint(type, BPF_MAP_TYPE_RINGBUF);
	__uint(max_entries, 4096);
} events SEC(".maps");

/* What only the scheduler may know of a thread. */
struct thread {
	u32 slot;	 /* 0 for none */
	bool urgent;	 /* runs by a deadline */
	bool first;	 /* before all deadlines, see wakes_sleepers() */
	u64 vtime;	 /* of the background */
	u64 charged_ns;	 /* CPU time that is in the accounts */
	bool in_reserve; /* has its CPU in a turn of the reserve */
	bool preempted;	 /* has just lost its CPU, and is on its way back into a queue */
	bool changed; /* has not been in a queue: was changed while it ran, or has an idle CPU at once */
	bool had_slot; /* is counted in with_slots */
	u32 chosen;    /* 1 + the idle CPU that select_cpu() has claimed for it */
	u32 counted; /* as waiting: 1 in EDF, 2 + cpu in OWN(cpu); written under its run queue's lock */
	/* What follows is its budget, see budget.bpf.h. */
	bool slept;	  /* since it was last looked at */
	bool postponed;	  /* server_ns counts, if it is later than the deadline */
	u64 server_ns;	  /* the server's deadline */
	u64 left_ns;	  /* of the runtime */
	u64 used_from_ns; /* not charged yet */
};

struct {
	__uint(type, BPF_MAP_TYPE_TASK_STORAGE);
	__uint(map_flags, BPF_F_NO_PREALLOC);
	__type(key, int);
	__type(value, struct thread);
} threads SEC(".maps");

#define PLAIN_BITS 1023U
static u32 with_slots[PLAIN_BITS + 1]; /* threads of these numbers that have, or had, a slot */

/* Whether `p` surely never had a slot: then little of what is kept of threads matters. */
static __always_inline bool is_plain(const struct task_struct *p)
{
	return !record && !ksoftirqd_first && !with_slots[p->pid & PLAIN_BITS];
}

static struct thread *thread_of(struct task_struct *p)
{
	return bpf_task_storage_get(&threads, p, 0, 0);
}

static struct rclrt_scx_cpu *cpu_of(s32 cpu)
{
	return bpf_map_lookup_elem(&cpus, &cpu);
}

static struct rclrt_scx_state *the_state(void)
{
	u32 zero = 0;

	return bpf_map_lookup_elem(&state, &zero);
}

static struct rclrt_scx_slot *slot_of(const struct thread *t)
{
	u32 index;

	if (!t || !t->slot)
		return NULL;
	index = t->slot;
	return bpf_map_lookup_elem(&slots, &index);
}

/* The deadline that the thread states, and what its budget makes of it; none: as below. */
static s64 stated(const struct rclrt_scx_slot *slot)
{
	return *(volatile s64 *)&slot->deadline_ns;
}

static s64 postponed(const struct thread *t, s64 own)
{
	if (t->postponed && own > RCLRT_SCX_NO_DEADLINE && own < (s64)t->server_ns)
		return t->server_ns;
	return own;
}

/* The thread's deadline as a key, RCLRT_SCX_RUNS_BACKGROUND if it has none. */
static u64 urgency(const struct thread *t)
{
	struct rclrt_scx_slot *slot = slot_of(t);
	s64 own, lent;

	if (t && t->first)
		return 1;
	if (!slot)
		return RCLRT_SCX_RUNS_BACKGROUND;
	own = postponed(t, stated(slot));
	lent = *(volatile s64 *)&slot->lent_ns;
	if (lent > RCLRT_SCX_NO_DEADLINE && (own <= RCLRT_SCX_NO_DEADLINE || lent < own))
		own = lent;
#ifdef RCLRT_SCX_IGNORES_DEADLINES /* For tests: first come, first served, above background. */
	if (own > RCLRT_SCX_NO_DEADLINE)
		own = 1LL << 61;
#endif
	return own > RCLRT_SCX_NO_DEADLINE ? (u64)own : RCLRT_SCX_RUNS_BACKGROUND;
}

/* The deadline by which its job is judged: a budget postpones what the job may ask for, not when it is late. */
static u64 key_of_job(const struct thread *t, u64 key)
{
	struct rclrt_scx_slot *slot = slot_of(t);
	s64 own = slot ? stated(slot) : RCLRT_SCX_NO_DEADLINE;

	return own > RCLRT_SCX_NO_DEADLINE && (u64)own < key ? (u64)own : key;
}

static void say_asleep(const struct thread *t, u64 asleep)
{
	struct rclrt_scx_slot *slot = slot_of(t);

	if (slot)
		__sync_lock_test_and_set(&slot->asleep, asleep);
}

/* A job with this deadline has just ended. */
static void count_job(const struct thread *t, struct rclrt_scx_cpu *c, u64 deadline)
{
	u32 index = t->slot;
	struct rclrt_scx_owner *owner = bpf_map_lookup_elem(&owners, &index);
	u64 late = bpf_ktime_get_ns() > deadline;

	c->jobs++;
	c->misses += late;
	if (owner) {
		owner->jobs++;
		owner->misses += late;
	}
}

/* What the scheduler decides, for the program that records it. */
static void note(struct task_struct *p, u16 type, u64 key)
{
	struct rclrt_scx_event *event;
	u64 allowed = 0;
	s32 cpu;

	bpf_for(cpu, 0, 64) {
		if (cpu < cpu_count && bpf_cpumask_test_cpu(cpu, p->cpus_ptr))
			allowed |= 1ULL << cpu;
	}
	event = bpf_ringbuf_reserve(&events, sizeof(*event), 0);
	if (!event) {
		struct rclrt_scx_state *s = the_state();

		if (s)
			__sync_fetch_and_add(&s->events_lost, 1);
		return;
	}
	event->time_ns = bpf_ktime_get_ns();
	event->key = key;
	event->allowed = allowed;
	event->tid = p->pid;
	event->cpu = scx_bpf_task_cpu(p);
	event->type = type;
	/* Waking the recorder is itself an event: each would make the next, and the recorder a
	 * thread that never sleeps. It looks by itself. */
	bpf_ringbuf_submit(event, BPF_RB_NO_WAKEUP);
}
