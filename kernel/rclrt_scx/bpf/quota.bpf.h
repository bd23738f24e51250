/* SPDX-License-Identifier: GPL-2.0 */
/* How many slots a process and a user get. */
#ifndef QUOTA_BPF_H_
#define QUOTA_BPF_H_

#include "queues.bpf.h"
#include "tables.bpf.h"

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

#endif /* QUOTA_BPF_H_ */
