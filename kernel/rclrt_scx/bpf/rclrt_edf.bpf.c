/* SPDX-License-Identifier: GPL-2.0 */
/*
 * Global EDF by absolute deadline, above a fair background.
 *
 * A thread's deadline lies in its slot of a table that user space maps (rclrt_scx/slots.h). Threads
 * with a deadline wait in one queue in deadline order (those that may run on one CPU only in a queue of that
 * CPU), all others in a second one in the order of the CPU time they had, weighted by nice. A CPU that looks for work takes the earliest deadline
 * that may run there; a thread that becomes runnable takes the CPU that runs the latest.
 *
 * For each CPU a word says what it runs: a deadline, background or nothing. A CPU that preempts
 * first claims the CPU by compare-and-swap of that word, so that of several CPUs that wake threads
 * at the same time no two choose the same victim; then kicks it. Two rules keep the word honest:
 *   - a claim is only a hint: what the CPU runs in the end is decided by dispatch() alone. A thread
 *     that a wrong one passed over is found at the next dispatch() or tick of any CPU;
 *   - the kernel puts a thread into its queue only after enqueue() has returned, so a CPU that
 *     looks for work meanwhile misses it. enqueue() leaves a mark BEFORE it looks at the words,
 *     dispatch() rewrites its word BEFORE it looks at the mark (full barriers): one sees the other.
 *     A CPU that sees a fresh mark of another looks once more, when that thread has been queued. Each
 *     queue has a mark of its own, so that background does not disturb those that run by a deadline.
 *
 * Two things keep what it costs the same on few and on many CPUs. Nothing is looked for while nothing waits: counts say
 * so (queues.bpf.h). And a thread that wakes goes past the queues if a CPU is idle, or to the CPU that runs the latest
 * (select_cpu()). If an earlier one has come meanwhile, running() finds it. Only the tick looks at all CPUs.
 *
 * A thread that is preempted by a higher class would be parked in front of that CPU's own queue,
 * out of reach of idle CPUs. With its slice set to zero in stopping() it comes back to enqueue()
 * instead.
 *
 * The reserve: a CPU that ran nothing but deadlines for (1 - reserve) of a period gives a turn to
 * the background, or to whoever has starved for seconds. Otherwise overload would starve kernel threads,
 * and in the end the kernel would eject this scheduler. For the same reason background that has starved,
 * as a nice thread among many others does, is now and then taken out of its order.
 *
 * Known weakness: two queues for all that may run anywhere. Good for robots (tens of CPUs), not for
 * hundreds.
 */
#include "kernel.bpf.h"
#include "tables.bpf.h"
#include "queues.bpf.h"
#include "budget.bpf.h"
#include "bind.bpf.h"
#include "reserve.bpf.h"
#include "hotplug.bpf.h"
#include "choose.bpf.h"

char _license[] SEC("license") = "GPL";

static u64 fair_vtime; /* of the background thread that started last */

/* Where in the background's order it is. A long sleep does not save up more than a slice. */
static u64 fair_place(struct thread *t)
{
	if (!t)
		return fair_vtime;
	if ((s64)(t->vtime - (fair_vtime - fair_slice_ns)) < 0)
		t->vtime = fair_vtime - fair_slice_ns;
	return t->vtime;
}

/* It wakes, or comes back to be queued. Its key. */
static u64 begins_to_wait(struct task_struct *p, struct thread *t, bool wakes)
{
	if (!t)
		return RCLRT_SCX_RUNS_BACKGROUND;
	if (wakes)
		say_asleep(t, 0); /* Before the deadline is read, see slots.h. */
	wake_budget(t);
	if (ksoftirqd_first)
		t->first = wakes_sleepers(p);
	t->preempted = t->changed = false;
	return urgency(t);
}

/* Past our queues to the kernel's of the CPU that it has claimed. */
static void go_straight(struct task_struct *p, struct thread *t, u64 dsq, u64 key, u64 flags)
{
	if (record)
		note(p, RCLRT_SCX_QUEUED, key);
	t->changed = true;
	charge(p, t, NULL);
	fair_place(t);
	insert_local(p, dsq, key < RCLRT_SCX_RUNS_BACKGROUND ? edf_slice_ns : fair_slice_ns, flags);
}

/*
 * A thread that wakes needs no queue if a CPU is idle, and none waits for a deadline, or if it has a deadline earlier than
 * one that runs. The kernel gives it back to enqueue() if it cannot run there at once. Kernels that do not (before 7.1)
 * find it in its queue, without a search by enqueue().
 */
s32 SEC("struct_ops/edf_select_cpu")
	BPF_PROG(edf_select_cpu, struct task_struct *p, s32 prev_cpu, u64 wake_flags)
{
	struct rclrt_scx_cpu *c = cpu_of(bpf_get_smp_processor_id());
	bool is_idle = false;
	struct thread *t;
	u64 key, runs = NOBODY;
	s32 cpu;

	if (!c || c->offline)
		return prev_cpu; /* enqueue() decides */
	cpu = waits_in_edf() ? prev_cpu : scx_bpf_select_cpu_dfl(p, prev_cpu, 0, &is_idle);
	if (!is_idle && is_plain(p))
		return prev_cpu;
	t = thread_of(p);
	if (!t || (!is_idle && !t->slot))
		return prev_cpu;
	key = begins_to_wait(p, t, true);
	if (!is_idle) {
		if (key >= RCLRT_SCX_RUNS_BACKGROUND)
			return prev_cpu;
		cpu = partial ? fair_cpu(p, prev_cpu, false, key) : -1;
		if (cpu >= 0) {
			go_straight(p, t, SCX_DSQ_LOCAL, key, 0);
			return cpu;
		}
		cpu = immediate ? latest_cpu(p, prev_cpu, false, key) : -1;
		c = cpu_of(cpu);
		if (cpu < 0 || !c)
			return prev_cpu;
		runs = *(volatile u64 *)&c->running_ns;
		if (runs <= key)
			return prev_cpu;
	}
	c = cpu_of(cpu);
	if (!c || c->offline || __sync_val_compare_and_swap(&c->running_ns, runs, key) != runs) {
		if (is_idle)
			kick(cpu, SCX_KICK_IDLE); /* Another one has claimed it by its word. */
		return prev_cpu;
	}
	if (immediate)
		go_straight(p, t, SCX_DSQ_LOCAL, key, immediate | (is_idle ? 0 : SCX_ENQ_PREEMPT));
	else
		t->chosen = cpu + 1;
	return cpu;
}

void SEC("struct_ops/edf_enqueue") BPF_PROG(edf_enqueue, struct task_struct *p, u64 enq_flags)
{
	s32 own = scx_bpf_task_cpu(p);
	struct rclrt_scx_cpu *c = cpu_of(own);
	struct thread *t = thread_of(p);
	bool wakes = enq_flags & SCX_ENQ_WAKEUP, preempted = t && t->preempted && !wakes;
	bool chosen = t && wakes && t->chosen == (u32)own + 1;
	u64 key = is_plain(p) ? RCLRT_SCX_RUNS_BACKGROUND : begins_to_wait(p, t, wakes);

	if (t)
		t->chosen = 0;
	if (c && switches_cpu(p)) { /* Before all others there, see hotplug.bpf.h. */
		c->leaving = 1;
		now_waits(t, OWN(own), own);
		insert_by(p, OWN(own), edf_slice_ns, 0, enq_flags);
		find_cpu(p, 1, false, wakes);
		return;
	}
	if (c && c->leaving && is_bound(p)) {
		insert_local(p, SCX_DSQ_LOCAL, SHORT_NS, enq_flags);
		return;
	}
	if (immediate && wakes && c && t && key < RCLRT_SCX_RUNS_BACKGROUND && is_bound(p) &&
	    can_claim(own, key)) {
		__sync_lock_test_and_set(&c->running_ns, key);
		go_straight(p, t, SCX_DSQ_LOCAL, key, enq_flags | immediate | SCX_ENQ_PREEMPT);
		return;
	}
	/* Where the fair class has preempted it the kernel's server comes back soon. */
	if (partial && t && c && key < RCLRT_SCX_RUNS_BACKGROUND && !is_bound(p) &&
	    !(preempted && *(volatile u64 *)&c->running_ns == NOBODY)) {
		s32 cpu = fair_cpu(p, own, preempted, key);

		if (cpu >= 0) {
			go_straight(p, t, SCX_DSQ_LOCAL_ON | cpu, key, enq_flags);
			return;
		}
	}
	if (record)
		note(p, RCLRT_SCX_QUEUED, key);
	if (key < RCLRT_SCX_RUNS_BACKGROUND) {
		u64 queue = EDF;

		if (p->nr_cpus_allowed == 1)
			queue = OWN(own);
		now_waits(t, queue, own);
		/* If deadlines are equal, the thread that has begun goes on first. */
		insert_by(p, queue, edf_slice_ns, wakes ? key : key - 1, enq_flags);
	} else {
		if (t)
			charge(p, t, NULL);
		insert_by(p, FAIR, fair_slice_ns, fair_place(t), enq_flags);
	}
	if (!chosen)
		find_cpu(p, key, preempted, wakes);
}

/*
 * Background for a CPU: whoever waits and has had less than `prev`, which can go on if it is not NULL.
 */
static __always_inline bool take_background(s32 cpu, struct task_struct *prev, struct thread *t)
{
	u64 first;

	if (!prev)
		return take_first(FAIR);
	first = earliest_for(FAIR, cpu);
	if (first == NOBODY ? take_first(FAIR)
			    : take_before(FAIR, cpu, fair_place(t), fair_slice_ns) != NOBODY)
		return true;
	/* Time that nobody else wanted costs nothing: a thread that wakes beside it need not catch it up. */
	if (first == NOBODY && t)
		t->vtime = fair_vtime;
	else if (t && (s64)(t->vtime - fair_vtime) > 0)
		fair_vtime = t->vtime; /* It goes on, without running() being called again. */
	return false;
}

/* Whether the CPU has something to run now. */
static __always_inline bool decide(s32 cpu, struct rclrt_scx_cpu *c, struct task_struct *prev)
{
	u64 key = RCLRT_SCX_RUNS_NOTHING, earliest;
	struct thread *t = NULL;
	bool runs_deadline;

	if (prev && (prev->scx.flags & SCX_TASK_QUEUED)) {
		t = thread_of(prev);
		use_budget(t);
		key = urgency(t);
		if (t) {
			charge(prev, t, c); /* Before the reserve is asked for more. */
			t->urgent = key < RCLRT_SCX_RUNS_BACKGROUND;
			t->in_reserve = false; /* If it goes on, then as any other. */
		}
	}
	runs_deadline = key < RCLRT_SCX_RUNS_BACKGROUND;
	c->in_reserve = c->out_of_turn = 0;
	/* First say what this CPU runs, then look: see the top. An exchange is a full barrier. */
	__sync_lock_test_and_set(&c->running_ns, key);
	if (c->offline) /* The kernel knows what may run here still. */
		return take_first(OWN(cpu)) || take_first(EDF) || take_first(FAIR);
	if (make_way(cpu, c, prev))
		return true;
	if (take_reserve(cpu, c, runs_deadline))
		return true;
	/* One that has begun waits with its deadline less one, see enqueue(). This one has, too. */
	earliest = take_deadline_before(cpu, c, runs_deadline ? key - 1 : key, edf_slice(c));
	if (earliest != NOBODY) {
		c->running_ns = earliest;
		return true;
	}
	if (runs_deadline) {
		set_slice(prev,
			  edf_slice(c)); /* It goes on, without running() being called again. */
		return true;
	}
	if (take_neglected(cpu, c) ||
	    take_background(cpu, key == RCLRT_SCX_RUNS_BACKGROUND ? prev : NULL, t)) {
		c->running_ns = RCLRT_SCX_RUNS_BACKGROUND;
		return true;
	}
	if (key == RCLRT_SCX_RUNS_BACKGROUND) {
		set_slice(prev, fair_slice_ns);
		return true;
	}
	c->fair_ns = 0; /* Idle: nobody knows for how long. */
	__sync_lock_test_and_set(&about_to_idle, cpu);
	return false;
}

/* Look once more if somebody is on its way into the queue, whom the kernel had not put there yet. */
static __always_inline void look_again(s32 cpu, u64 *mark, u64 *seen)
{
	u64 left = *(volatile u64 *)mark;

	/* Threads on their way into this CPU's own queue hold the lock that we hold. */
	if (left != *seen && (left & MARK_CPU) != (cpu & MARK_CPU) &&
	    (s64)(bpf_ktime_get_ns() - (left & ~MARK_CPU)) < (s64)FRESH_NS) {
		*seen = left;
		kick(cpu, SCX_KICK_PREEMPT);
	}
}

void SEC("struct_ops/edf_dispatch") BPF_PROG(edf_dispatch, s32 cpu, struct task_struct *prev)
{
	struct rclrt_scx_cpu *c = cpu_of(cpu);
	bool busy;

	if (!c)
		return;
	busy = decide(cpu, c, prev);
	if (c->offline)
		return;
	if (waits_in_edf()) {
		if (partial)
			hand_to_fair_cpu(cpu);
		share_work(cpu);
	}
	look_again(cpu, &marks[EDF], &c->seen_mark[EDF]);
	if (!busy) /* Background preempts nobody. */
		look_again(cpu, &marks[FAIR], &c->seen_mark[FAIR]);
}

/* Whatever was lost between two CPUs that looked at each other, it is found within a tick. */
void SEC("struct_ops/edf_tick") BPF_PROG(edf_tick, struct task_struct *p)
{
	s32 cpu = scx_bpf_task_cpu(p);
	struct rclrt_scx_cpu *c = cpu_of(cpu);
	struct thread *t = thread_of(p);

	/* It may have been made later while it runs. */
	use_budget(t);
	if (c && t && !t->in_reserve) {
		u64 key = urgency(t), earliest = earliest_deadline_for(cpu);

		__sync_lock_test_and_set(&c->running_ns, key);
		if (earliest < key && earliest + 1 < key) {
			/* Without a kick: with PREEMPT_RT on Linux 6.12 one waits for a thread of the CPU that
			 * kicks, below SCHED_FIFO 2, and may be lost. */
			__sync_val_compare_and_swap(&c->running_ns, key, earliest);
			set_slice(p, 0);
		}
	}
	if (partial && waits_in_edf() && any_is_for_fair_only())
		set_slice(p, 0); /* dispatch() hands one over. */
	share_work(cpu);
}

/* Whether nothing need be kept of `p`, which has its CPU: what it has used is charged when it is queued again. */
static __always_inline bool runs_plainly(const struct task_struct *p, const struct rclrt_scx_cpu *c)
{
	return is_plain(p) && !c->in_reserve && !any_deadline_waits(c);
}

void SEC("struct_ops/edf_running") BPF_PROG(edf_running, struct task_struct *p)
{
	s32 cpu = scx_bpf_task_cpu(p);
	struct rclrt_scx_cpu *c = cpu_of(cpu);
	struct thread *t;
	u64 key;

	if (!c)
		return;
	if (runs_plainly(p, c)) {
		if (!c->out_of_turn && (s64)(p->scx.dsq_vtime - fair_vtime) > 0)
			fair_vtime = p->scx.dsq_vtime;
		c->fair_ns = 0;
		__sync_lock_test_and_set(&c->running_ns, RCLRT_SCX_RUNS_BACKGROUND);
		return;
	}
	t = thread_of(p);
	if (!t)
		return;
	no_longer_waits(t);
	wake_budget(t);
	key = urgency(t);
	t->urgent = key < RCLRT_SCX_RUNS_BACKGROUND;
	t->used_from_ns = bpf_ktime_get_ns();
	t->in_reserve = c->in_reserve;
	t->preempted = false;
	if (!t->urgent && !c->out_of_turn && (s64)(t->vtime - fair_vtime) > 0)
		fair_vtime = t->vtime;
	say_asleep(t, 0); /* Not every thread that wakes comes to enqueue(). */
	if (record)
		note(p, c->in_reserve ? RCLRT_SCX_RESERVE : RCLRT_SCX_RUNS, key);
	__sync_lock_test_and_set(&c->running_ns, c->in_reserve ? RCLRT_SCX_RUNS_PROTECTED : key);
	if (t->changed && !c->in_reserve && !c->offline && earlier_waits(cpu, c, key))
		kick(cpu, SCX_KICK_PREEMPT);
	t->changed = false;
}

static void account_for(struct task_struct *p, struct rclrt_scx_cpu *c, bool runnable)
{
	struct thread *t = thread_of(p);
	struct rclrt_scx_slot *slot;

	if (!t)
		return;
	use_budget(t);
	if (record)
		note(p, RCLRT_SCX_STOPS, urgency(t));
	t->preempted = runnable;
	charge(p, t, c);
	t->in_reserve = false;
	if (t->urgent && runnable)
		c->preemptions++;
	slot = slot_of(t);
	if (slot && slot->ended_ns > RCLRT_SCX_NO_DEADLINE) {
		count_job(t, c, slot->ended_ns);
		slot->ended_ns = RCLRT_SCX_NO_DEADLINE;
	}
}

void SEC("struct_ops/edf_stopping") BPF_PROG(edf_stopping, struct task_struct *p, bool runnable)
{
	struct rclrt_scx_cpu *c = cpu_of(scx_bpf_task_cpu(p));

	if (!c)
		return;
	if (!runs_plainly(p, c))
		account_for(p, c, runnable);
	if (!runnable && c->leaving && switches_cpu(p))
		c->leaving = 0; /* If the CPU is to go, the kernel has marked it. */
	/* If the thread can still run, the word stays: dispatch() has said what comes next. */
	if (!runnable) {
		__sync_lock_test_and_set(&c->running_ns, RCLRT_SCX_RUNS_NOTHING);
		if (partial && !c->offline && waits_in_edf())
			ask_for_work(scx_bpf_task_cpu(p));
	} else if (p->scx.slice) {
		set_slice(p, 0); /* Preempted: back to enqueue(), not into this CPU's own queue. */
		if (partial)
			__sync_lock_test_and_set(&c->running_ns, RCLRT_SCX_RUNS_NOTHING);
	}
}

void SEC("struct_ops/edf_quiescent") BPF_PROG(edf_quiescent, struct task_struct *p, u64 deq_flags)
{
	struct thread *t;
	bool sleeps = deq_flags & SCX_DEQ_SLEEP;
	struct rclrt_scx_cpu *c;
	u64 key;

	if (is_plain(p))
		return; /* It is not counted as waiting, and takes no place by its deadline. */
	t = thread_of(p);
	c = cpu_of(scx_bpf_task_cpu(p));
	if (!t || !c)
		return;
	no_longer_waits(t);
	t->changed = !sleeps;
	key = urgency(t);
	if (key < RCLRT_SCX_RUNS_BACKGROUND) {
		if (record)
			note(p, RCLRT_SCX_LEFT, key);
		if (sleeps && !t->first)
			count_job(t, c, key_of_job(t, key));
	}
	if (sleeps) {
		t->slept = true;
		say_asleep(t, 1);
	}
}

void SEC("struct_ops/edf_cpu_online") BPF_PROG(edf_cpu_online, s32 cpu)
{
	struct rclrt_scx_cpu *c = cpu_of(cpu);

	if (c) {
		c->running_ns = RCLRT_SCX_RUNS_NOTHING;
		c->offline = 0;
	}
}

void SEC("struct_ops/edf_cpu_offline") BPF_PROG(edf_cpu_offline, s32 cpu)
{
	struct rclrt_scx_cpu *c = cpu_of(cpu);

	if (c)
		c->offline =
			1; /* What still runs there, to take it down, may change the other words. */
}

s32 SEC("struct_ops.s/edf_init_task")
	BPF_PROG(edf_init_task, struct task_struct *p, struct scx_init_task_args *args)
{
	struct thread *t = bpf_task_storage_get(&threads, p, 0, BPF_LOCAL_STORAGE_GET_F_CREATE);

	if (!t)
		return -ENOMEM;
	t->vtime = fair_vtime;
	t->charged_ns = p->se.sum_exec_runtime;
	return 0;
}

void SEC("struct_ops/edf_exit_task")
	BPF_PROG(edf_exit_task, struct task_struct *p, struct scx_exit_task_args *args)
{
	struct thread *t = thread_of(p);

	no_longer_waits(t);
	if (t && t->had_slot)
		__sync_fetch_and_sub(&with_slots[p->pid & PLAIN_BITS], 1);
	give_back(t); /* Every thread that ends comes here, however it ends. */
}

/* Run by the loader, when the kernel has given us all threads: before, none could have a slot. */
SEC("syscall") int edf_ready(void *nothing)
{
	struct rclrt_scx_state *s = the_state();

	if (!s)
		return -EINVAL;
	__sync_lock_test_and_set(&s->in_force, 1);
	/* Each writes its word, then looks at the other's: whichever is last, the end stays said. */
	if (*(volatile s64 *)&s->exit_code != SCX_EXIT_NONE)
		__sync_lock_test_and_set(&s->in_force, 0);
	return 0;
}

s32 SEC("struct_ops.s/edf_init") BPF_PROG(edf_init)
{
	struct rclrt_scx_state *s = the_state();
	const struct cpumask *online;
	u64 now = bpf_ktime_get_ns();
	int cpu, error;

	error = scx_bpf_create_dsq(EDF, -1);
	if (!error)
		error = scx_bpf_create_dsq(FAIR, -1);
	bpf_for(cpu, 0, cpu_count) {
		if (!error)
			error = scx_bpf_create_dsq(OWN(cpu), -1);
	}
	if (error || !s)
		return error ? error : -EINVAL;
	online = scx_bpf_get_online_cpumask();
	bpf_for(cpu, 0, cpu_count) {
		struct rclrt_scx_cpu *c = cpu_of(cpu);

		if (!c)
			continue;
		c->fair_ns = now;
		c->running_ns = RCLRT_SCX_RUNS_BACKGROUND;
		c->offline = !bpf_cpumask_test_cpu(cpu, online);
	}
	scx_bpf_put_cpumask(online);
	return 0;
}

void SEC("struct_ops/edf_exit") BPF_PROG(edf_exit, struct scx_exit_info *info)
{
	struct rclrt_scx_state *s = the_state();

	if (!s)
		return;
	s->exit_code = info->kind;
	bpf_probe_read_kernel_str(s->exit_reason, sizeof(s->exit_reason), info->reason);
	bpf_probe_read_kernel_str(s->exit_message, sizeof(s->exit_message), info->msg);
	__sync_lock_test_and_set(&s->in_force, 0); /* Last: a reader of this sees the reason too. */
}

SEC(".struct_ops.link")
struct sched_ext_ops edf_ops = {
	.select_cpu = (void *)edf_select_cpu,
	.enqueue = (void *)edf_enqueue,
	.dispatch = (void *)edf_dispatch,
	.tick = (void *)edf_tick,
	.running = (void *)edf_running,
	.stopping = (void *)edf_stopping,
	.quiescent = (void *)edf_quiescent,
	.cpu_online = (void *)edf_cpu_online,
	.cpu_offline = (void *)edf_cpu_offline,
	.init_task = (void *)edf_init_task,
	.exit_task = (void *)edf_exit_task,
	.init = (void *)edf_init,
	.exit = (void *)edf_exit,
	.name = "rclrt_edf",
};
