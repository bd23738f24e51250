# Copyright 2026 The rclrt Authors
# SPDX-License-Identifier: Apache-2.0
"""Responses of all jobs in the longest busy window on one processor, preemptive or not.

The window begins when the last work of at least this urgency is done and new work comes. Within it
only such work runs, but for what of less urgency had begun. See `Demand` for what is added up, and
`fixed_priority` for the classical tests that this is made into.
"""

from dataclasses import dataclass, replace

import numpy as np
import numpy.typing as npt
from rclrt_analysis.bounds.activation import ENDLESS as OFTEN
from rclrt_analysis.bounds.fixed_point import (
    ENDLESS,
    FULL,
    UNBOUNDED,
    least_fixed_point,
    lower_start,
)
from rclrt_analysis.bounds.taskset import DEDICATED, Bools, Interference, Ints, Supply

BUDGET = 1 << 26
"""Jobs times groups that are examined at most, tasks with few jobs first. The response of others is
taken to be the whole window: no less sound, not as tight."""

BLOCK = 1 << 20
"""Numbers in one array at most."""

Floats = npt.NDArray[np.float64]


@dataclass(frozen=True)
class Demand:
    """What is released within a window, for each row; arrays of shape (n,), ns.

    period, jitter: Of the release that starts the row's job.
    own: Work of one such release, with all that it sets off at this urgency or higher.
    last: The part of `own` that precedes the end of the section looked at, in the job looked at.
    measured: The section looked at, which ends the job: it cannot be preempted if `preemptive` is
        False.
    blocking: Work of less urgency that may have begun, and anything else that comes once per
        window.
    higher: Work of others of the same or higher urgency.
    exclusive: Rows that hold only if a job ends before the next one of the same origin is released,
        because a later one might otherwise overtake.
    supply: Of the thread.
    """

    period: Ints
    jitter: Ints
    own: Ints
    last: Ints
    measured: Ints
    blocking: Ints
    higher: Interference
    exclusive: Bools
    supply: Supply = DEDICATED


@dataclass(frozen=True)
class Responses:
    """Bounds and their parts; every array has shape (n,), ns; `UNBOUNDED` or above: none.

    response: From the actual release to the end.
    from_grid: From the grid to the end: the release jitter counts.
    blocking: By work of lower priority that had begun.
    overhead: Releases of timers within the window.
    jobs: How many jobs of the task the busy window holds.
    """

    response: Ints
    from_grid: Ints
    blocking: Ints
    overhead: Ints
    jobs: Ints


def no_interference(n: int) -> Interference:
    """Return nothing, for n rows."""
    return Interference(np.ones(1, np.int64), np.zeros(1, np.int64), np.zeros((n, 1), np.int64))


def responses(demand: Demand, preemptive: bool, releases: Interference | None = None) -> Responses:
    """Return the worst response of every row over the jobs of its busy window.

    releases: Costs that interfere with every row whatever its urgency: the release of timers by a
        thread of higher priority. They prolong the section looked at, too.
    """
    n = len(demand.own)
    costs = releases or no_interference(n)
    # A section without work begins after all that comes until then, the last instant included. As
    # one of 1 ns it is in the window, and may be overtaken, as it should.
    idle = demand.measured == 0
    blocking = demand.blocking
    demand = replace(demand, blocking=blocking + idle, measured=demand.measured + idle)
    window = _window(demand, costs)
    bounded = window < UNBOUNDED
    # One at least: a job without work leaves no window.
    count = np.maximum(1, -(-(window + demand.jitter) // demand.period))
    jobs = np.where(bounded, count, 0)
    # No job of a window ends after it. What is examined below gets its own value.
    result = window - (bounded & idle)
    from_grid = np.where(bounded, result + demand.jitter, window)
    overhead = costs.before(np.where(bounded, window, 0))
    kept = _affordable(jobs, len(demand.higher.period))
    if not len(kept):
        return Responses(result, from_grid, blocking, overhead, jobs)

    # One entry per row and job: of row k the q = 0, 1, ... jobs[k] - 1.
    rows = np.repeat(kept, jobs[kept])
    first = np.cumsum(jobs[kept]) - jobs[kept]
    q = np.arange(len(rows)) - np.repeat(first, jobs[kept])
    end = _ends(demand, costs, rows, q, preemptive)
    grid = q * demand.period[rows]
    overlaps = end > grid + demand.period[rows] - demand.jitter[rows]
    end -= idle[rows] & (end < UNBOUNDED)
    actual = end - np.maximum(grid - demand.jitter[rows], 0)

    result[kept] = np.maximum.reduceat(actual, first)
    from_grid[kept] = np.maximum.reduceat(end - grid, first) + demand.jitter[kept]
    worst = np.maximum.reduceat(np.where(actual == result[rows], end, 0), first)
    last = np.maximum.reduceat(end, first)
    lost = last >= UNBOUNDED
    overhead[kept] = costs.before(np.where(lost, 0, worst), kept)
    # What may overtake itself ends with the window at the latest.
    late = kept[np.logical_or.reduceat(overlaps, first) & demand.exclusive[kept]]
    result[late] = window[late] - idle[late]
    from_grid[late] = result[late] + demand.jitter[late]
    result[kept[lost]] = from_grid[kept[lost]] = last[lost]
    return Responses(result, from_grid, blocking, overhead, jobs)


def _affordable(jobs: Ints, groups: int) -> Ints:
    """Return the rows that have jobs, and whose jobs are within the budget together."""
    order = np.argsort(jobs, kind="stable")
    within = np.cumsum(jobs[order] * groups) <= BUDGET
    return np.sort(order[within & (jobs[order] > 0)])


def _ends(demand: Demand, costs: Interference, rows: Ints, q: Ints, preemptive: bool) -> Ints:
    """Return when the section of job q of each row ends, by blocks that bound the memory."""
    solve = _preemptive_end if preemptive else _nonpreemptive_end
    share = demand.higher.utilization + costs.utilization
    block = max(1, BLOCK // len(demand.higher.period))
    ends = []
    for at in range(0, len(rows), block):
        mine, jobs = rows[at : at + block], q[at : at + block]
        fixed = demand.blocking[mine] + jobs * demand.own[mine] + demand.last[mine]
        ends.append(solve(demand, costs, mine, fixed, share[mine]))
    return np.concatenate(ends)


def _window(demand: Demand, costs: Interference) -> Ints:
    """Return the length of the longest busy window: L = B + all that is released in [0, L)."""
    share = demand.higher.utilization + costs.utilization + demand.own / demand.period
    once = demand.blocking + demand.higher.cost.sum(axis=1) + demand.own
    start = np.maximum(np.maximum(lower_start(demand.blocking, share), once), 1)

    def step(t: Ints, at: Ints) -> Ints:
        count = -(-(t + demand.jitter[at]) // demand.period[at])
        work: Ints = demand.blocking[at] + count * demand.own[at]
        return demand.supply.time(work + demand.higher.before(t, at) + costs.before(t, at))

    # What comes without end has no bound; without work it would fill a window with jobs of none.
    start = np.where(share < FULL * demand.supply.share, start, UNBOUNDED)
    often = (demand.higher.period == OFTEN.period) & (demand.higher.cost > 0)
    start[(demand.period == OFTEN.period) | ((start >= UNBOUNDED) & often.any(axis=1))] = ENDLESS
    return least_fixed_point(step, start)


def _nonpreemptive_end(
    demand: Demand, costs: Interference, rows: Ints, fixed: Ints, share: Floats
) -> Ints:
    """Return when the sections end: each begins at w = all that comes before it until w.

    It begins once it is given its first ns, so what is released while there is no supply precedes.
    """
    supply = demand.supply
    measured = demand.measured[rows]
    before = fixed - measured

    def start(w: Ints, at: Ints) -> Ints:
        work: Ints = before[at] + demand.higher.until(w, rows[at]) + costs.until(w, rows[at])
        return supply.time(work + 1) - 1

    begin = least_fixed_point(start, lower_start(before, share))
    lost, given_up = begin >= UNBOUNDED, begin
    begin = np.where(lost, 0, begin)
    known = before + demand.higher.until(begin, rows) + measured

    def finish(end: Ints, at: Ints) -> Ints:
        work: Ints = known[at] + costs.before(end, rows[at])
        return np.maximum(supply.time(work), begin[at])

    return np.where(lost, given_up, least_fixed_point(finish, begin + measured))


def _preemptive_end(
    demand: Demand, costs: Interference, rows: Ints, fixed: Ints, share: Floats
) -> Ints:
    """Return the least w with w = own and blocking + what is released in [0, w)."""

    def step(w: Ints, at: Ints) -> Ints:
        work: Ints = fixed[at] + demand.higher.before(w, rows[at]) + costs.before(w, rows[at])
        return demand.supply.time(work)

    # From 1 ns on: what is released together with a job goes before it, however short that is.
    return least_fixed_point(step, np.maximum(lower_start(fixed, share), 1))
