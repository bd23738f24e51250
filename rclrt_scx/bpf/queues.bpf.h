/* SPDX-License-Identifier: GPL-2.0 */
/*
 * Walks over the two queues. Every walk is bounded: EDF has at most as many threads as there are slots,
 * of FAIR only the beginning is looked at. Not static: the verifier looks at such functions once, else at
 * every call, which made loading half as long again.
 */
#ifndef QUEUES_BPF_H_
#define QUEUES_BPF_H_

#define EDF 0
#define FAIR 1
#define NOBODY RCLRT_SCX_RUNS_NOTHING
#define FEW 64	  /* of FAIR, at every decision */
#define MANY 1024 /* of FAIR, now and then */
#define MAX_TRIES 4

const volatile u32 slot_count = 1;
const volatile u64 starved_jiffies = 500;

static __always_inline u32 most_of(u64 queue, u32 of_fair)
{
	return queue == EDF ? slot_count : of_fair;
}

/* Key of the first thread in a queue that may run on `cpu` (-1: wherever), or NOBODY. */
__noinline u64 earliest_for(u64 queue, s32 cpu)
{
	struct bpf_iter_scx_dsq it;
	struct task_struct *p;
	u64 key = NOBODY;
	int i;

	bpf_iter_scx_dsq_new(&it, queue, 0);
	bpf_for(i, 0, most_of(queue, FEW)) {
		p = bpf_iter_scx_dsq_next(&it);
		if (!p)
			break;
		if (cpu < 0 || may_run(p, cpu)) {
			key = p->scx.dsq_vtime;
			break;
		}
	}
	bpf_iter_scx_dsq_destroy(&it);
	return key;
}

/*
 * Take the first thread of a queue that may run on `cpu`, if its key is below `key`: that one, or none.
 * If another CPU was faster, look again: the next in the queue may be later than `key`. Returns its key
 * or NOBODY.
 */
__noinline u64 take_before(u64 queue, s32 cpu, u64 key, u64 slice)
{
	struct bpf_iter_scx_dsq it;
	struct task_struct *p;
	u64 taken = NOBODY;
	int try, i;

	bpf_for(try, 0, MAX_TRIES) {
		bool found = false;

		bpf_iter_scx_dsq_new(&it, queue, 0);
		bpf_for(i, 0, most_of(queue, FEW)) {
			u64 its;

			p = bpf_iter_scx_dsq_next(&it);
			if (!p)
				break;
			its = p->scx.dsq_vtime;
			if (its >= key)
				break;
			if (!may_run(p, cpu))
				continue;
			found = true;
			if (take_this(&it, p, slice))
				taken = its;
			break;
		}
		bpf_iter_scx_dsq_destroy(&it);
		if (!found || taken != NOBODY)
			break;
	}
	return taken;
}

/* Since when, in jiffies, the thread waits that has waited longest of those that may run on `cpu`. */
__noinline u64 oldest_for(u64 queue, s32 cpu, u64 since)
{
	struct bpf_iter_scx_dsq it;
	struct task_struct *p;
	int i;

	bpf_iter_scx_dsq_new(&it, queue, 0);
	bpf_for(i, 0, most_of(queue, MANY)) {
		p = bpf_iter_scx_dsq_next(&it);
		if (!p)
			break;
		if ((s64)(p->scx.runnable_at - since) < 0 && may_run(p, cpu))
			since = p->scx.runnable_at;
	}
	bpf_iter_scx_dsq_destroy(&it);
	return since;
}

__noinline bool take_since(u64 queue, s32 cpu, u64 since, u64 slice)
{
	struct bpf_iter_scx_dsq it;
	struct task_struct *p;
	bool taken = false;
	int i;

	bpf_iter_scx_dsq_new(&it, queue, 0);
	bpf_for(i, 0, most_of(queue, MANY)) {
		p = bpf_iter_scx_dsq_next(&it);
		if (!p)
			break;
		if (p->scx.runnable_at == since && may_run(p, cpu)) {
			taken = take_this(&it, p, slice);
			break;
		}
	}
	bpf_iter_scx_dsq_destroy(&it);
	return taken;
}

/* Take who has waited longest, if that is too long: of FAIR, or of both queues. */
static bool take_starved(s32 cpu, struct rclrt_scx_cpu *c, bool of_both, u64 slice)
{
	u64 too_long = bpf_jiffies64() - starved_jiffies;
	u64 fair = oldest_for(FAIR, cpu, too_long);
	u64 edf = of_both ? oldest_for(EDF, cpu, too_long) : too_long;

	if ((s64)(edf - fair) < 0)
		c->out_of_turn = take_since(EDF, cpu, edf, slice);
	else if (fair != too_long)
		c->out_of_turn = take_since(FAIR, cpu, fair, slice);
	return c->out_of_turn;
}

#endif /* QUEUES_BPF_H_ */
