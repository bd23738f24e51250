/* SPDX-License-Identifier: GPL-2.0 */
/*
 * What deadlines leave to the others: a CPU that ran nothing but deadlines for edf_slice_ns owes them
 * fair_slice_ns. The two are the period.
 */
#pragma once

const volatile u64 fair_slice_ns = 5 * NS_PER_MS;

static u64 min(u64 a, u64 b)
{
	return a < b ? a : b;
}

/* How long a CPU may run nothing but deadlines. If many starve each would have its turn too late. */
static u64 edf_slice(const struct rclrt_scx_cpu *c)
{
	return edf_slice_ns >> (c->hurry & 3);
}

/* To the accounts of `p` and of its CPU, what it has had since it was last charged. */
static void charge(struct task_struct *p, struct thread *t, struct rclrt_scx_cpu *c)
{
	u64 had = p->se.sum_exec_runtime - t->charged_ns;
	u32 weight = p->scx.weight;

	t->charged_ns = p->se.sum_exec_runtime;
	if (!t->urgent)
		t->vtime += had * 100 / (weight ? weight : 100);
	if (c && t->in_reserve) {
		c->reserve_left_ns -= min(c->reserve_left_ns, had);
		if (c->reserve_left_ns < fair_slice_ns / 8)
			c->reserve_left_ns = 0; /* So little is not worth the switch. */
	}
	if (c && (!t->urgent || t->in_reserve))
		c->fair_ns = any_deadline_waits(c) ? bpf_ktime_get_ns() : 0;
}

/* Any background, and no longer than that. */
static bool take_fair(s32 cpu, u64 slice)
{
	return take_before(FAIR, cpu, NOBODY, slice) != NOBODY || take_first(FAIR);
}

/*
 * A turn for what gets nothing under EDF: one slice of CPU time, in as many pieces as it takes.
 * Whoever has it is protected until it stops.
 */
static bool take_reserve(s32 cpu, struct rclrt_scx_cpu *c, bool runs_deadline)
{
	bool edf = any_deadline_waits(c), fair;
	u64 now;

	if (!runs_deadline && !edf) {
		c->reserve_left_ns = 0; /* Nothing to protect it from, */
		c->fair_ns = 0;		/* and nobody was kept waiting. */
		return false;
	}
	fair = scx_bpf_dsq_nr_queued(FAIR) > 0;
	now = bpf_ktime_get_ns();
	if (!c->fair_ns)
		c->fair_ns = now; /* It was idle: it kept nobody waiting. */
	if (!c->reserve_left_ns) {
		if (!edf && (!runs_deadline || !fair))
			c->fair_ns = now;
		if (now - c->fair_ns < edf_slice(c))
			return false;
		c->reserve_left_ns = fair_slice_ns;
		c->reserves++;
	}
	c->in_reserve = 1;
	/* By turns, so that neither can take the whole reserve. */
	if (c->reserves & 1 ? take_starved(cpu, c, true, c->reserve_left_ns) ||
				      (fair && take_fair(cpu, c->reserve_left_ns))
			    : (fair && take_fair(cpu, c->reserve_left_ns)) ||
				      take_starved(cpu, c, true, c->reserve_left_ns)) {
		c->running_ns = RCLRT_SCX_RUNS_PROTECTED;
		return true;
	}
	c->in_reserve = 0;
	c->reserve_left_ns = 0;
	c->fair_ns = now;
	return false;
}

/* Background beside which others are so busy that its turn by CPU time would not come. */
static bool take_neglected(s32 cpu, struct rclrt_scx_cpu *c)
{
	u64 now = bpf_jiffies64();

	if ((s64)(now - c->search_at) < 0)
		return false;
	c->search_at = now + starved_jiffies / 16;
	return take_starved(cpu, c, false, fair_slice_ns);
}
