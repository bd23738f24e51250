/* SPDX-License-Identifier: GPL-2.0 */
/*
 * What the scheduler sees of the kernel: the few fields and functions it uses, relocated at load
 * time (CO-RE), so that no vmlinux.h is needed and one object serves Linux 6.12 to 7.3.
 *
 * Functions were renamed in 6.13 and again in 6.19. Each variant is declared weak; what the running
 * kernel lacks is pruned by the verifier as a dead branch.
 */
#pragma once

typedef unsigned char u8;
typedef unsigned short u16;
typedef unsigned int u32;
typedef int s32;
typedef unsigned long long u64;
typedef long long s64;
typedef u8 __u8;
typedef u16 __u16;
typedef u32 __u32;
typedef u64 __u64;
typedef s32 __s32;
typedef s64 __s64;
typedef u16 __be16;
typedef u32 __be32;
typedef u32 __wsum;
typedef u8 uint8_t;
typedef u16 uint16_t;
typedef u32 uint32_t;
typedef s32 int32_t;
typedef u64 uint64_t;
typedef s64 int64_t;
typedef _Bool bool;
#define true 1
#define false 0
#define NULL ((void *)0)

enum {
	BPF_MAP_TYPE_ARRAY = 2,
	BPF_MAP_TYPE_RINGBUF = 27,
	BPF_MAP_TYPE_TASK_STORAGE = 29,
	BPF_F_NO_PREALLOC = 1,
	BPF_F_MMAPABLE = 1024,
	BPF_RB_NO_WAKEUP = 1,
	BPF_LOCAL_STORAGE_GET_F_CREATE = 1,
};

#include <bpf/bpf_helpers.h>
#include <bpf/bpf_core_read.h>
#include <bpf/bpf_tracing.h>

#pragma clang attribute push(__attribute__((preserve_access_index)), apply_to = record)

/* Complete, because a mere forward declaration matches no kernel function's prototype. */
struct cpumask {
	unsigned long bits[1];
};

struct sched_ext_entity {
	u32 flags;
	u32 weight;
	u64 slice;
	u64 dsq_vtime;
	unsigned long runnable_at;
};

struct sched_entity {
	u64 sum_exec_runtime;
};

struct task_struct {
	unsigned int flags;
	int pid;
	int tgid;
	int prio;
	unsigned int policy;
	unsigned short migration_disabled;
	int nr_cpus_allowed;
	const struct cpumask *cpus_ptr;
	char comm[16];
	struct sched_entity se;
	struct sched_ext_entity scx;
};

struct rq {
	struct task_struct *curr;
};

enum scx_exit_kind {
	SCX_EXIT_NONE,
};

struct scx_exit_info {
	enum scx_exit_kind kind;
	const char *reason;
	char *msg;
};

struct scx_init_task_args {
	bool fork;
};

struct scx_exit_task_args {
	bool cancelled;
};

struct bpf_iter_scx_dsq {
	u64 __opaque[6];
} __attribute__((aligned(8)));

#pragma clang attribute pop

/* The members that we set. libbpf matches them with the kernel's by name. */
struct sched_ext_ops {
	s32 (*select_cpu)(struct task_struct *p, s32 prev_cpu, u64 wake_flags);
	void (*enqueue)(struct task_struct *p, u64 enq_flags);
	void (*dispatch)(s32 cpu, struct task_struct *prev);
	void (*tick)(struct task_struct *p);
	void (*running)(struct task_struct *p);
	void (*stopping)(struct task_struct *p, bool runnable);
	void (*quiescent)(struct task_struct *p, u64 deq_flags);
	void (*cpu_online)(s32 cpu);
	void (*cpu_offline)(s32 cpu);
	s32 (*init_task)(struct task_struct *p, struct scx_init_task_args *args);
	void (*exit_task)(struct task_struct *p, struct scx_exit_task_args *args);
	s32 (*init)(void);
	void (*exit)(struct scx_exit_info *info);
	u64 flags;
	u32 timeout_ms;
	char name[128];
};

/* Linux 6.12 and 7.2 have these values. */
#define SCX_DSQ_LOCAL 0x8000000000000002ULL
#define SCX_DSQ_LOCAL_ON 0xc000000000000000ULL
#define SCX_ENQ_WAKEUP 1ULL
#define SCX_ENQ_PREEMPT (1ULL << 32)
#define SCX_KICK_IDLE 1ULL
#define SCX_KICK_PREEMPT 2ULL
#define SCX_DEQ_SLEEP 1ULL
#define SCX_TASK_QUEUED 1U
#define PF_KTHREAD 0x00200000U
#define MAX_RT_PRIO 100
#define SCHED_EXT 7
#define EINVAL 22
#define ENOENT 2
#define ENOMEM 12
#define ENOSPC 28
#define ESHUTDOWN 108
#define EUSERS 87
#define EALREADY 114
#define EDQUOT 122

s32 scx_bpf_create_dsq(u64 dsq_id, s32 node) __ksym;
s32 scx_bpf_dsq_nr_queued(u64 dsq_id) __ksym;
void scx_bpf_kick_cpu(s32 cpu, u64 flags) __ksym;
s32 scx_bpf_task_cpu(const struct task_struct *p) __ksym;
s32 scx_bpf_pick_idle_cpu(const struct cpumask *allowed, u64 flags) __ksym;
s32 scx_bpf_select_cpu_dfl(struct task_struct *p, s32 prev_cpu, u64 wake_flags,
			   bool *is_idle) __ksym;
const struct cpumask *scx_bpf_get_online_cpumask(void) __ksym;
void scx_bpf_put_cpumask(const struct cpumask *mask) __ksym;
bool bpf_cpumask_test_cpu(u32 cpu, const struct cpumask *mask) __ksym;
void bpf_rcu_read_lock(void) __ksym;
void bpf_rcu_read_unlock(void) __ksym;
int bpf_iter_scx_dsq_new(struct bpf_iter_scx_dsq *it, u64 dsq_id, u64 flags) __ksym;
struct task_struct *bpf_iter_scx_dsq_next(struct bpf_iter_scx_dsq *it) __ksym;
void bpf_iter_scx_dsq_destroy(struct bpf_iter_scx_dsq *it) __ksym;
struct bpf_iter_num {
	u64 __opaque[1];
} __attribute__((aligned(8)));
int bpf_iter_num_new(struct bpf_iter_num *it, int start, int end) __ksym;
int *bpf_iter_num_next(struct bpf_iter_num *it) __ksym;
void bpf_iter_num_destroy(struct bpf_iter_num *it) __ksym;

/* 6.12 */
void scx_bpf_dispatch_vtime(struct task_struct *p, u64 dsq_id, u64 slice, u64 vtime,
			    u64 enq_flags) __ksym __weak;
bool scx_bpf_consume(u64 dsq_id) __ksym __weak;
void scx_bpf_dispatch_from_dsq_set_slice(struct bpf_iter_scx_dsq *it, u64 slice) __ksym __weak;
bool scx_bpf_dispatch_from_dsq(struct bpf_iter_scx_dsq *it, struct task_struct *p, u64 dsq_id,
			       u64 enq_flags) __ksym __weak;
struct rq *scx_bpf_cpu_rq(s32 cpu) __ksym __weak;
/* 6.13 */
void scx_bpf_dsq_insert_vtime(struct task_struct *p, u64 dsq_id, u64 slice, u64 vtime,
			      u64 enq_flags) __ksym __weak;
bool scx_bpf_dsq_move_to_local(u64 dsq_id) __ksym __weak;
void scx_bpf_dsq_move_set_slice(struct bpf_iter_scx_dsq *it, u64 slice) __ksym __weak;
bool scx_bpf_dsq_move(struct bpf_iter_scx_dsq *it, struct task_struct *p, u64 dsq_id,
		      u64 enq_flags) __ksym __weak;
void scx_bpf_dispatch(struct task_struct *p, u64 dsq_id, u64 slice, u64 enq_flags) __ksym __weak;
void scx_bpf_dsq_insert(struct task_struct *p, u64 dsq_id, u64 slice, u64 enq_flags) __ksym __weak;
/* 6.18 */
struct task_struct *scx_bpf_cpu_curr(s32 cpu) __ksym __weak;
/* 6.19 */
struct scx_bpf_dsq_insert_vtime_args {
	u64 dsq_id;
	u64 slice;
	u64 vtime;
	u64 enq_flags;
} __attribute__((preserve_access_index));
bool __scx_bpf_dsq_insert_vtime(struct task_struct *p,
				struct scx_bpf_dsq_insert_vtime_args *args) __ksym __weak;
struct task_struct *scx_bpf_dsq_peek(u64 dsq_id) __ksym __weak; /* reliable from 7.1 on */
bool scx_bpf_task_set_slice(struct task_struct *p, u64 slice) __ksym __weak;
/* libbpf leaves out what is behind the last "___". */
bool scx_bpf_dsq_insert___v2___own(struct task_struct *p, u64 dsq_id, u64 slice,
				   u64 enq_flags) __ksym __weak;

static __always_inline void insert_by(struct task_struct *p, u64 dsq, u64 slice, u64 key, u64 flags)
{
	if (bpf_ksym_exists(__scx_bpf_dsq_insert_vtime)) {
		struct scx_bpf_dsq_insert_vtime_args args = {
			.dsq_id = dsq,
			.slice = slice,
			.vtime = key,
			.enq_flags = flags,
		};

		__scx_bpf_dsq_insert_vtime(p, &args);
	} else if (bpf_ksym_exists(scx_bpf_dsq_insert_vtime)) {
		scx_bpf_dsq_insert_vtime(p, dsq, slice, key, flags);
	} else {
		scx_bpf_dispatch_vtime(p, dsq, slice, key, flags);
	}
}

/* At the end of the kernel's queue of a CPU: SCX_DSQ_LOCAL of its own, SCX_DSQ_LOCAL_ON | cpu. */
static __always_inline void insert_local(struct task_struct *p, u64 dsq, u64 slice, u64 flags)
{
	if (bpf_ksym_exists(scx_bpf_dsq_insert___v2___own))
		scx_bpf_dsq_insert___v2___own(p, dsq, slice, flags);
	else if (bpf_ksym_exists(scx_bpf_dsq_insert))
		scx_bpf_dsq_insert(p, dsq, slice, flags);
	else
		scx_bpf_dispatch(p, dsq, slice, flags);
}

static __always_inline bool take_first(u64 dsq)
{
	return bpf_ksym_exists(scx_bpf_dsq_move_to_local) ? scx_bpf_dsq_move_to_local(dsq)
							  : scx_bpf_consume(dsq);
}

/* Take `p`, which the iterator is at, to the kernel's queue of a CPU. */
static __always_inline bool move_this(struct bpf_iter_scx_dsq *it, struct task_struct *p, u64 dsq,
				      u64 slice)
{
	if (bpf_ksym_exists(scx_bpf_dsq_move)) {
		scx_bpf_dsq_move_set_slice(it, slice);
		return scx_bpf_dsq_move(it, p, dsq, 0);
	}
	scx_bpf_dispatch_from_dsq_set_slice(it, slice);
	return scx_bpf_dispatch_from_dsq(it, p, dsq, 0);
}

static __always_inline bool take_this(struct bpf_iter_scx_dsq *it, struct task_struct *p, u64 slice)
{
	return move_this(it, p, SCX_DSQ_LOCAL, slice);
}

/*
 * Whether `p`, which is in a queue or on its way into one, may run on `cpu`. Of one that was preempted
 * where it may not migrate the kernel narrows cpus_ptr later, and to move it would be our error.
 */
static __always_inline bool may_run(const struct task_struct *p, s32 cpu)
{
	if (!bpf_cpumask_test_cpu(cpu, p->cpus_ptr))
		return false;
	return !bpf_core_field_exists(p->migration_disabled) || !p->migration_disabled ||
	       scx_bpf_task_cpu(p) == cpu;
}

/* Whether no other CPU can run `p`. */
static __always_inline bool is_bound(const struct task_struct *p)
{
	return p->nr_cpus_allowed == 1 ||
	       (bpf_core_field_exists(p->migration_disabled) && p->migration_disabled);
}

/* Whether it is the kernel's thread that takes its CPU down and brings it up. */
static __always_inline bool switches_cpu(const struct task_struct *p)
{
	return (p->flags & PF_KTHREAD) && p->comm[0] == 'c' && p->comm[1] == 'p' &&
	       p->comm[2] == 'u' && p->comm[3] == 'h' && p->comm[4] == 'p' && p->comm[5] == '/';
}

/*
 * Whether it is the kernel's thread that ends the sleeps of the others: with PREEMPT_RT before Linux 6.13, timers of threads
 * that are not SCHED_FIFO are served by ksoftirqd. Later ones have a thread for that, under SCHED_FIFO.
 */
static __always_inline bool wakes_sleepers(const struct task_struct *p)
{
	return (p->flags & PF_KTHREAD) && p->comm[0] == 'k' && p->comm[1] == 's' &&
	       p->comm[2] == 'o' && p->comm[3] == 'f' && p->comm[4] == 't' && p->comm[5] == 'i';
}

static __always_inline void kick(s32 cpu, u64 flags)
{
#ifdef RCLRT_SCX_LOSES_KICKS /* For tests: kicks reach only CPUs that sleep. */
	flags = SCX_KICK_IDLE;
#endif
	scx_bpf_kick_cpu(cpu, flags);
}

static __always_inline void set_slice(struct task_struct *p, u64 slice)
{
	if (bpf_ksym_exists(scx_bpf_task_set_slice))
		scx_bpf_task_set_slice(p, slice);
	else
		p->scx.slice = slice;
}

enum current {
	HIGHER,	    /* A real-time thread. */
	FAIR_ABOVE, /* In partial mode a thread of the fair class. */
	OURS,
};

/* What `cpu` runs now. Only ours, and nothing, can be preempted by us: on others a kick would be lost. */
static __always_inline enum current current_of(s32 cpu, bool partial)
{
	struct task_struct *curr = NULL;
	unsigned int policy = 0;
	int prio = 0, pid = 0;

	bpf_rcu_read_lock();
	if (bpf_ksym_exists(scx_bpf_cpu_curr)) {
		curr = scx_bpf_cpu_curr(cpu);
	} else {
		struct rq *rq = scx_bpf_cpu_rq(cpu);

		if (rq)
			curr = rq->curr;
	}
	if (curr) {
		prio = curr->prio;
		policy = curr->policy;
		pid = curr->pid;
	}
	bpf_rcu_read_unlock();
	if (prio < MAX_RT_PRIO)
		return HIGHER;
	return partial && policy != SCHED_EXT && pid ? FAIR_ABOVE : OURS;
}
