/* SPDX-License-Identifier: GPL-2.0 */
/*
 * Before a CPU is taken down, the kernel marks it, and from then on does not ask what to run there; then it waits for
 * a grace period of RCU. A thread that may run nowhere else would wait in our queues meanwhile, perhaps within what RCU waits for.
 * So they are put behind the thread that takes the CPU down, where the kernel finds them. If it is not taken down, they
 * come back to enqueue() when their short slices end.
 */
#pragma once

__noinline int take_bound(u64 queue, s32 cpu)
{
	struct bpf_iter_scx_dsq it;
	struct task_struct *p;
	int i, taken = 0;

	bpf_iter_scx_dsq_new(&it, queue, 0);
	bpf_for(i, 0, most_of(queue, MANY) + 1) {
		p = bpf_iter_scx_dsq_next(&it);
		if (!p)
			break;
		if (may_run(p, cpu) && is_bound(p) &&
		    take_this(&it, p, switches_cpu(p) ? edf_slice_ns : SHORT_NS))
			taken++;
	}
	bpf_iter_scx_dsq_destroy(&it);
	return taken;
}

/* Whether the CPU has something to run now because it may be about to go. */
static __always_inline bool make_way(s32 cpu, struct rclrt_scx_cpu *c, struct task_struct *prev)
{
	if (!c->leaving)
		return false;
	if (prev && (prev->scx.flags & SCX_TASK_QUEUED) && switches_cpu(prev)) {
		set_slice(prev, edf_slice_ns);
		return true;
	}
	/* The first of them is the one that takes it down. */
	if (take_bound(OWN(cpu), cpu) + take_bound(EDF, cpu) + take_bound(FAIR, cpu) == 0)
		return false;
	c->running_ns = RCLRT_SCX_RUNS_PROTECTED;
	c->in_reserve = 1; /* Nobody is to disturb them. */
	return true;
}
