# Copyright 2026 The rclrt Authors
# SPDX-License-Identifier: Apache-2.0
"""Response times and schedulability under non-preemptive EDF on one processor."""

from __future__ import annotations

import numpy as np

from rclrt_analysis.bounds.fixed_point import FULL, least_fixed_point
from rclrt_analysis.bounds.taskset import UNBOUNDED, Ints, TaskSet

MAX_POINTS = 200_000
"""Points in time that are examined at most; beyond, the answer is that none was found."""


def _busy_period(tasks: TaskSet) -> int:
    """Return the longest synchronous busy period plus the largest blocking; see [George96]."""
    if tasks.utilization >= FULL:
        return UNBOUNDED
    largest = int(tasks.wcet.max())
    start = np.array([largest + int(tasks.wcet.sum())], dtype=np.int64)
    return int(
        least_fixed_point(
            lambda t, _: np.array(
                [largest + int((-(-t[0] // tasks.period) * tasks.wcet).sum())], dtype=np.int64
            ),
            start,
        )[0]
    )


def _points(tasks: TaskSet, end: int, first: Ints) -> Ints | None:
    """Return all first_j + k T_j in [0, end), sorted; None if there are too many."""
    count = np.maximum(0, -(-(end - first) // tasks.period))
    if count.sum() > MAX_POINTS:
        return None
    points = [first[j] + tasks.period[j] * np.arange(count[j]) for j in range(len(tasks))]
    every = np.unique(np.concatenate(points)) if points else np.zeros(0, dtype=np.int64)
    return np.asarray(every[every >= 0], dtype=np.int64)


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
    end = _busy_period(tasks)
    if end >= UNBOUNDED:
        return False
    points = _points(tasks, end + int(tasks.deadline.max()) + 1, tasks.deadline)
    if points is None:
        return False
    for t in np.array_split(points, max(1, len(points) * len(tasks) // 1_000_000)):
        count = np.maximum(0, (t[:, None] - tasks.deadline) // tasks.period + 1)
        demand = (count * tasks.wcet).sum(axis=1)
        blocking = np.where(tasks.deadline > t[:, None], tasks.wcet, 0).max(axis=1)
        if np.any(blocking + demand > t):
            return False
    return True


def exact(tasks: TaskSet) -> Ints:
    """Return the worst-case response time of every task, shape (n,), ns [George96].

    For a deadline a + D_i, with B(a) the longest job of later deadline, job i starts at the least
    s = B + floor(a / T_i) C_i + sum_{D_j <= a + D_i} min(1 + floor(s / T_j), 1 + floor((a + D_i -
    D_j) / T_j)) C_j, and R_i is the worst of s + C_i - a over all a at which the sum can change.

    Exact for sporadic tasks, but where a release falls exactly on a start: as
    `nonpreemptive_fp.exact`. Cost: (number of deadlines in the busy period) x n^2; `UNBOUNDED` at
    full utilization or beyond `MAX_POINTS`.

    Raises
    ------
    ValueError
        There is jitter.
    """
    if np.any(tasks.jitter):
        raise ValueError("this bound knows no jitter")
    n = len(tasks)
    result = np.full(n, UNBOUNDED, dtype=np.int64)
    if not n:
        return result
    end = _busy_period(tasks)
    if end >= UNBOUNDED:
        return result
    for i in range(n):
        offsets = _points(tasks, end, tasks.deadline - tasks.deadline[i])
        if offsets is not None:
            result[i] = _response(tasks, i, offsets)
    return result


def _response(tasks: TaskSet, i: int, offsets: Ints) -> int:
    due = offsets + tasks.deadline[i]
    later = tasks.deadline > due[:, None]
    others = ~later
    others[:, i] = False
    fixed = np.where(later, tasks.wcet, 0).max(axis=1) + offsets // tasks.period[i] * tasks.wcet[i]
    most = (due[:, None] - tasks.deadline) // tasks.period + 1
    cost = np.where(others, tasks.wcet, 0)

    def step(s: Ints, rows: Ints) -> Ints:
        count = np.minimum(s[:, None] // tasks.period + 1, most[rows])
        return np.asarray(fixed[rows] + (count * cost[rows]).sum(axis=1))

    start = least_fixed_point(step, np.zeros_like(fixed))
    if np.any(start >= UNBOUNDED):
        return UNBOUNDED
    own = int(tasks.wcet[i])
    return max(own, int((start + own - offsets).max()))
