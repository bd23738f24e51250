# Copyright 2026 The rclrt Authors
# SPDX-License-Identifier: Apache-2.0
"""Bounds of the wait-set executor of one thread, from arrivals [Tang20, Blass21]; also reserved.

What ECRTS 2019 and RTSS 2021 prove for single callbacks. Not offered: the former's bound for whole
chains, which [Tang20] refutes.
"""

from dataclasses import replace

import numpy as np
from rclrt_analysis.bounds import fixed_priority
from rclrt_analysis.bounds.effort import spend
from rclrt_analysis.bounds.fixed_point import ENDLESS, FULL, UNBOUNDED, least_fixed_point
from rclrt_analysis.bounds.taskset import LIMIT, Bools, Ints, Supply, TaskSet
from rclrt_analysis.bounds.unit import Rows, Unit
from rclrt_analysis.model import Kind

MAX_NUMBERS = 500_000
"""`by_arrival` looks at so many releases of a busy window times pairs of callbacks, at most."""

MAX_CALLBACKS = 200
"""With more in one executor `starvation_free` is left out: it costs their square in each round."""


def responses(unit: Unit, rows: Rows, old: bool, windows: Ints, earlier: Bools) -> Ints:
    """Return the least bound of each callback of a unit in window order, shape (n,), ns.

    old: Timers are looked at before every pick (crystal and dashing), not at polling points.
    windows: Shape (n,): bounds that are known already.
    earlier: Shape (n, n): whether callback j may come before i in a window.
    """
    timer = np.array([c.kind is Kind.TIMER for c in unit.callbacks], dtype=np.bool_)
    unpolled = timer & old
    first = np.flatnonzero(np.diff(rows.owner, prepend=-1))
    found = by_arrivals(rows.tasks, unpolled[rows.owner], unit.supply)
    endless = np.maximum.reduceat(rows.tasks.period == 1, first)
    known = np.where(endless, ENDLESS, np.maximum.reduceat(found, first))
    known = np.minimum(known, windows)
    fair = starvation_free(rows, rows.tasks.wcet[first], unpolled, known, unit.supply, earlier)
    known = np.minimum(known, fair)
    return known if old else np.minimum(known, by_arrival(rows, known, unit.supply, earlier))


def by_arrivals(tasks: TaskSet, unpolled: Bools, supply: Supply) -> Ints:
    """Return the bounds of [Casini19 Lemmas 3 to 5] for every task, shape (n,), ns.

    A polled callback waits for all that comes while it does: sbf(A + R) >= rbf_i(A + 1) + sum_{j !=
    i} rbf_j(A + R - C_i + 1). A timer that is looked at before every pick waits for earlier timers
    alone, and for the longest of all others. Tasks are in window order.
    """
    n = len(tasks)
    priority = np.where(unpolled, np.arange(n, 0, -1), 0).astype(np.int64)
    return fixed_priority.nonpreemptive(replace(tasks, priority=priority), supply=supply).response


def starvation_free(
    rows: Rows,
    wcet: Ints,
    unpolled: Bools,
    known: Ints,
    supply: Supply,
    earlier: Bools | None = None,
) -> Ints:
    """Return the bounds of [Blass21 Theorem 2] for every callback, shape (n,), ns.

    While a callback waits, another one runs once for each of its polling points, once more if it
    comes earlier in the window, and never more often than it is released. With eta_i(R_i) polling
    points, S* = min{s: sbf(s) >= 1 + sum_j C_j min(eta_j(s + R_j - 1), eta_i(R_i) + [j < i]) +
    (eta_i(s + R_i - 1) - 1) C_i} is when it starts, and sbf^-1(sbf(S*) - 1 + C_i) when it ends.
    Callbacks that are not polled have no such limit.

    wcet, unpolled: Shape (n,), in window order.
    known: Shape (n,): R, any bounds; where there is none the result has none.
    earlier: Shape (n, n): whether j may come before i; in window order unless given.
    """
    tasks, owner = rows.tasks, rows.owner
    n = len(wcet)
    found = np.full(n, UNBOUNDED, dtype=np.int64)
    of = np.flatnonzero(known < UNBOUNDED)
    if n > MAX_CALLBACKS or not len(of) or np.any(unpolled & (known >= UNBOUNDED)):
        return found
    if earlier is None:
        earlier = np.tri(n, k=-1, dtype=np.bool_)
    first = np.flatnonzero(np.diff(owner, prepend=-1))
    late = np.minimum(known, LIMIT)

    def releases(window: Ints) -> Ints:
        """Return how often callbacks are released in windows of shape (rows, n)."""
        spend(len(window) * len(tasks))
        count = -(-(window[:, owner] + tasks.jitter) // tasks.period)
        return np.asarray(np.add.reduceat(count, first, axis=1))

    points = releases(np.broadcast_to(late, (1, n)))[0][of]
    most = points[:, None] + earlier[of]
    most[:, unpolled] = UNBOUNDED

    def waits(s: Ints, at: Ints) -> Ints:
        """Return the work that precedes a start at s."""
        count = np.minimum(releases(s[:, None] + late - 1), most[at])
        mine = np.arange(len(at)), of[at]
        again = s + late[of[at]] - 1
        own = releases(np.broadcast_to(again[:, None], (len(at), n)))[mine]
        count[mine] = np.maximum(own - 1, 0)
        return np.asarray((count * wcet).sum(axis=1))

    # What is no better than what is known is not looked for.
    start = least_fixed_point(
        lambda s, at: supply.time(waits(s, at) + 1), np.ones_like(of), known[of]
    )
    ended = start < UNBOUNDED
    end = supply.end(waits(np.where(ended, start, 1), np.arange(len(of))), wcet[of])
    found[of] = np.where(ended, end, UNBOUNDED)
    return found


def by_arrival(rows: Rows, known: Ints, supply: Supply, earlier: Bools) -> Ints:
    """Return bounds as of [Blass21 Theorem 3] for every callback, shape (n,), ns; all are polled.

    Let a job of i come A after the busy window began. Of another callback j all has run, at most,
    that had come by then; and after that one job in each window that serves a job of i which was
    there, in the last one only if j comes earlier. These are p = min(eta_i(R_i), eta_i(A + 1)) jobs
    at most. So it starts at the least S with sbf(S) >= 1 + (eta_i(A + 1) - 1) C_i +
    sum_{j != i} C_j min(eta_j(S + 1), eta_j(A + 1) + p - 1 + [j < i]). All A are looked at at which
    a job may come. `starvation_free` counts from the job's release, and this from the window's.
    """
    tasks, owner = rows.tasks, rows.owner
    first = np.flatnonzero(np.diff(owner, prepend=-1))
    wcet, n = tasks.wcet[first], len(first)
    found = np.full(n, UNBOUNDED, dtype=np.int64)
    if tasks.utilization >= FULL * supply.share:
        return found

    def all_work(t: Ints, _: Ints) -> Ints:
        return supply.time(
            (-(-(t[:, None] + tasks.jitter) // tasks.period) * tasks.wcet).sum(axis=1)
        )

    window = int(least_fixed_point(all_work, np.ones(1, dtype=np.int64))[0])
    count = (window + tasks.jitter) // tasks.period + 1
    if window >= UNBOUNDED or count.sum() * n * n > MAX_NUMBERS:
        return found
    steps = [
        k * np.arange(c) - j for k, c, j in zip(tasks.period, count, tasks.jitter, strict=True)
    ]
    at = np.unique(np.maximum(np.concatenate(steps), 0)).astype(np.int64)
    at = at[at < max(window, 1)]

    def releases(until: Ints) -> Ints:
        """Return how often callbacks are released until then, shape (rows, n)."""
        spend(len(until) * len(tasks))
        every = (until[:, None] + tasks.jitter) // tasks.period + 1
        return np.asarray(np.add.reduceat(every, first, axis=1))

    come = releases(at)
    late = np.minimum(known, LIMIT)

    def bound(i: int) -> int:
        mine = owner == i
        points = (-(-(late[i] + tasks.jitter[mine]) // tasks.period[mine])).sum()
        most = come + (np.minimum(points, come[:, i]) - 1)[:, None] + earlier[i]
        most[:, i] = come[:, i] - 1

        def before(s: Ints, of: Ints) -> Ints:
            return np.asarray((np.minimum(releases(s), most[of]) * wcet).sum(axis=1))

        def begin(s: Ints, of: Ints) -> Ints:
            return supply.time(before(s, of) + 1) - 1

        start = least_fixed_point(begin, np.zeros_like(at))
        ended = start < UNBOUNDED
        work = before(np.where(ended, start, 0), np.arange(len(at)))
        end = np.where(ended, supply.end(work, wcet[i]), UNBOUNDED + at)
        # What would start before it comes is in no busy window with these.
        return int((end - at)[start >= at].max())

    for i in np.flatnonzero(known < UNBOUNDED).tolist():
        found[i] = bound(i)
    return found
