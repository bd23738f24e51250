# Copyright 2026 The rclrt Authors
# SPDX-License-Identifier: Apache-2.0
"""Global preemptive EDF on several cores: three tests, then responses [Bertogna07]; or lateness.

All deadlines are met if one of the tests says so: by density [Goossens03], [Bertogna05], by the
demand until a deadline [Baruah07], or by responses that are shown without it. Each is sufficient,
and none covers another. Then responses are looked for again, from deadlines down. If none says so,
jobs end late by no more than `lateness` [Devi08], [Erickson10].
"""

from collections.abc import Sequence
from dataclasses import dataclass
from heapq import nlargest

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

MAX_STEPS = 1000
"""No longer is a lateness searched for, and none above so many periods."""

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


@dataclass(frozen=True)
class Late:
    """A callback under global EDF whose deadline may be missed; times in ns.

    deadline: Since its grid, or since its release if `is_message`; None: that of `parent`'s job.
    start: How long after its grid a job may start at the latest; with a `parent`: after that ends.
    wait: How long after its release that is.
    parent: Position of the callback that releases it, which comes before it.
    """

    wcet: int
    period: int
    deadline: int | None
    start: int = 0
    wait: int = 0
    parent: int | None = None
    is_message: bool = False


def lateness(callbacks: Sequence[Late], cores: int) -> list[int] | None:
    """Return how long after the grid jobs end at most [Devi08], [Erickson10]; None: not known.

    Times of a job count from the last instant at which it may start. It is due at `first` to `last`
    from there. Let S_i = U_i max(0, T_i - first_i), and s, x_i the least with

        s = sum_i S_i + (the m - 1 largest of max(0, U_j (x_j + max(0, last_j))))
        x_i = (s - C_i) / m

    Then each job ends x_i + C_i after max(0, last_i) at the latest, and no x_i is below 0, since s
    is at least S_i + U_i (x_i + last_i). For let job k be the first that does not, by
    deadlines, y its deadline, and H all jobs that are due by then. Beside the cores let each job
    run at the speed U_i, for a period. Where a core has nothing of H to do, at most m - 1 callbacks
    have, and such a j is behind that by U_j (x_j + max(0, last_j)): its oldest job ends in time.
    From the last such instant before y all cores work on H, which the other schedule does no
    faster, and it has S of it left at y. So from y on the cores have s to do. If all of H has come
    by y, and once a core has nothing to do, nothing waits any more but for its predecessor, which
    is a period earlier. So k waits for at most (s - C_k) / m.

    If some of H comes later (`waits` below), k waits as long for others, and for what is left at y
    of its own callback. That is C_k + U_k w at most, w = x_k + max(0, last_k) - first_k, since its
    oldest job ends in time. So x_k = (s - C_k) / m + (1 - 1/m) U_k w.
    """
    share = [one.wcet / one.period for one in callbacks]
    if sum(share) > cores - MARGIN or max(share, default=0) > 1:
        return None
    waits = any(
        one.deadline is None or one.deadline < (one.wait if one.is_message else one.start)
        for one in callbacks
    )
    others = 1 - 1 / cores

    def work(known: float) -> tuple[float, list[float]]:
        spend(10 * len(callbacks))
        ends: list[float] = []
        due: list[tuple[float, float]] = []  # at the earliest and at the latest, from the grid
        left, behind = 0.0, []
        for one, u in zip(callbacks, share, strict=True):
            start = one.start + (0.0 if one.parent is None else ends[one.parent])
            if one.deadline is None:
                due.append(due[one.parent or 0])
            else:
                due.append((one.deadline, one.deadline + start * one.is_message))
            first, last = due[-1][0] - start, max(0.0, due[-1][1] - start)
            x = (known - one.wcet) / cores
            if waits:
                x = (x + others * u * (last - first)) / (1 - others * u)
            ends.append(start + last + x + one.wcet)
            left += u * max(0.0, one.period - first)
            behind.append(max(0.0, u * (x + last)))
        return left + sum(nlargest(cores - 1, behind)), ends

    known = 0.0
    for _ in range(MAX_STEPS):
        more, ends = work(known)
        if more <= known:
            return [int(end) + 2 for end in ends]
        # A little more than that holds as well, and ends the search.
        known = more + 1e-6 * more + cores
        if known > MAX_STEPS * max(one.period for one in callbacks):
            break
    return None
