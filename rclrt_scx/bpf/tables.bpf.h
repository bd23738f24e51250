/* SPDX-License-Identifier: GPL-2.0 */
/*
 * What the scheduler keeps: the tables of rclrt_scx/slots.h, which the loader sizes and pins, and for
 * each thread what only the scheduler may know.
 */
#ifndef TABLES_BPF_H_
#define TABLES_BPF_H_

#include "rclrt_scx/slots.h"

struct {
	__uint(type, BPF_MAP_TYPE_ARRAY);
	__uint(map_flags, BPF_F_MMAPABLE);
	__uint(max_entries, 1);
	__type(key, u32);
	__type(value, struct rclrt_scx_state);
} state SEC(".maps");

struct {
	__uint(type, BPF_MAP_TYPE_ARRAY);
	__uint(map_flags, BPF_F_MMAPABLE);
	__uint(max_entries, 1);
	__type(key, u32);
	__type(value, struct rclrt_scx_slot);
} slots SEC(".maps");

struct {
	__uint(type, BPF_MAP_TYPE_ARRAY);
	__uint(map_flags, BPF_F_MMAPABLE);
	__uint(max_entries, 1);
	__type(key, u32);
	__type(value, struct rclrt_scx_owner);
} owners SEC(".maps");

struct {
	__uint(type, BPF_MAP_TYPE_ARRAY);
	__uint(map_flags, BPF_F_MMAPABLE);
	__uint(max_entries, 1);
	__type(key, u32);
	__type(value, struct rclrt_scx_cpu);
} cpus SEC(".maps");

struct {
	__uint(type, BPF_MAP_TYPE_RINGBUF);
	__uint(max_entries, 4096);
} events SEC(".maps");

/* What only the scheduler may know of a thread. */
struct thread {
	u32 slot;	 /* 0 for none */
	bool urgent;	 /* runs by a deadline */
	u64 vtime;	 /* of the background */
	u64 since_ns;	 /* on its CPU */
	bool in_reserve; /* has its CPU in a turn of the reserve */
	bool preempted;	 /* has just lost its CPU, and is on its way back into a queue */
	bool changed;	 /* was taken out to be changed, without going to sleep */
};

struct {
	__uint(type, BPF_MAP_TYPE_TASK_STORAGE);
	__uint(map_flags, BPF_F_NO_PREALLOC);
	__type(key, int);
	__type(value, struct thread);
} threads SEC(".maps");

#endif /* TABLES_BPF_H_ */
