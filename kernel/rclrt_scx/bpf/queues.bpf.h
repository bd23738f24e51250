/* SPDX-License-Identifier: GPL-2.0 */
/*
 * Walks over the queues. Threads with a deadline that may run on one CPU only wait in a queue of that CPU, where the
 * others need not walk past them; else thousands of these would slow every decision of all CPUs. Every walk is bounded:
 * EDF and OWN have at most as many threads as there are slots, of FAIR only the beginning is looked at. Not static: the
 * verifier looks at such functions once, else at every call, which made loading half as long again.
 */
#pragma once

#define NS_PER_MS 1000000ULL
#define EDF 0
#define FAIR 1
#define OWN(cpu) (16 + (u64)(cpu)) /* of EDF: threads that may run there only */
#define NOBODY RCLRT_SCX_RUNS_NOTHING
#define FEW 64	  /* of FAIR, at every decision */
#define MANY 1024 /* of FAIR, now and then */
#define MAX_TRIES 4
/* A slice of those that are taken out of their order for the kernel's sake. */
#define SHORT_NS 1000000ULL

const volatile u64 edf_slice_ns = 95 * NS_PER_MS;
const volatile u32 slot_count = 1;
const volatile u64 starved_jiffies = 500;

/*
 * How many threads wait in EDF, and in OWN of each CPU (its word `waiting`). The CPU that queues a thread adds it before
 * the kernel puts it there, and before that CPU looks at the words. What takes it out of the count is that it runs, or
 * cannot run any more. So the counts are never too low, and a CPU that writes its word and then finds zero has been seen.
 */
static u64 waiting;

static void no_longer_waits(struct thread *t)
{
	struct rclrt_scx_cpu *c;

	if (!t || !t->counted)
		return;
	c = cpu_of((s32)t->counted - 2);
	if (t->counted == 1)
		__sync_fetch_and_sub(&waiting, 1);
	else if (c)
		__sync_fetch_and_sub(&c->waiting, 1);
	t->counted = 0;
}

static void now_waits(struct thread *t, u64 queue, s32 cpu)
{
	struct rclrt_scx_cpu *c = cpu_of(cpu);

	no_longer_waits(t);
	if (queue == EDF)
		__sync_fetch_and_add(&waiting, 1);
	else if (c)
		__sync_fetch_and_add(&c->waiting, 1);
	if (t)
		t->counted = queue == EDF ? 1 : 2 + (u32)cpu;
}

static __always_inline bool waits_in_own(const struct rclrt_scx_cpu *c)
{
	return *(volatile u64 *)&c->waiting > 0;
}

static __always_inline bool waits_in_edf(void)
{
	return *(volatile u64 *)&waiting > 0;
}

static __always_inline bool any_deadline_waits(const struct rclrt_scx_cpu *c)
{
	return waits_in_edf() || waits_in_own(c);
}

static __always_inline u32 most_of(u64 queue, u32 of_fair)
{
	return queue == FAIR ? of_fair : slot_count;
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

/* Key of the first thread in a queue, or NOBODY. */
static __always_inline u64 first_of(u64 queue)
{
	struct task_struct *p;
	u64 key = NOBODY;

	if (!immediate || !bpf_ksym_exists(scx_bpf_dsq_peek))
		return earliest_for(queue, -1);
	bpf_rcu_read_lock();
	p = scx_bpf_dsq_peek(queue);
	if (p)
		key = p->scx.dsq_vtime;
	bpf_rcu_read_unlock();
	return key;
}

/* Key of the first thread with a deadline that may run on `cpu`, or NOBODY. */
static __always_inline u64 earliest_deadline_for(s32 cpu)
{
	u64 own = earliest_for(OWN(cpu), cpu), all = earliest_for(EDF, cpu);

	return own < all ? own : all;
}

/* Whether a thread with a deadline before `key` waits that may run on `cpu`. */
static __always_inline bool earlier_waits(s32 cpu, const struct rclrt_scx_cpu *c, u64 key)
{
	return (waits_in_own(c) && first_of(OWN(cpu)) + 1 < key) ||
	       (waits_in_edf() && first_of(EDF) + 1 < key && earliest_for(EDF, cpu) + 1 < key);
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

/* take_before() from both queues with deadlines. If two are equal, OWN(cpu) goes first. */
static __always_inline u64 take_deadline_before(s32 cpu, const struct rclrt_scx_cpu *c, u64 key,
						u64 slice)
{
	u64 own = waits_in_own(c) ? earliest_for(OWN(cpu), cpu) : NOBODY;
	u64 taken = waits_in_edf() && first_of(EDF) < key
			    ? take_before(EDF, cpu, own < key ? own : key, slice)
			    : NOBODY;

	return taken == NOBODY && own < key ? take_before(OWN(cpu), cpu, key, slice) : taken;
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

/*
 * How much sooner turns must come if the thread that has waited longest waits since then: 0 to 3. Tenths of the kernel's timeout.
 * Not before 4, so that the reserve stays what was promised while it is enough.
 */
static u64 hurry_for(u64 since)
{
	u64 tenths = (bpf_jiffies64() - since) / starved_jiffies;

	return tenths < 4 ? 0 : tenths < 6 ? tenths - 3 : 3;
}

/* Take the thread that has waited longest, if that is too long: of FAIR, or of all queues. */
static bool take_starved(s32 cpu, struct rclrt_scx_cpu *c, bool of_all, u64 slice)
{
	u64 too_long = bpf_jiffies64() - starved_jiffies;
	u64 fair = oldest_for(FAIR, cpu, too_long);
	u64 edf = of_all ? oldest_for(EDF, cpu, too_long) : too_long;
	u64 own = of_all ? oldest_for(OWN(cpu), cpu, edf) : edf;

	if (of_all)
		c->hurry = hurry_for((s64)(own - fair) < 0 ? own : fair);
	if ((s64)(own - edf) < 0 && (s64)(own - fair) < 0)
		c->out_of_turn = take_since(OWN(cpu), cpu, own, slice);
	else if ((s64)(edf - fair) < 0)
		c->out_of_turn = take_since(EDF, cpu, edf, slice);
	else if (fair != too_long)
		c->out_of_turn = take_since(FAIR, cpu, fair, slice);
	return c->out_of_turn;
}
