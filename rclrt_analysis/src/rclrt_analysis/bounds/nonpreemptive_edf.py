# Copyright 2026 The rclrt Authors
# SPDX-License-Identifier: Apache-2.0
"""Response times and schedulability under non-preemptive EDF on one processor."""

from __future__ import annotations

import numpy as np

from rclrt_analysis.bounds.busy_window import Responses
from rclrt_analysis.bounds.fixed_point import FULL, least_fixed_point
from rclrt_analysis.bounds.supply import DEDICATED, Supply
from rclrt_analysis.bounds.taskset import UNBOUNDED, Ints, TaskSet

NO_DEADLINE = 2**50
"""Stands for none: beyond all others, and far enough from the limits of 64 bits."""

MAX_JOBS = 5_000
MAX_ENTRIES = 1 << 25
"""In `exact`: jobs in the busy period, and those times tasks squared. Beyond, no bound is found."""

BLOCK = 1 << 20
"""Numbers in one array at most."""

MAX_POINTS = 200_000
"""Points in time that are examined at most; beyond, the answer is that none was found."""


def _busy_period(tasks: TaskSet, supply: Supply) -> int:
    """Return the longest synchronous busy period plus the largest blocking; see [George96]."""
    if tasks.utilization >= FULL * supply.share:
        return UNBOUNDED
    largest = int(tasks.wcet.max())

    def step(t: Ints, _: Ints) -> Ints:
        work = (-(-(t[0] + tasks.jitter) // tasks.period) * tasks.wcet).sum()
        return supply.time(np.array([largest + int(work)], dtype=np.int64))

    return int(least_fixed_point(step, np.array([max(1, largest)], dtype=np.int64))[0])


def _points(tasks: TaskSet, low: int, end: int, first: Ints, most: int = MAX_POINTS) -> Ints | None:
    """Return all first_j + k T_j in [low, end), k >= 0, sorted; None if there are too many."""
    start = np.maximum(0, -(-(low - first) // tasks.period))
    first = first + start * tasks.period
    count = np.maximum(0, -(-(end - first) // tasks.period))
    if count.sum() > most:
        return None
    points = [first[j] + tasks.period[j] * np.arange(count[j]) for j in range(len(tasks))]
    return np.unique(np.concatenate(points)) if points else np.zeros(0, dtype=np.int64)


def theorem_2(tasks: TaskSet) -> bool:
    """Return whether every deadline is met [Teper25 Theorem 2], [George96].

    For all t at which something is due: max_{D_i > t} C_i + sum_i dbf_i(t) <= t. Between two points
    t = k T_i + D_i the left side does not grow, so those within the busy period are looked at.
    Holds for any releases of sporadic tasks.

    Raises
    ------
    ValueError
        There is jitter.
    """
    if np.any(tasks.jitter):
        raise ValueError("Theorem 2 knows no jitter")
    if not len(tasks):
        return True
    end = _busy_period(tasks, DEDICATED)
    if end >= UNBOUNDED:
        return False
    points = _points(tasks, 0, end + int(tasks.deadline.max()) + 1, tasks.deadline)
    if points is None:
        return False
    for t in np.array_split(points, max(1, len(points) * len(tasks) // 1_000_000)):
        count = np.maximum(0, (t[:, None] - tasks.deadline) // tasks.period + 1)
        demand = (count * tasks.wcet).sum(axis=1)
        blocking = np.where(tasks.deadline > t[:, None], tasks.wcet, 0).max(axis=1)
        if np.any(blocking + demand > t):
            return False
    return True


def exact(tasks: TaskSet, supply: Supply = DEDICATED, earliest: Ints | None = None) -> Responses:
    """Return the worst-case response time of every task [George96], with jitter.

    A job of nominal release a, 0 being the start of the busy period, is due at a + D_i. With B(a)
    the longest job of later deadline it starts at the least s = B + floor((a + J_i) / T_i) C_i +
    sum_{j: D_j - J_j <= a + D_i} min(1 + floor((s + J_j) / T_j), 1 + floor((a + D_i - D_j + J_j) /
    T_j)) C_j, and R_i is the worst of s + C_i - max(a, 0) over all a >= -J_i at which the sum can
    change.

    Exact for sporadic tasks without jitter, but where a release falls exactly on a start: as
    `nonpreemptive_fp.exact`. Cost: (number of deadlines in the busy period) x n^2; `UNBOUNDED` at
    full utilization or beyond `MAX_JOBS` and `MAX_ENTRIES`.

    Parameters
    ----------
    tasks
        Deadlines count from the nominal release; `NO_DEADLINE` comes after all others.
    supply
        Of the thread.
    earliest
        Shape (n,), ns: how long after its nominal release a job comes at the earliest.
    """
    n = len(tasks)
    nothing = np.zeros(n, dtype=np.int64)
    result = np.full(n, UNBOUNDED, dtype=np.int64)
    lost = Responses(result, result, nothing, nothing, nothing)
    end = _busy_period(tasks, supply) if n else UNBOUNDED
    if end >= UNBOUNDED:
        return lost
    columns = []
    for i in range(n):
        first = tasks.deadline - tasks.jitter - tasks.deadline[i]
        points = _points(tasks, -int(tasks.jitter[i]), end, first, MAX_JOBS + 10 * n)
        if points is None:
            return lost
        columns.append(points)
    # One entry for each task and nominal release.
    if sum(len(points) for points in columns) * n > MAX_ENTRIES:
        return lost
    owner = np.repeat(np.arange(n), [len(points) for points in columns])
    nominal = np.concatenate(columns)
    blocks = np.array_split(np.arange(len(owner)), len(owner) * n // BLOCK + 1)
    finish = np.concatenate([_finish(tasks, owner[at], nominal[at], supply) for at in blocks])
    actual = np.maximum(nominal + (0 if earliest is None else earliest[owner]), 0)
    starts = np.flatnonzero(np.diff(owner, prepend=-1))
    bounded = np.maximum.reduceat(finish, starts) < UNBOUNDED

    def worst(since: Ints) -> Ints:
        response = np.maximum(np.maximum.reduceat(finish - since, starts), tasks.wcet)
        return np.where(bounded, response, UNBOUNDED)

    return Responses(worst(actual), worst(nominal), nothing, nothing, nothing)


def _finish(tasks: TaskSet, owner: Ints, nominal: Ints, supply: Supply) -> Ints:
    """Return when jobs of tasks `owner` with these nominal releases end."""
    due = (nominal + tasks.deadline[owner])[:, None]
    most = np.maximum(0, (due - tasks.deadline + tasks.jitter) // tasks.period + 1)
    most[np.arange(len(owner)), owner] = 0
    own = tasks.wcet[owner]
    before = (nominal + tasks.jitter[owner]) // tasks.period[owner] * own
    fixed = np.where(tasks.deadline > due, tasks.wcet, 0).max(axis=1) + before

    def work(s: Ints, rows: Ints) -> Ints:
        count = np.minimum((s[:, None] + tasks.jitter) // tasks.period + 1, most[rows])
        return np.asarray(fixed[rows] + (count * tasks.wcet).sum(axis=1))

    start = least_fixed_point(lambda s, at: supply.time(work(s, at) + 1) - 1, fixed)
    lost = start >= UNBOUNDED
    begin = np.where(lost, 0, start)
    end = supply.time(work(begin, np.arange(len(begin))) + own)
    return np.where(lost, UNBOUNDED, np.maximum(end, begin))
