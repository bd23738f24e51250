/* SPDX-License-Identifier: GPL-2.0 */
/* Slots: a thread takes one and gives it back. */
#pragma once

#include "queues.bpf.h"
#include "tables.bpf.h"

/* How many slots a process and a user get. */
/* Always 0, which the verifier cannot know: it walks a loop again for each value that it does know of a count. */
static volatile u32 nothing_yet;

/* 0, or why this process or user gets no slot more. */
static int over_quota(u32 tgid, u32 uid)
{
	u32 of_process = nothing_yet, of_user = nothing_yet, index;
	struct rclrt_scx_owner *owner;
	int i;

	if (uid == 0)
		return 0;
	bpf_for(i, 1, slot_count + 1) {
		index = i;
		owner = bpf_map_lookup_elem(&owners, &index);
		if (!owner || !owner->tid)
			continue;
		of_process += owner->tgid == tgid;
		of_user += owner->uid == uid;
	}
	if (of_process >= RCLRT_SCX_MOST_OF_PROCESS(slot_count))
		return -EDQUOT;
	return of_user >= RCLRT_SCX_MOST_OF_USER(slot_count) ? -EUSERS : 0;
}

static void give_back(struct thread *t)
{
	struct rclrt_scx_state *s = the_state();
	struct rclrt_scx_owner *owner;
	struct rclrt_scx_slot *slot;
	u32 index;

	if (!t || !t->slot)
		return;
	index = t->slot;
	t->slot = 0;
	slot = bpf_map_lookup_elem(&slots, &index);
	owner = bpf_map_lookup_elem(&owners, &index);
	if (!slot || !owner || !s)
		return;
	slot->deadline_ns = RCLRT_SCX_NO_DEADLINE;
	slot->lent_ns = RCLRT_SCX_NO_DEADLINE;
	slot->ended_ns = RCLRT_SCX_NO_DEADLINE;
	slot->runtime_ns = slot->begun_ns = 0;
	__sync_fetch_and_sub(&s->bound, 1);
	__sync_lock_test_and_set(&owner->tid, 0); /* Last: from here on it can be another's. */
}

/* Run by a thread on itself, see slots.h. */
SEC("syscall") int edf_bind(struct rclrt_scx_bind *request)
{
	struct task_struct *p = bpf_get_current_task_btf();
	struct rclrt_scx_state *s = the_state();
	struct rclrt_scx_owner *owner;
	struct rclrt_scx_slot *slot;
	u32 uid = (u32)bpf_get_current_uid_gid();
	struct thread *t;
	u32 index;
	int i, error;

	if (!s || !s->in_force)
		return -ESHUTDOWN;
	t = thread_of(p);
	if (!t)
		return -ESHUTDOWN;
	if (request->operation == RCLRT_SCX_RELEASE) {
		if (!t->slot)
			return -ENOENT;
		give_back(t);
		return 0;
	}
	if (request->operation != RCLRT_SCX_BIND)
		return -EINVAL;
	if (t->slot) {
		request->slot = t->slot;
		return -EALREADY;
	}
	error = over_quota(p->tgid, uid);
	if (error)
		return error;
	bpf_for(i, 1, slot_count + 1) {
		index = i;
		owner = bpf_map_lookup_elem(&owners, &index);
		slot = bpf_map_lookup_elem(&slots, &index);
		if (!owner || !slot || owner->tid ||
		    __sync_val_compare_and_swap(&owner->tid, 0, p->pid) != 0)
			continue;
		owner->tgid = p->tgid;
		owner->uid = uid;
		owner->jobs = 0;
		owner->misses = 0;
		bpf_probe_read_kernel(owner->comm, sizeof(owner->comm), p->comm);
		slot->deadline_ns = RCLRT_SCX_NO_DEADLINE; /* Whatever anybody left there. */
		slot->lent_ns = RCLRT_SCX_NO_DEADLINE;
		slot->ended_ns = RCLRT_SCX_NO_DEADLINE;
		slot->asleep = 0;
		slot->runtime_ns = slot->begun_ns = 0;
		t->postponed = false;
		t->server_ns = 0;
		t->left_ns = 0;
		__sync_fetch_and_add(&s->bound, 1);
		if (!t->had_slot)
			__sync_fetch_and_add(&with_slots[p->pid & PLAIN_BITS], 1);
		t->had_slot = true;
		t->slot = index;
		request->slot = index;
		return 0;
	}
	return -ENOSPC;
}
