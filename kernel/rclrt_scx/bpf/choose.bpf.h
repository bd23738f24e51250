/* SPDX-License-Identifier: GPL-2.0 */
/*
 * Which CPU a thread takes that cannot run where it is: an idle one, or the one that runs the latest.
 */
#pragma once

#define MARK_CPU 1023ULL  /* bits of a mark that say who left it; the rest is the time */
#define FRESH_NS 50000ULL /* a thread on its way into a queue is there by then */

const volatile bool partial;

/* Left by the thread that was last on its way into EDF, into FAIR: by the CPU that queues it, before it looks at words. */
static u64 marks[2];

/*
 * The CPU that was last about to idle, written by itself after its word and before it looks at the marks: a CPU that
 * queues background does not find its idle bit yet. Of two that idle at once one is enough.
 */
static s32 about_to_idle;

/* Claim `cpu`, which was seen to run `runs`. The kick comes after the queueing. */
static bool claim(s32 cpu, u64 runs, u64 key, u64 left)
{
	struct rclrt_scx_cpu *c = cpu_of(cpu);

	if (!c || __sync_val_compare_and_swap(&c->running_ns, runs, key) != runs)
		return false;
	if (key < RCLRT_SCX_RUNS_BACKGROUND)
		c->seen_mark[EDF] = left;
	else
		c->seen_mark[FAIR] = left;
	/* Background takes idle CPUs only: kicking its own kind goes round in circles. */
	kick(cpu, key < RCLRT_SCX_RUNS_BACKGROUND ? SCX_KICK_PREEMPT : SCX_KICK_IDLE);
	return true;
}

static bool can_claim(s32 cpu, u64 key)
{
	struct rclrt_scx_cpu *c = cpu_of(cpu);

	return c && !c->offline && *(volatile u64 *)&c->running_ns > key &&
	       current_of(cpu, partial) == OURS;
}

/*
 * Of the CPUs where `p` may run, the one that runs the latest, if that is later than `key`, or -1. From `own` onwards,
 * so that it is taken where several are equal; not itself, if it is to be left out. First the words alone are compared:
 * what is costly is asked of the latest few, and of all if none of these can be taken.
 */
__noinline int latest_cpu(struct task_struct *p __arg_trusted, s32 own, bool leaves_out, u64 key)
{
	u64 tried = 0;
	s32 i, try;

	bpf_for(try, 0, MAX_TRIES) {
		bool asks_all = try == MAX_TRIES - 1;
		u64 most = key;
		s32 victim = -1;

		bpf_for(i, leaves_out ? 1 : 0, cpu_count) {
			s32 cpu = own + i;
			struct rclrt_scx_cpu *c;
			u64 runs;

			if (cpu >= cpu_count)
				cpu -= cpu_count;
			c = cpu_of(cpu);
			if (!c)
				continue;
			runs = *(volatile u64 *)&c->running_ns;
			if (runs <= most || (asks_all ? !may_run(p, cpu) || !can_claim(cpu, most)
						      : (tried >> (cpu & 63)) & 1))
				continue;
			most = runs;
			victim = cpu;
			if (runs == RCLRT_SCX_RUNS_NOTHING)
				break;
		}
		if (victim < 0)
			return -1;
		if (asks_all || (may_run(p, victim) && can_claim(victim, key)))
			return victim;
		tried |= 1ULL << (victim & 63);
	}
	return -1;
}

/*
 * Partial mode: a thread of the fair class is not preempted by a kick. What preempts it is the kernel's server, which
 * runs on a CPU whose run queue has threads of ours. So one that waits must be put there: into the kernel's queue of the
 * CPU, where only that CPU can take it.
 */

/* Whether a CPU runs the fair class, and has none of ours to run. Its word may be left from one that has gone. */
static bool is_for_fair_only(s32 cpu, const struct rclrt_scx_cpu *c)
{
	return !c->offline && !c->leaving && current_of(cpu, partial) == FAIR_ABOVE &&
	       (*(volatile u64 *)&c->running_ns == NOBODY ||
		scx_bpf_dsq_nr_queued(SCX_DSQ_LOCAL_ON | cpu) == 0);
}

static bool claim_fair(s32 cpu, u64 key)
{
	struct rclrt_scx_cpu *c = cpu_of(cpu);
	u64 runs = c ? *(volatile u64 *)&c->running_ns : 0;

	return c && is_for_fair_only(cpu, c) &&
	       __sync_val_compare_and_swap(&c->running_ns, runs, key) == runs;
}

/* Such a CPU for `p`, which runs by a deadline, or -1. */
static __always_inline s32 claim_fair_for(struct task_struct *p, s32 own, bool leaves_out, u64 key)
{
	s32 i;

	bpf_for(i, leaves_out ? 1 : 0, cpu_count) {
		s32 cpu = own + i;

		if (cpu >= cpu_count)
			cpu -= cpu_count;
		if (may_run(p, cpu) && claim_fair(cpu, key))
			return cpu;
	}
	return -1;
}

/* claim_fair_for(), unless a CPU is idle or runs background: such a CPU is reached at once. */
__noinline int fair_cpu(struct task_struct *p __arg_trusted, s32 own, bool leaves_out, u64 key)
{
	s32 cpu = latest_cpu(p, own, leaves_out, key);
	struct rclrt_scx_cpu *c = cpu_of(cpu);

	if (cpu >= 0 && c && *(volatile u64 *)&c->running_ns >= RCLRT_SCX_RUNS_BACKGROUND)
		return -1;
	return claim_fair_for(p, own, leaves_out, key);
}

/* `cpu` has nothing of ours to run any more: the CPU of the first that waits shall hand one over. */
__noinline int ask_for_work(s32 cpu)
{
	struct bpf_iter_scx_dsq it;
	struct task_struct *p;
	s32 other = cpu;

	bpf_iter_scx_dsq_new(&it, EDF, 0);
	p = bpf_iter_scx_dsq_next(&it);
	if (p)
		other = scx_bpf_task_cpu(p);
	bpf_iter_scx_dsq_destroy(&it);
	if (other != cpu) /* Else the kernel's server is here already. */
		kick(other, SCX_KICK_PREEMPT);
	return 0;
}

static __noinline bool any_is_for_fair_only(void)
{
	struct rclrt_scx_cpu *c;
	s32 cpu;

	bpf_for(cpu, 0, cpu_count) {
		c = cpu_of(cpu);
		if (c && is_for_fair_only(cpu, c))
			return true;
	}
	return false;
}

/* In dispatch(): one that waits by its deadline goes to such a CPU. Else each CPU would run what its own run queue has. */
__noinline int hand_to_fair_cpu(s32 own)
{
	struct bpf_iter_scx_dsq it;
	struct task_struct *p;
	bool handed = false;
	int i;

	bpf_iter_scx_dsq_new(&it, EDF, 0);
	bpf_for(i, 0, FEW) {
		s32 cpu;

		p = bpf_iter_scx_dsq_next(&it);
		if (!p)
			break;
		cpu = is_bound(p) ? -1 : claim_fair_for(p, own, true, p->scx.dsq_vtime);
		if (cpu >= 0) {
			handed = move_this(&it, p, SCX_DSQ_LOCAL_ON | cpu, edf_slice_ns);
			break;
		}
	}
	bpf_iter_scx_dsq_destroy(&it);
	return handed;
}

/* Claim an idle CPU where `p` may run. What clears its idle bit wakes it. */
static bool claim_idle(struct task_struct *p, u64 key, u64 left)
{
	s32 cpu = scx_bpf_pick_idle_cpu(p->cpus_ptr, 0);

	if (cpu >= 0) {
		if (claim(cpu, NOBODY, key, left))
			return true;
		kick(cpu, SCX_KICK_IDLE); /* Another one has claimed it by its word. */
	}
	if (key < RCLRT_SCX_RUNS_BACKGROUND)
		return false; /* It looks at all words. */
	cpu = *(volatile s32 *)&about_to_idle;
	return may_run(p, cpu) && can_claim(cpu, key) && claim(cpu, NOBODY, key, left);
}

/*
 * Claim the CPU that runs the latest of those where `p` may run, if it is later than `key`. Not its own
 * if it has just been preempted there: somebody else takes that one.
 */
__noinline int find_cpu(struct task_struct *p __arg_trusted, u64 key, bool preempted, bool wakes)
{
	s32 own = scx_bpf_task_cpu(p);
	struct rclrt_scx_cpu *c = cpu_of(bpf_get_smp_processor_id());
	bool leaves = !c || c->offline; /* As in dispatch(): another CPU's tick finds the thread. */
	u64 left;
	int try;

	if (is_bound(p)) {
		/* No mark: its CPU cannot look for work while we hold its lock. The kernel wakes it if it is idle. */
		c = cpu_of(own);
		if (leaves || preempted || !c || (wakes && key >= RCLRT_SCX_RUNS_BACKGROUND))
			return 0;
		left = *(volatile u64 *)&c->running_ns;
		if (left > key && !(wakes && left == NOBODY) && can_claim(own, key))
			claim(own, left, key,
			      key < RCLRT_SCX_RUNS_BACKGROUND ? c->seen_mark[EDF]
							      : c->seen_mark[FAIR]);
		return 0;
	}
	left = (bpf_ktime_get_ns() & ~MARK_CPU) | (own & MARK_CPU);
	if (key < RCLRT_SCX_RUNS_BACKGROUND)
		__sync_lock_test_and_set(&marks[EDF], left);
	else
		__sync_lock_test_and_set(&marks[FAIR], left);
	if (leaves || claim_idle(p, key, left) || key >= RCLRT_SCX_RUNS_BACKGROUND)
		return 0;
	bpf_for(try, 0, MAX_TRIES) {
		s32 victim = latest_cpu(p, own, preempted, key);
		u64 runs;

		c = cpu_of(victim);
		if (victim < 0 || !c)
			break;
		runs = *(volatile u64 *)&c->running_ns;
		if (runs > key && claim(victim, runs, key, left))
			break;
	}
	return 0;
}

/*
 * Of the CPUs that run something later than one that waits and may run there, the latest shall look: the
 * CPU that woke that thread may have been misled by a claim, or have told a CPU that was about to run an
 * earlier one. One is enough: it does the same when it looks.
 */
__noinline int share_work(s32 cpu)
{
	u64 first = waits_in_edf() ? earliest_for(EDF, -1) : NOBODY, latest = 0, wanted = 0;
	bool fair = scx_bpf_dsq_nr_queued(FAIR) > 0;
	struct rclrt_scx_cpu *c = cpu_of(cpu);
	s32 other, victim = -1;

	/* A kick by a CPU on its way out would stay pending for ever, and unloading wait for it. */
	if (!c || c->offline)
		return 0;
	bpf_for(other, 0, cpu_count) {
		u64 runs, key, own;

		c = cpu_of(other);
		if (!c || c->offline)
			continue;
		runs = *(volatile u64 *)&c->running_ns;
		if (runs <= latest)
			continue;
		own = waits_in_own(c) ? earliest_for(OWN(other), other) : NOBODY;
		if ((runs <= first && runs <= own && !(fair && runs == RCLRT_SCX_RUNS_NOTHING)) ||
		    current_of(other, partial) != OURS)
			continue;
		key = first == NOBODY ? NOBODY : earliest_for(EDF, other);
		if (own < key)
			key = own;
		if (key == NOBODY && fair && runs == RCLRT_SCX_RUNS_NOTHING &&
		    earliest_for(FAIR, other) != NOBODY)
			key = RCLRT_SCX_RUNS_BACKGROUND;
		/* The one that has begun waits with its deadline less one. */
		if (key == NOBODY || key + 1 >= runs)
			continue;
		latest = runs;
		wanted = key;
		victim = other;
	}
	c = cpu_of(victim);
	if (victim >= 0 && c &&
	    __sync_val_compare_and_swap(&c->running_ns, latest, wanted) == latest)
		kick(victim, wanted < RCLRT_SCX_RUNS_BACKGROUND ? SCX_KICK_PREEMPT : SCX_KICK_IDLE);
	return 0;
}
