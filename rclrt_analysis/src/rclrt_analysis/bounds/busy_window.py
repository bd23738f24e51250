# Copyright 2026 The rclrt Authors
# SPDX-License-Identifier: Apache-2.0
"""Responses of all jobs in the longest busy window on one processor, preemptive or not.

The window begins when the last work of at least this urgency is done and new work comes. Within it
only such work runs, but for what of less urgency had begun. See `Demand` for what is added up, and
`nonpreemptive_fp` and `preemptive_fp` for the classical tests that this is made into.
"""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np

from rclrt_analysis.bounds.fixed_point import FULL, least_fixed_point, lower_start
from rclrt_analysis.bounds.taskset import UNBOUNDED, Bools, Interference, Ints

MAX_JOBS = 5_000
"""Jobs of one task that are examined at most; a window with more counts as unbounded."""


@dataclass(frozen=True)
class Demand:
    """What is released within a window, for each row; arrays of shape (n,), ns.

    Attributes
    ----------
    period, jitter
        Of the release that starts the row's job.
    own
        Work of one such release, with all that it sets off at this urgency or higher.
    last
        The part of `own` that precedes the end of the section looked at, in the job looked at.
    measured
        The section looked at, which ends the job: it cannot be preempted if `preemptive` is False.
    blocking
        Work of less urgency that may have begun, and anything else that comes once per window.
    higher
        Work of others of the same or higher urgency.
    exclusive
        Rows that hold only if a job ends before the next one of the same origin is released,
        because a later one might otherwise overtake.
    """

    period: Ints
    jitter: Ints
    own: Ints
    last: Ints
    measured: Ints
    blocking: Ints
    higher: Interference
    exclusive: Bools


@dataclass(frozen=True)
class Responses:
    """Bounds and their parts; every array has shape (n,), ns; `UNBOUNDED` where there is none.

    Attributes
    ----------
    response
        From the actual release to the end.
    from_grid
        From the grid to the end: the release jitter counts.
    blocking
        By work of lower priority that had begun.
    overhead
        Releases of timers within the window.
    jobs
        How many jobs of the task the busy window holds.
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

    Parameters
    ----------
    releases
        Costs that interfere with every row whatever its urgency: the release of timers by a thread
        of higher priority. They prolong the section looked at, too.
    """
    n = len(demand.own)
    costs = releases or no_interference(n)
    window = _window(demand, costs)
    bounded = window < UNBOUNDED
    jobs = np.where(bounded, -(-(window + demand.jitter) // demand.period), 0)
    bounded &= jobs <= MAX_JOBS

    result = np.where(bounded, 0, UNBOUNDED)
    from_grid = result.copy()
    overhead = np.zeros(n, dtype=np.int64)
    overlaps = np.zeros(n, dtype=np.bool_)
    end = np.zeros(n, dtype=np.int64)
    rows = np.flatnonzero(bounded)
    for q in range(MAX_JOBS):
        rows = rows[(jobs[rows] > q) & (end[rows] < UNBOUNDED)]
        if not len(rows):
            break
        fixed = demand.blocking[rows] + q * demand.own[rows] + demand.last[rows]
        solve = _preemptive_end if preemptive else _nonpreemptive_end
        end[rows] = solve(demand, costs, rows, fixed, end[rows])
        grid = q * demand.period[rows]
        actual = end[rows] - np.maximum(grid - demand.jitter[rows], 0)
        worse = actual > result[rows]
        overhead[rows] = np.where(worse, costs.before(end[rows], rows), overhead[rows])
        result[rows] = np.maximum(result[rows], actual)
        from_grid[rows] = np.maximum(from_grid[rows], end[rows] - grid + demand.jitter[rows])
        overlaps[rows] |= end[rows] > grid + demand.period[rows] - demand.jitter[rows]
    lost = ~bounded | (end >= UNBOUNDED)
    # What may overtake itself ends with the window at the latest.
    late = overlaps & demand.exclusive & ~lost
    result[late] = window[late]
    from_grid[late] = window[late] + demand.jitter[late]
    result[lost] = from_grid[lost] = UNBOUNDED
    return Responses(result, from_grid, demand.blocking, overhead, jobs)


def _window(demand: Demand, costs: Interference) -> Ints:
    """Return the length of the longest busy window: L = B + all that is released in [0, L)."""
    share = demand.higher.utilization + costs.utilization + demand.own / demand.period
    once = demand.blocking + demand.higher.cost.sum(axis=1) + demand.own
    start = np.maximum(np.maximum(lower_start(demand.blocking, share), once), 1)

    def step(t: Ints, at: Ints) -> Ints:
        count = -(-(t + demand.jitter[at]) // demand.period[at])
        work: Ints = demand.blocking[at] + count * demand.own[at]
        return work + demand.higher.before(t, at) + costs.before(t, at)

    return least_fixed_point(step, np.where(share < FULL, start, UNBOUNDED))


def _nonpreemptive_end(
    demand: Demand, costs: Interference, rows: Ints, fixed: Ints, previous: Ints
) -> Ints:
    """Return when the sections end: each begins at w = all that comes before it until w."""
    measured = demand.measured[rows]
    before = fixed - measured
    share = demand.higher.utilization[rows] + costs.utilization[rows]

    def start(w: Ints, at: Ints) -> Ints:
        work: Ints = before[at] + demand.higher.until(w, rows[at]) + costs.until(w, rows[at])
        return work

    begin = least_fixed_point(start, lower_start(before, share))
    lost = begin >= UNBOUNDED
    begin = np.where(lost, 0, begin)
    # Of the releases in [0, end), those up to the start have been counted.
    known = begin + measured - costs.until(begin, rows)

    def finish(end: Ints, at: Ints) -> Ints:
        work: Ints = known[at] + costs.before(end, rows[at])
        return work

    return np.where(lost, UNBOUNDED, least_fixed_point(finish, begin + measured))


def _preemptive_end(
    demand: Demand, costs: Interference, rows: Ints, fixed: Ints, previous: Ints
) -> Ints:
    """Return the least w with w = own and blocking + what is released in [0, w)."""
    share = demand.higher.utilization[rows] + costs.utilization[rows]

    def step(w: Ints, at: Ints) -> Ints:
        work: Ints = fixed[at] + demand.higher.before(w, rows[at]) + costs.before(w, rows[at])
        return work

    # From 1 ns on: what is released together with a job goes before it, however short that is.
    first = np.maximum(np.maximum(lower_start(fixed, share), previous), 1)
    return least_fixed_point(step, first)
