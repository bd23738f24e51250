# Copyright 2026 The rclrt Authors
# SPDX-License-Identifier: Apache-2.0
"""A simulated run as trace files: one for each executor, as running programs write them."""

import numpy as np
import numpy.typing as npt
from rclrt_analysis.model import Callback, Executor, ExecutorKind, Kind, Policy, Release
from rclrt_analysis.simulation.jobs import Job, Run

from rclrt_tools.trace import NO_DEADLINE, Entry, Header, Records, Trace, blank, layout

MODELS = {
    ExecutorKind.PRIORITY_EVENTS: layout.MODEL_PRIORITY_EVENTS,
    ExecutorKind.EVENTS_FIFO: layout.MODEL_PRIORITY_EVENTS,
    ExecutorKind.PREEMPTIVE: layout.MODEL_PREEMPTIVE,
    ExecutorKind.ISOLATED: layout.MODEL_ISOLATED,
}
KINDS = {
    Kind.TIMER: layout.KIND_TIMER,
    Kind.SUBSCRIPTION: layout.KIND_SUBSCRIPTION,
    Kind.SERVICE: layout.KIND_SERVICE,
    Kind.CLIENT: layout.KIND_CLIENT,
}
ONE_THREAD = (*list(MODELS)[:2], ExecutorKind.WAIT_SET_SINGLE, ExecutorKind.MICRO_ROS)
HAVE_PRIORITIES = (
    ExecutorKind.PRIORITY_EVENTS,
    ExecutorKind.PREEMPTIVE,
    ExecutorKind.ISOLATED,
    ExecutorKind.TIDE,
)
MOST = 99
"""Priorities that Linux has."""


def to_traces(run: Run) -> dict[str, Trace]:
    """Return the jobs as records, by the name of their executor; times count from 0."""
    executors = run.system.executors
    number = {executor.name: i for i, executor in enumerate(executors, 1)}
    by_executor: dict[str, list[Job]] = {executor.name: [] for executor in executors}
    owner = [callback.executor for callback in run.system.callbacks]
    for job in run.jobs:
        by_executor[owner[job.callback]].append(job)
    urgency = {job.callback: job.urgency for job in run.jobs}
    ranks = {value: i for i, value in enumerate(sorted(set(urgency.values())), 1)}
    traces = {}
    for executor in executors:
        # A callback has the same id in each of the files.
        mine = {i: c for i, c in enumerate(run.system.callbacks) if c.executor == executor.name}
        groups = _groups(mine)
        records = _records(by_executor[executor.name], [number[name] for name in owner])
        timers = [i for i, c in mine.items() if c.kind is Kind.TIMER]
        outside = records["cause"] == layout.CAUSE_UNKNOWN
        records["cause"][outside] = layout.CAUSE_MESSAGE
        records["cause"][outside & np.isin(records["callback"], timers)] = layout.CAUSE_TIMER
        _add_executor(records, executor, number[executor.name], groups)
        if executor.kind in HAVE_PRIORITIES and executor.reservation is None:
            _add_priorities(records, executor, {i: ranks[u] for i, u in urgency.items()})
        elif executor.kind is ExecutorKind.EVENTS_FIFO:  # One thread, one priority.
            records["policy"], records["priority"] = layout.POLICY_FIFO, 1
        _add_waits(records, groups, executor.kind in ONE_THREAD)
        entries = {
            i: Entry(c.name, groups[i], c.group, 1, KINDS[c.kind], _period(c))
            for i, c in mine.items()
        }
        traces[executor.name] = Trace(entries, records, 0, _header(executor, number))
    return traces


def _period(callback: Callback) -> int:
    timer = callback.kind is Kind.TIMER
    return callback.period if timer and callback.period else layout.UNKNOWN


def _groups(callbacks: dict[int, Callback]) -> dict[int, int]:
    numbers: dict[str, int] = {}
    return {
        i: numbers.setdefault(c.group or f"\0{c.name}", len(numbers)) for i, c in callbacks.items()
    }


def _header(executor: Executor, number: dict[str, int]) -> Header:
    ordering = layout.ORDER_EDF if executor.policy is Policy.EDF else layout.ORDER_FIRST_COME
    return Header(
        executor=number[executor.name],
        model=MODELS.get(executor.kind, layout.MODEL_UNKNOWN),
        ordering=ordering if executor.kind in MODELS else layout.ORDER_UNKNOWN,
        timers_preempt=int(executor.release is Release.RELEASE_AND_EXECUTE),
    )


def _records(jobs: list[Job], executor: list[int]) -> Records:
    """Return what jobs know of themselves; `executor` is the number by callback."""
    records = blank(len(jobs))
    for i, job in enumerate(jobs):
        record = records[i]
        record["release_ns"], record["ready_ns"] = job.nominal, job.release
        record["start_ns"], record["end_ns"] = job.start, job.end
        record["deadline_ns"] = job.deadline if 0 <= job.deadline < 2**61 else NO_DEADLINE
        record["sequence"], record["callback"] = job.sequence, job.callback
        record["preemptions"], record["cpu"] = job.preemptions, job.core
        record["cpu_ns"], record["root_ns"] = job.work, job.root
        if job.released_by is not None:
            record["cause"] = layout.CAUSE_JOB
            record["by_sequence"] = job.released_by.sequence
            record["by_callback"] = job.released_by.callback
            record["by_executor"] = executor[job.released_by.callback]
    return records


def _add_executor(
    records: Records, executor: Executor, number: int, groups: dict[int, int]
) -> None:
    records["cpus"] = sum(
        {layout.MORE_CPUS if core >= 63 else 1 << core for core in executor.cores}
    )
    several = executor.kind not in ONE_THREAD
    records["thread"] = (number << 16) + (_by_callback(records, groups) if several else 0)


def _by_callback(records: Records, values: dict[int, int]) -> npt.NDArray[np.int64]:
    table = np.zeros(max(values, default=0) + 1, dtype=np.int64)
    table[list(values)] = list(values.values())
    found: npt.NDArray[np.int64] = table[records["callback"]]
    return found


def _add_priorities(records: Records, executor: Executor, ranks: dict[int, int]) -> None:
    """Say under which priority jobs ran, if Linux has as many as the model."""
    if executor.policy is Policy.EDF:
        records["policy"] = layout.POLICY_EXT
    elif max(ranks.values(), default=0) <= MOST:
        records["policy"] = layout.POLICY_FIFO
        records["priority"] = _by_callback(records, ranks)


def _add_waits(records: Records, groups: dict[int, int], one_thread: bool) -> None:
    """Say which jobs found their group, or the only thread, busy when they were released."""
    group = np.zeros(len(records), np.int64) if one_thread else _by_callback(records, groups)
    wait = layout.WAITED_FOR_THREAD if one_thread else layout.WAITED_FOR_GROUP
    for one in np.unique(group):
        # These run one after the other.
        mine = np.flatnonzero(group == one)
        mine = mine[np.argsort(records["start_ns"][mine], kind="stable")]
        ready = records["ready_ns"][mine]
        before = np.searchsorted(records["start_ns"][mine], ready, side="left") - 1
        busy = (before >= 0) & (records["end_ns"][mine][np.maximum(before, 0)] > ready)
        records["waited_for"][mine[busy]] = wait
