# Copyright 2026 The rclrt Authors
# SPDX-License-Identifier: Apache-2.0
"""Global preemptive EDF on several cores: three tests, then responses [Bertogna07].

All deadlines are met if one of the tests says so: by density [Goossens03], [Bertogna05], by the
demand until a deadline [Baruah07], or by responses that are shown without it. Each is sufficient,
and none covers another. Then responses are looked for again, from deadlines down.
"""

import numpy as np
from rclrt_analysis.bounds.effort import spend
from rclrt_analysis.bounds.fixed_point import UNBOUNDED, least_fixed_point
from rclrt_analysis.bounds.taskset import Ints, TaskSet

MARGIN = 1e-9
"""Outweighs rounding where utilizations are added."""

MAX_NUMBERS = 20_000_000
"""Responses make each other shorter as long as about so many numbers suffice."""

MAX_POINTS = 400_000
"""A deadline's demand is looked at if it takes so many instants times pairs of tasks at most."""

BLOCK = 1 << 20
"""Numbers in one array at most."""


def response(tasks: TaskSet, cores: int) -> Ints | None:
    """Return a bound of each response from the actual release, ns; None: a deadline may be missed.

    Deadlines count from the grid, and do not exceed periods.
    """
    limit = tasks.deadline - tasks.jitter
    if np.any(limit < tasks.wcet):
        return None
    late = bool(tasks.jitter.any())
    met = not late and is_sparse(tasks, cores)
    found = limit.copy()
    for _ in range(max(2, MAX_NUMBERS // (10 * len(tasks) ** 2))):
        shorter = np.minimum(found, _responses(tasks, cores, found))
        # All that a test found holds from the first to the last deadline that is met; if each ends
        # in time by that, none is the first to miss.
        met = met or bool(np.all(_responses(tasks, cores, shorter) <= limit))
        if np.array_equal(shorter, found):
            break
        found = shorter
    return found if met or (not late and is_met_by_demand(tasks, cores)) else None


def _responses(tasks: TaskSet, cores: int, known: Ints) -> Ints:
    """Return r = C_k + floor(sum_i min(W_i(r), E_i, r - C_k + 1) / m) of each; UNBOUNDED if late.

    Until a deadline is missed nothing exceeds `known`. So in a window of length r task i does
    W_i = N C_i + min(C_i, x - N T_i) at most, with x = r + J_i + R_i - C_i and N = floor(x / T_i).
    Only its jobs that are due by then precede: with the last of them due together with k these do
    E_i = floor(D_k / T_i) C_i + min(C_i, max(0, D_k mod T_i - (D_i - J_i - R_i))).
    """
    n = len(tasks)
    blocks = np.array_split(np.arange(n), n * n // BLOCK + 1)
    return np.concatenate([_of_some(tasks, cores, known, rows) for rows in blocks])


def _of_some(tasks: TaskSet, cores: int, known: Ints, rows: Ints) -> Ints:
    slack = tasks.deadline - tasks.jitter - known
    whole, rest = np.divmod(tasks.deadline[rows, None], tasks.period)
    due = whole * tasks.wcet + np.minimum(tasks.wcet, np.maximum(0, rest - slack))
    due[np.arange(len(rows)), rows] = 0
    # Without work it waits for a core like any other.
    least = np.maximum(tasks.wcet[rows], 1)
    late = tasks.jitter + known - tasks.wcet

    def longer(length: Ints, at: Ints) -> Ints:
        spend(2 * len(at) * len(tasks))
        jobs, more = np.divmod(length[:, None] + late, tasks.period)
        work = jobs * tasks.wcet + np.minimum(tasks.wcet, more)
        each = np.minimum(np.minimum(work, due[at]), (length - least[at] + 1)[:, None])
        return np.asarray(least[at] + each.sum(axis=1) // cores)

    more = least - tasks.wcet[rows]
    length = least_fixed_point(longer, least, (tasks.deadline - tasks.jitter)[rows] + more)
    return np.where(length >= UNBOUNDED, UNBOUNDED, length - more)


def is_sparse(tasks: TaskSet, cores: int) -> bool:
    """Return whether sum d_i <= m - (m - 1) max d_i, d_i = C_i / min(D_i, T_i)."""
    if np.any(tasks.jitter):
        raise ValueError("the density test knows no jitter")
    dense = tasks.wcet / np.minimum(tasks.deadline, tasks.period)
    return bool(dense.sum() <= cores - (cores - 1) * dense.max(initial=0) - MARGIN)


def is_met_by_demand(tasks: TaskSet, cores: int) -> bool:
    """Return whether the work until a deadline fits onto the cores, for all deadlines [Baruah07].

    Let job k be the first to miss, and A before it comes the last instant at which a core had
    nothing to do that is due by then. At most m - 1 tasks carry a job over that instant. Job k
    misses if others keep all cores for y = A + D_k - C_k + 1. So a miss needs sum_i I_i >= m y for
    an A >= 0, where I_i, with t = A + D_k, is the least of y and dbf_i(t), or for m - 1 tasks
    floor(t / T_i) C_i + min(C_i, t mod T_i). Of k itself it is C_k less, and A at most. Between
    instants at which these change their growth, and those at which one of them reaches y, both
    sides are straight lines, or the left one is the largest of several: so the ends of such
    stretches are looked at.
    """
    room = cores - tasks.utilization
    if np.any(tasks.jitter):
        raise ValueError("the demand test knows no jitter")
    if room < MARGIN:
        return False
    largest = np.sort(tasks.wcet)[::-1][: cores - 1].sum()
    late = float(((tasks.period - tasks.deadline) * tasks.wcet / tasks.period).sum())
    for k in range(len(tasks)):
        most = (largest + late + cores * int(tasks.wcet[k])) / room
        if not _fits(tasks, cores, k, int(most) + 1):
            return False
    return True


def _fits(tasks: TaskSet, cores: int, k: int, end: int) -> bool:
    """Return whether no t = A + D_k up to `end` shows that job k may be late."""
    own, deadline = int(tasks.wcet[k]), int(tasks.deadline[k])
    if end <= deadline:
        return True
    first = np.concatenate([tasks.deadline, np.zeros(len(tasks), np.int64), tasks.wcet])
    every = np.tile(tasks.period, 3)
    count = np.maximum(0, (end - first) // every + 1)
    if int(count.sum()) * len(tasks) ** 2 > MAX_POINTS:
        return False
    bends = [f + p * np.arange(c) for f, p, c in zip(first, every, count, strict=True)]
    since = np.unique(np.concatenate([*bends, np.array([deadline, end])]))
    since = since[(since >= deadline) & (since <= end)].astype(np.int64)
    until = np.append(since[1:], since[-1:])
    less = np.where(np.arange(len(tasks)) == k, own, 0)
    cap = np.where(np.arange(len(tasks)) == k, deadline, own - 1)
    whole, rest = np.divmod(since[:, None], tasks.period)
    rises = rest < tasks.wcet
    alone = np.maximum(0, (since[:, None] - tasks.deadline) // tasks.period + 1) * tasks.wcet - less
    carrying = whole * tasks.wcet + np.minimum(tasks.wcet, rest) - less
    spend(20 * alone.size)

    def exceeds(row: Ints, t: Ints) -> bool:
        most = t[:, None] - cap
        sure = np.minimum(alone[row], most)
        grown = carrying[row] + rises[row] * (t - since[row])[:, None]
        more = np.sort(np.maximum(np.minimum(grown, most) - sure, 0), axis=1)
        work = sure.sum(axis=1) + more[:, len(tasks) - min(cores - 1, len(tasks)) :].sum(axis=1)
        return bool(np.any(work >= cores * (t - own + 1)))

    rows = np.arange(len(since))
    if exceeds(rows, since) or exceeds(rows, until):
        return False
    for work in (alone, carrying):
        meets = work + cap
        row, column = np.nonzero((meets > since[:, None]) & (meets < until[:, None]))
        if exceeds(row, meets[row, column]):
            return False
    return True
