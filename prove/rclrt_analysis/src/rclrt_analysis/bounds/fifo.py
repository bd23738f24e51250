# Copyright 2026 The rclrt Authors
# SPDX-License-Identifier: Apache-2.0
"""Response times on one thread that runs jobs in the order of their release, and in any order.

In any order all that a burst sets off on one thread or core ends with its busy period [Lehoczky90]
(docs/reference/bounds/default-executor.md). `graph` looks at each job of that, with one urgency for
all: what a job sets off comes after it, unless jobs stop each other. Messages from elsewhere come
as origins, with all of their jitter. A timer of a wait set that skips timestamps has fewer jobs, so
the bound holds; the gap between its releases does not, see `unit.gaps_known`.
"""

from dataclasses import replace

import numpy as np
from rclrt_analysis.bounds.activation import ENDLESS as OFTEN
from rclrt_analysis.bounds.busy_window import Responses
from rclrt_analysis.bounds.effort import spend
from rclrt_analysis.bounds.fixed_point import (
    ENDLESS,
    FULL,
    MANY,
    UNBOUNDED,
    least_fixed_point,
    lower_start,
)
from rclrt_analysis.bounds.graph import analyse_graph
from rclrt_analysis.bounds.result import RefusedError
from rclrt_analysis.bounds.taskset import DEDICATED, Interference, Ints, Supply, TaskSet
from rclrt_analysis.bounds.unit import Arrivals, Unit

MAX_POINTS = 200_000


def response(
    tasks: TaskSet, releases: Interference | None = None, supply: Supply = DEDICATED
) -> Responses:
    """Return the bound that all tasks of a FIFO queue share [Bouillard18, horizontal deviation].

    A job released a after the queue was last empty waits for everything released in [0, a]:
    R = max_a W(a) - a with W(a) = sum_i (floor((a + J_i) / T_i) + 1) C_i, over the a within the
    busy window at which W grows. Releases of timers until its end prolong it. A job without work
    ends when its thread could begin with it.

    An upper bound for any release pattern that keeps to period and jitter; reached if a task can be
    released last among simultaneous releases. `UNBOUNDED` at full utilization, `MANY` beyond
    `MAX_POINTS` releases in the window.
    """
    n = len(tasks)
    none = Interference(np.ones(1, np.int64), np.zeros(1, np.int64), np.zeros((1, 1), np.int64))
    costs = none
    if releases is not None:
        costs = Interference(releases.period, releases.jitter, releases.cost[:1])
    all_work = Interference(tasks.period, tasks.jitter, tasks.wcet[None, :])
    share = all_work.utilization + costs.utilization
    nothing = np.zeros(n, dtype=np.int64)

    def lost(value: int) -> Responses:
        every = np.full(n, value, dtype=np.int64)
        return Responses(every, every, nothing, nothing, nothing)

    if share[0] >= FULL * supply.share:
        return lost(ENDLESS if np.any(tasks.period == OFTEN.period) else UNBOUNDED)
    first = np.maximum(lower_start(np.zeros(1, np.int64), share), max(1, int(tasks.wcet.sum())))
    window = int(
        least_fixed_point(lambda t, _: supply.time(all_work.before(t) + costs.before(t)), first)[0]
    )
    window = max(window, 1)  # Without any work it would be empty.
    count = -(-(window + tasks.jitter) // tasks.period)
    if window >= UNBOUNDED:
        return lost(window)
    if count.sum() > MAX_POINTS:
        return lost(MANY)
    steps = [
        k * np.arange(c) - j for k, c, j in zip(tasks.period, count, tasks.jitter, strict=True)
    ]
    arrivals = np.unique(np.maximum(np.concatenate(steps), 0)).astype(np.int64)
    arrivals = arrivals[arrivals < window]

    work = _work(tasks, arrivals)
    end = least_fixed_point(lambda f, at: supply.time(work[at] + _shared(costs, f)), work)
    if end.max() >= UNBOUNDED:
        return lost(int(end.max()))
    waits = end - arrivals
    worst = int(np.argmax(waits))
    value = np.full(n, waits[worst], dtype=np.int64)
    overhead = np.full(n, _shared(costs, end)[worst], dtype=np.int64)
    if not tasks.wcet.all():
        # The last in the queue may have no work: it waits for the first ns it could be given. What
        # is released at just that instant goes first.
        start = least_fixed_point(
            lambda f, at: supply.end(work[at] + _shared(costs, f + 1), 0), end
        )
        idle = tasks.wcet == 0
        value[idle] = np.max(start - arrivals)
        overhead[idle] = _shared(costs, start + 1)[int(np.argmax(start - arrivals))]
    return Responses(value, value + tasks.jitter, nothing, overhead, count.astype(np.int64))


def _work(tasks: TaskSet, at: Ints) -> Ints:
    """Return what is released in [0, at]; by blocks, to bound the memory."""
    spend(len(at) * len(tasks))
    blocks = np.array_split(at, max(1, len(at) * len(tasks) // 1_000_000))
    parts = [
        (((a[:, None] + tasks.jitter) // tasks.period + 1) * tasks.wcet).sum(axis=1) for a in blocks
    ]
    return np.concatenate(parts).astype(np.int64)


def _shared(costs: Interference, window: Ints) -> Ints:
    count = -(-(window[:, None] + costs.jitter) // costs.period)
    work: Ints = (count * costs.cost[0]).sum(axis=1)
    return work


def with_bursts(unit: Unit, arrivals: Arrivals, preemptive: bool = False) -> Unit:
    """Return the unit with what it does as a whole, `Unit.whole`; unchanged if nothing is known.

    preemptive: Jobs may stop each other.
    """
    if not is_covered(unit):
        return unit
    alike = replace(unit, urgency=dict.fromkeys(unit.names, 0), found={})
    try:
        found = analyse_graph(alike, arrivals, preemptive, lambda *_: 0, any_order=True)
    except RefusedError:
        return unit
    whole = {name: local for name, local in found.items() if local.response is not None}
    return replace(unit, whole=whole)


def is_covered(unit: Unit) -> bool:
    """Return whether callbacks of the unit release each other, and their messages take no time."""
    inside = any(unit.inside(topic) for c in unit.callbacks for topic in c.triggers)
    return inside and not unit.system.overheads.transport
