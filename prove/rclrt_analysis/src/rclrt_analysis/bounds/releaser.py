# Copyright 2026 The rclrt Authors
# SPDX-License-Identifier: Apache-2.0
"""What releasing timers costs the callbacks of a priority events executor [Teper25 §VI-B]."""

import numpy as np
from rclrt_analysis.bounds.fixed_point import FULL, UNBOUNDED, least_fixed_point
from rclrt_analysis.bounds.taskset import Bools, Interference, Ints, TaskSet


def release_and_execute(tasks: TaskSet, delta: int) -> Ints:
    """Return eq. (2): n delta, for every task, shape (n,), ns.

    Holds if no timestamp is skipped: see `condition_c1`.
    """
    return np.full(len(tasks), len(tasks) * delta, dtype=np.int64)


def condition_c1(tasks: TaskSet, delta: int) -> bool:
    """Return whether C_i + Delta_i < T_j for all i, j, so that no timestamp is skipped under RE.

    The paper's (1) has C_i < T_j for j != i; the overhead counts as well, and a task that outlasts
    its own period skips one too.
    """
    if not len(tasks):
        return True
    return bool(np.max(tasks.wcet) + len(tasks) * delta < np.min(tasks.period))


def release_only(tasks: TaskSet, delta: int, timers: Bools | None = None) -> Ints:
    """Return eq. (3) for every task, shape (n,), ns: releases during its own execution.

    t0 = min{t > 0: t >= C_i + sum_j ceil(t / T_j) delta}; the overhead is that sum at t0.
    `UNBOUNDED` if releases alone fill the processor. Jitter brings releases closer together.

    timers: Shape (n,): which tasks cost something to release; all unless given.
    """
    n = len(tasks)
    if not n:
        return np.zeros(0, dtype=np.int64)
    cost = np.full(n, delta) if timers is None else np.where(timers, delta, 0)
    share = float(np.sum(cost / tasks.period))
    if share >= FULL:
        return np.full(n, UNBOUNDED, dtype=np.int64)

    def step(t: Ints, rows: Ints) -> Ints:
        count = -(-(t[:, None] + tasks.jitter) // tasks.period)
        return np.asarray(tasks.wcet[rows] + (count * cost).sum(axis=1))

    # From 1 ns, because the least positive t is asked for.
    t0 = least_fixed_point(step, np.maximum(tasks.wcet, 1))
    return np.where(t0 >= UNBOUNDED, UNBOUNDED, t0 - tasks.wcet)


def release_only_tightened(tasks: TaskSet, delta: int, proven: bool) -> Ints:
    """Return eq. (4): n delta, for every task, shape (n,), ns.

    proven: That the set was shown schedulable with `release_only`, for deadlines up to the periods.
        Using (4) to show it would be circular.

    Raises ValueError: It was not proven, or a deadline exceeds its period.
    """
    if not proven or np.any(tasks.deadline > tasks.period):
        raise ValueError(
            "equation (4) needs a set proven schedulable with (3), deadlines <= periods"
        )
    return np.full(len(tasks), len(tasks) * delta, dtype=np.int64)


def as_interference(period: Ints, jitter: Ints, delta: int, n: int) -> Interference:
    """Return the releases of timers with these periods, as they interfere with each of n tasks.

    Tighter than prolonging every job: a release is charged once per window, not once per job. It
    costs when it happens, so it jitters as the timer does.
    """
    spans = np.stack([period, jitter], axis=1)
    every, count = np.unique(spans, axis=0, return_counts=True)
    cost = np.broadcast_to(count * delta, (n, len(every)))
    return Interference(every[:, 0], every[:, 1], np.ascontiguousarray(cost))
