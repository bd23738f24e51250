# Copyright 2026 The rclrt Authors
# SPDX-License-Identifier: Apache-2.0
"""Response times under non-preemptive fixed priority on one processor.

Two bounds. `theorem_1` is that of [Teper25 §VI-C]: quick, and loose where a low priority waits long.
`exact` examines every job of the busy window [Davis07] and is the default. The shortcut to examine
the first job only is unsound (10, 10, 10 every 25, 35, 35: it gives 30, the truth is 35) and absent.

Each costs O(g) per task and iteration, g being the number of different periods. Iterations are
bounded by `MAX_ITERATIONS`; what has no fixed point by then is `UNBOUNDED`.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass

import numpy as np
import numpy.typing as npt

from rclrt_analysis.bounds.taskset import (
    LIMIT,
    UNBOUNDED,
    Interference,
    Ints,
    TaskSet,
    higher_or_equal,
    largest_lower,
)

MAX_ITERATIONS = 20_000
FULL = 1.0 - 1e-12
"""Utilization from which on a window is not searched for: it would end only by luck."""


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


def least_fixed_point(
    step: Callable[[Ints, Ints], Ints], start: Ints, limit: Ints | int = LIMIT
) -> Ints:
    """Return the least x >= start with x = step(x, rows), for every row on its own.

    Parameters
    ----------
    step
        Non-decreasing; gets values of shape (r,) and the numbers of their rows, shape (r,).
    start
        Shape (n,); not above the least fixed point.
    limit
        A row whose value exceeds it becomes `UNBOUNDED`, as after `MAX_ITERATIONS`.
    """
    value = start.copy()
    limits = np.broadcast_to(np.asarray(limit, dtype=np.int64), value.shape)
    rows = np.flatnonzero(value <= limits)
    value[value > limits] = UNBOUNDED
    for _ in range(MAX_ITERATIONS):
        if not len(rows):
            return value
        now = value[rows]
        then = step(now, rows)
        over = then > limits[rows]
        value[rows] = np.where(over, UNBOUNDED, then)
        rows = rows[(then != now) & ~over]
    value[rows] = UNBOUNDED
    return value


def _at_least(fixed: Ints, share: npt.NDArray[np.float64]) -> Ints:
    """Return a start below the fixed point of x = fixed + interference, whose rate is `share`."""
    room = np.maximum(1.0 - share, 1e-9)
    # The factor outweighs the rounding of the sums.
    return np.maximum(fixed, (fixed / room * (1.0 - 1e-7)).astype(np.int64))


def theorem_1(tasks: TaskSet) -> Ints:
    """Return the bound of [Teper25 Theorem 1] for every task, shape (n,), ns.

    The least t with t >= C_k + max_{lp} C_i + sum_{hp} ceil(t / T_i) C_i, if t <= D_k.

    Needs deadlines not above periods, no jitter: with them t ends the busy window before the next
    job, so no later job can be worse. `UNBOUNDED` where no t <= D_k is found; that says nothing
    about the exact response time.

    Raises
    ------
    ValueError
        A deadline exceeds its period, or there is jitter.
    """
    if np.any(tasks.deadline > tasks.period) or np.any(tasks.jitter):
        raise ValueError("Theorem 1 needs deadlines up to the period and no jitter; use exact")
    higher = higher_or_equal(tasks, with_own=False)
    fixed = tasks.wcet + largest_lower(tasks)
    share = higher.utilization
    start = np.where(share < FULL, _at_least(fixed, share), UNBOUNDED)
    return least_fixed_point(
        lambda t, rows: fixed[rows] + higher.before(t, rows), start, tasks.deadline
    )


def exact(
    tasks: TaskSet,
    releases: Interference | None = None,
    prior: Ints | None = None,
    measured: Ints | None = None,
    section: Ints | None = None,
) -> Responses:
    """Return the response times of all jobs in the longest busy window [Davis07].

    Job q starts at w(q) = B_k + q C_k + sum_{hp} (floor((w + J_i) / T_i) + 1) C_i and ends C_k later;
    R_k is the worst over the q of the window L = B_k + sum_{hep} ceil((L + J_i) / T_i) C_i.

    Exact for sporadic tasks without jitter and with distinct priorities, and for periodic ones of
    unknown phase but for at most the smallest unit of time; otherwise an upper bound.

    Parameters
    ----------
    releases
        Costs that interfere with every task whatever its priority: the release of timers by a
        thread of higher priority. A task's own work is prolonged by them too.
    prior, measured
        Shape (n,), for a task that is a chain of callbacks with its priority [Buttazzo13]: own work
        before the callback looked at, and that callback's. `wcet` is that of the whole chain.
    section
        Shape (n,): the longest piece of a task that is not preempted; its `wcet` unless given.

    Notes
    -----
    A chain's bound holds only if it ends before the chain's next release: the caller checks.
    """
    n = len(tasks)
    prior = np.zeros(n, dtype=np.int64) if prior is None else prior
    measured = tasks.wcet if measured is None else measured
    none = Interference(np.ones(1, np.int64), np.zeros(1, np.int64), np.zeros((n, 1), np.int64))
    costs = releases or none
    higher, level = higher_or_equal(tasks, with_own=False), higher_or_equal(tasks, with_own=True)
    blocking = largest_lower(tasks, section)

    share = level.utilization + costs.utilization
    bounded = share < FULL
    # At least one release of everything of this level falls into it.
    least = np.maximum(_at_least(blocking, share), blocking + level.cost.sum(axis=1))
    start = np.where(bounded, np.maximum(least, 1), UNBOUNDED)
    window = least_fixed_point(
        lambda t, rows: blocking[rows] + level.before(t, rows) + costs.before(t, rows), start
    )
    bounded = window < UNBOUNDED
    jobs = np.where(bounded, -(-(window + tasks.jitter) // tasks.period), 0)

    result = np.where(bounded, 0, UNBOUNDED)
    from_grid = result.copy()
    overhead = np.zeros(n, dtype=np.int64)
    higher_share = higher.utilization + costs.utilization
    rows = np.flatnonzero(bounded)
    begin = np.zeros(n, dtype=np.int64)
    q = 0
    while len(rows):
        if q >= MAX_ITERATIONS:
            result[rows] = from_grid[rows] = UNBOUNDED
            break
        fixed = blocking[rows] + q * tasks.wcet[rows] + prior[rows]
        first = np.maximum(_at_least(fixed, higher_share[rows]), begin[rows])
        begin[rows] = least_fixed_point(
            lambda w, at, fixed=fixed, rows=rows: (  # type: ignore[misc]
                fixed[at] + higher.until(w, rows[at]) + costs.until(w, rows[at])
            ),
            first,
        )
        end = begin[rows] + measured[rows]
        if releases is not None:
            # Of the releases in [0, end), those up to the start are in `begin` already.
            known = begin[rows] - costs.until(begin[rows], rows) + measured[rows]
            end = least_fixed_point(
                lambda f, at, known=known, rows=rows: known[at] + costs.before(f, rows[at]),  # type: ignore[misc]
                end,
            )
        grid = end - q * tasks.period[rows]
        actual = end - np.maximum(q * tasks.period[rows] - tasks.jitter[rows], 0)
        from_grid[rows] = np.maximum(from_grid[rows], grid + tasks.jitter[rows])
        worse = actual > result[rows]
        result[rows] = np.maximum(result[rows], actual)
        overhead[rows] = np.where(worse, costs.before(end, rows), overhead[rows])
        lost = begin[rows] >= UNBOUNDED
        result[rows[lost]] = from_grid[rows[lost]] = UNBOUNDED
        q += 1
        rows = rows[(jobs[rows] > q) & ~lost]
    return Responses(result, from_grid, blocking, overhead, jobs)
