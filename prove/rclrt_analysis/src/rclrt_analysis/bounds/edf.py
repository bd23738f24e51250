# Copyright 2026 The rclrt Authors
# SPDX-License-Identifier: Apache-2.0
"""Schedulability under preemptive EDF, on one core or with threads that migrate among several.

Both tests say only whether all deadlines are met; a response is then at most its deadline. Both are
for sporadic tasks without jitter.
"""

from __future__ import annotations

import numpy as np
from rclrt_analysis.bounds.effort import spend
from rclrt_analysis.bounds.fixed_point import FULL, MANY, UNBOUNDED, UNSHOWN, least_fixed_point
from rclrt_analysis.bounds.taskset import Ints, TaskSet

MAX_POINTS = 200_000
MARGIN = 1e-9
"""Outweighs rounding where utilizations are added."""


def no_demand(tasks: TaskSet) -> int:
    """Return 0 if one core meets every deadline: sum_i dbf_i(t) <= t for all t [Baruah90].

    Exact. Looked at are the deadlines within the synchronous busy period. Otherwise why not: they
    are more than `MAX_POINTS`, the utilization is full, or a deadline is missed; see `lost`.
    """
    if np.any(tasks.jitter):
        raise ValueError("the demand test knows no jitter")
    if tasks.utilization >= FULL:
        return UNBOUNDED

    def step(t: Ints, _: Ints) -> Ints:
        return np.array([(-(-t[0] // tasks.period) * tasks.wcet).sum()], dtype=np.int64)

    start = np.array([max(1, int(tasks.wcet.sum()))], dtype=np.int64)
    end = int(least_fixed_point(step, start)[0])
    count = np.maximum(0, -(-(end - tasks.deadline) // tasks.period) + 1)
    if end >= UNBOUNDED:
        return end
    if count.sum() > MAX_POINTS:
        return MANY
    columns = zip(tasks.deadline, tasks.period, count, strict=True)
    due = [deadline + period * np.arange(number) for deadline, period, number in columns]
    points = np.unique(np.concatenate(due))
    spend(len(points) * len(tasks))
    for t in np.array_split(points, max(1, len(points) * len(tasks) // 1_000_000)):
        released = np.maximum(0, (t[:, None] - tasks.deadline) // tasks.period + 1)
        if np.any((released * tasks.wcet).sum(axis=1) > t):
            return UNSHOWN
    return 0


def no_density(tasks: TaskSet, cores: int) -> int:
    """Return 0 if `cores` cores meet every deadline [Goossens03], by density [Bertogna05].

    sum d_i <= m - (m - 1) max d_i with d_i = C_i / min(D_i, T_i). Sufficient.
    """
    if np.any(tasks.jitter):
        raise ValueError("the density test knows no jitter")
    dense = tasks.wcet / np.minimum(tasks.deadline, tasks.period)
    met = dense.sum() <= cores - (cores - 1) * dense.max(initial=0) - MARGIN
    return 0 if met else UNSHOWN
