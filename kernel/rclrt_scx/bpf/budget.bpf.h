/* SPDX-License-Identifier: GPL-2.0 */
/*
 * Budgets: a constant-bandwidth server for each thread whose slot has one. It has `runtime` of CPU time
 * at the deadlines that it states. When that is used up it gets as much again, but its deadline is
 * postponed by a period. So whatever it does, by its deadlines it asks for no more than runtime / period
 * of a CPU. What it has in a turn of the reserve or in background is free.
 *
 * A thread that works for several servers in turn says at the begin of each how much that one has left.
 */
#pragma once

#define LATEST_SERVER (1ULL << 62)

static bool budget_of(const struct thread *t, u64 *runtime, u64 *period)
{
	struct rclrt_scx_slot *slot = slot_of(t);

	if (!slot)
		return false;
	*runtime = *(volatile u64 *)&slot->runtime_ns;
	*period = *(volatile u64 *)&slot->period_ns;
	/* Both times fit into 32 bits, so the products below fit into 64. */
	return *runtime && *runtime <= *period && *period <= RCLRT_SCX_LONGEST_PERIOD_NS;
}

/* Somebody has changed the budget, or has taken it away: nothing is owed from before. */
static void begin_budget(struct thread *t)
{
	struct rclrt_scx_slot *slot = slot_of(t);
	u64 begun, now;

	if (!slot || !*(volatile u64 *)&slot->begun_ns)
		return;
	/* A full barrier: what is read below is as new. */
	begun = __sync_lock_test_and_set(&slot->begun_ns, 0);
	now = bpf_ktime_get_ns();
	if (begun > now)
		begun = now;
	t->left_ns = *(volatile u64 *)&slot->left_ns;
	t->server_ns = begun + *(volatile u64 *)&slot->period_ns;
	t->postponed = false;
	if (t->used_from_ns < begun)
		t->used_from_ns = begun;
}

/* If it has slept: what is left is kept only if that is within the bandwidth. */
static void wake_budget(struct thread *t)
{
	u64 now, runtime, period;

	if (!t || !t->slot)
		return;
	begin_budget(t);
	if (!t->slept)
		return;
	t->slept = false;
	now = bpf_ktime_get_ns();
	if (!budget_of(t, &runtime, &period)) {
		t->postponed = false;
		return;
	}
	if (t->left_ns > runtime)
		t->left_ns = runtime; /* The budget has become smaller. */
	/* Beyond a period there is always less left than the bandwidth gives. */
	if (now >= t->server_ns ||
	    (t->server_ns - now < period && t->left_ns * period > (t->server_ns - now) * runtime)) {
		t->left_ns = runtime;
		t->server_ns = now + period;
		t->postponed = false;
	}
}

/* What it has used since it was last charged. */
static void use_budget(struct thread *t)
{
	struct rclrt_scx_cpu *c = cpu_of(bpf_get_smp_processor_id());
	u64 now, had, runtime, period, key, over;
	bool waits;

	if (!t || !t->slot)
		return;
	begin_budget(t);
	now = bpf_ktime_get_ns();
	had = now - t->used_from_ns;
	t->used_from_ns = now;
	if (!t->urgent || t->in_reserve || !budget_of(t, &runtime, &period))
		return;
	if (had < t->left_ns) {
		t->left_ns -= had;
		return;
	}
	key = urgency(t);
	if (key >= LATEST_SERVER)
		return;
	over = had - t->left_ns;
	t->left_ns = over < runtime ? runtime - over : 1;
	/* If nobody waits for a deadline, nobody had less because of what was used: no debt is left. */
	waits = !c || any_deadline_waits(c);
	t->server_ns = (waits && key > now ? key : now) + period;
	t->postponed = true;
}
