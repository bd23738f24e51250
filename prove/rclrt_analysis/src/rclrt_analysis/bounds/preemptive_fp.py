# Copyright 2026 The rclrt Authors
# SPDX-License-Identifier: Apache-2.0
"""Response times under preemptive fixed priority on one processor, with jitter and blocking."""

from __future__ import annotations

import numpy as np

from rclrt_analysis.bounds.busy_window import Demand, Responses, responses
from rclrt_analysis.bounds.taskset import Interference, Ints, TaskSet, higher_or_equal


def exact(
    tasks: TaskSet, blocking: Ints | None = None, releases: Interference | None = None
) -> Responses:
    """Return the response times of all jobs in the longest busy window [Tindell94], [Lehoczky90].

    Job q ends at w(q) = (q + 1) C_k + B_k + sum_{hp} ceil((w + J_i) / T_i) C_i; R_k is the worst
    w(q) - q T_k over the q of the window that L = B_k + sum_{hep} ceil((L + J_i) / T_i) C_i bounds.
    Tasks of equal priority count as higher: under SCHED_FIFO they run in order of release.

    Exact for sporadic tasks without jitter, blocking and equal priorities. Cost: as non-preemptive.

    Parameters
    ----------
    blocking
        Shape (n,), ns: the longest a task may wait for work of lower priority.
    releases
        As for `busy_window.responses`.
    """
    n = len(tasks)
    demand = Demand(
        tasks.period,
        tasks.jitter,
        own=tasks.wcet,
        last=tasks.wcet,
        measured=tasks.wcet,
        blocking=np.zeros(n, dtype=np.int64) if blocking is None else blocking,
        higher=higher_or_equal(tasks),
        exclusive=np.zeros(n, dtype=np.bool_),
    )
    return responses(demand, preemptive=True, releases=releases)
