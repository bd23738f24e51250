/* SPDX-License-Identifier: GPL-2.0 */
/*
 * What the scheduler decides, for the program that records it.
 */
#ifndef NOTE_BPF_H_
#define NOTE_BPF_H_

const volatile u32 cpu_count = 1;
const volatile bool record;

static void note(struct task_struct *p, u16 type, u64 key)
{
	struct rclrt_scx_event *event;
	u64 allowed = 0;
	s32 cpu;

	if (!record)
		return;
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

#endif /* NOTE_BPF_H_ */
