# Copyright 2026 The rclrt Authors
# SPDX-License-Identifier: Apache-2.0
"""Many simulations of timers on one thread at once, as arrays: what `simulate` does, much faster.

For executors that finish what they began: events FIFO, by priority or by deadline (release-only,
releases for free), and the single-threaded wait set. Ready jobs of equal rank run in the order of
their columns; the queue keeps every release, the wait set skips as rcl does. Each step runs one job
in each simulation.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import Literal

import numpy as np

from rclrt_analysis.bounds.taskset import Bools, Ints

Order = Literal["fixed_priority", "edf", "fifo", "wait_set"]
NEVER = 2**62


@dataclass(frozen=True)
class Batch:
    """The result; times in ns.

    Attributes
    ----------
    worst
        Shape (runs, n): longest response from the release to the end, -1 if no job ran.
    skipped
        Shape (runs, n): timestamps that the wait set gave up.
    jobs
        How many jobs all simulations ran together.
    """

    worst: Ints
    skipped: Ints
    jobs: int


def simulate_batch(
    wcet: Ints,
    period: Ints,
    offset: Ints,
    steps: int,
    order: Order,
    deadline: Ints | None = None,
    priority: Ints | None = None,
) -> Batch:
    """Run `steps` jobs in each of many simulations.

    Parameters
    ----------
    wcet, period, offset, deadline, priority
        Shape (runs, n), or (n,) for all runs alike, ns. Deadlines are for "edf", the periods unless
        given; priorities for "fixed_priority", larger is more urgent; the wait set takes columns in
        order.
    """
    shape = np.broadcast_shapes(np.shape(wcet), np.shape(period), np.shape(offset), (1, 1))
    cost, span, following = (
        np.array(np.broadcast_to(array, shape), dtype=np.int64) for array in (wcet, period, offset)
    )
    due = np.broadcast_to(span if deadline is None else deadline, shape)
    urgency = np.broadcast_to(np.zeros(1) if priority is None else np.asarray(priority), shape)
    runs = np.arange(shape[0])
    now = np.zeros(shape[0], dtype=np.int64)
    worst = np.full(shape, -1, dtype=np.int64)
    skipped = np.zeros(shape, dtype=np.int64)
    window = np.zeros(shape, dtype=np.bool_)
    columns = np.arange(shape[1])
    for _ in range(steps):
        if order == "wait_set":
            polls: Bools = ~np.any(window, axis=1)
            now = np.where(polls, np.maximum(now, following.min(axis=1)), now)
            window |= polls[:, None] & (following <= now[:, None])
            key = np.where(window, columns, NEVER)
        else:
            now = np.maximum(now, following.min(axis=1))
            ready = following <= now[:, None]
            if order == "fixed_priority":
                most = np.where(ready, urgency, -NEVER).max(axis=1)
                # Of equal ones the earliest release.
                key = np.where(ready & (urgency == most[:, None]), following, NEVER)
            elif order == "edf":
                key = np.where(ready, following + due, NEVER)
            else:
                key = following
        chosen = np.argmin(key, axis=1)
        release, length = following[runs, chosen], span[runs, chosen]
        if order == "wait_set":
            window[runs, chosen] = False
            late = np.maximum(0, -(-(now - release - length) // length))
            skipped[runs, chosen] += late
            following[runs, chosen] = release + (1 + late) * length
        else:
            following[runs, chosen] = release + length
        now = now + cost[runs, chosen]
        worst[runs, chosen] = np.maximum(worst[runs, chosen], now - release)
    return Batch(worst, skipped, steps * shape[0])
