# Copyright 2026 The rclrt Authors
# SPDX-License-Identifier: Apache-2.0
"""Global preemptive EDF on several cores: responses by deadlines [Bertogna07], [Guan09]; lateness.

All deadlines of timers are met if one of the tests says so: by density [Goossens03], [Bertogna05],
by the demand until a deadline [Baruah07], or by responses that are shown without it. Each is
sufficient, and none covers another. Then responses are looked for again, from deadlines down. If
none says so, responses are looked for from below. Where that does not end, jobs end late by no more
than `lateness` [Devi08], [Erickson10].
"""

from dataclasses import dataclass
from functools import cached_property
from typing import Any

import numpy as np
import numpy.typing as npt
from rclrt_analysis.bounds.effort import spend
from rclrt_analysis.bounds.fixed_point import UNBOUNDED, least_fixed_point
from rclrt_analysis.bounds.nonpreemptive_edf import NO_DEADLINE
from rclrt_analysis.bounds.taskset import LIMIT, Bools, Ints, TaskSet

MARGIN = 1e-9
"""Outweighs rounding where utilizations are added."""

MAX_NUMBERS = 20_000_000
"""Responses make each other shorter as long as about so many numbers suffice."""

MAX_POINTS = 400_000
"""A deadline's demand is looked at if it takes so many instants times pairs of tasks at most."""

MAX_STEPS = 1000
"""No longer is a lateness searched for, and none above so many periods."""

MAX_WINDOW = 4
"""A window of more than so many of the longest period is not looked at."""

BLOCK = 1 << 20
"""Numbers in one array at most."""


@dataclass(frozen=True)
class Streams:
    """How callbacks are released: a row for each stream, those of one callback together; ns.

    period, jitter: Released from its grid on, `jitter` later at most; the grid is a period apart.
    due: From the grid: never sooner, nor is what waits behind it in its callback.
    latest: From the release: never later. What waits before it is not due later than that.
    last: From `jitter` after the grid: never later.
    first: The first row of each callback.
    turns: Of each callback: whether a job may become due sooner while it waits: a later one of its
        callback lends its deadline, or others are known when it begins.
    """

    wcet: Ints
    period: Ints
    jitter: Ints
    due: Ints
    latest: Ints
    last: Ints
    first: Ints
    turns: Bools

    @cached_property
    def owner(self) -> Ints:
        """The callback of each row."""
        counts = np.diff(np.append(self.first, len(self.wcet)))
        return np.repeat(np.arange(len(self.first)), counts)

    def of_each(self, rows: npt.NDArray[Any]) -> npt.NDArray[Any]:
        """Return sums over the streams of each callback."""
        return np.asarray(np.add.reduceat(rows, self.first, axis=-1))


def of_timers(tasks: TaskSet) -> Streams:
    """Return timers, each a stream of its own."""
    due, each = tasks.deadline, np.arange(len(tasks))
    last, turns = due - tasks.jitter, np.zeros(len(tasks), np.bool_)
    return Streams(tasks.wcet, tasks.period, tasks.jitter, due, due, last, each, turns)


def response(tasks: TaskSet, cores: int) -> Ints | None:
    """Return a bound of each response from the actual release, ns; None: a deadline may be missed.

    Deadlines count from the grid, and do not exceed periods.
    """
    limit = tasks.deadline - tasks.jitter
    if np.any(limit < tasks.wcet):
        return None
    of, met = of_timers(tasks), is_sparse(tasks, cores)
    found = limit.copy()
    for _ in range(max(2, MAX_NUMBERS // (10 * len(tasks) ** 2))):
        shorter = np.minimum(found, by_deadlines(of, found, cores, limit))
        # All that a test found holds from the first to the last deadline that is met; if each ends
        # in time by that, none is the first to miss.
        met = met or bool(np.all(by_deadlines(of, shorter, cores, limit) <= limit))
        if np.array_equal(shorter, found):
            break
        found = shorter
    return found if met or is_met_by_demand(tasks, cores) else None


def by_deadlines(of: Streams, known: Ints, cores: int, limit: Ints) -> Ints:
    """Return how long after its release a job of each callback ends, ns; UNBOUNDED above `limit`.

    `known` are such times, UNBOUNDED where there is none. They hold if none of what is returned is
    longer: what would be the first job to end later has only jobs before it that do not.

    Let a job of callback k be released at 0 and due by y = latest, and -A the last instant until
    then at which k had no job, and at most m - 1 others had one that is due by y. From there on k
    runs, or m others do that are due by y. So it has ended after the least window

        x = own + floor(sum_i I_i / m),  I_i = min(W_i(x), E_i, x - own + 1),

    own = C_k times the jobs of k that may come in [-A, 0]. A job of i that is released after its
    grid g, and ends by g + J_i + R_i, does W_i of work in x: with z = x + J_i + R_i - C_i it is
    floor(z / T_i) C_i + min(C_i, z mod T_i). It counts if g + due_i <= y: E_i is the sum of
    min(C_i, z - q T_i) over the q >= 0 at which that is positive, z = A + y - due_i + J_i + R_i.
    Only m - 1 callbacks have work at -A: of the others no job is released before, so z = x + J_i,
    and E_i is C_i times floor((A + y - due_i + J_i) / T_i) + 1 [Guan09]. But those that become due
    sooner as they wait (`turns`) may all have work then, besides these. The response is the largest
    x - A [Spuri96], [Sun15]. Between two A at which own, E_i or the growth of E_i changes, it is at
    most that at the first with E_i at the last.

    A window that begins with the release, in which all have work before, is as good: own is then
    C_k and what is left of k, min(C_k, J_k + R_k - q T_k) for q > 0.
    """
    blocks = np.array_split(np.arange(len(of.wcet)), len(of.wcet) ** 2 // BLOCK + 1)
    found = np.concatenate([_Windows(of, known, cores).responses(rows, limit) for rows in blocks])
    return np.asarray(np.maximum.reduceat(found, of.first))


class _Windows:
    """The windows of `by_deadlines`."""

    def __init__(self, of: Streams, known: Ints, cores: int) -> None:
        self.of, self.cores = of, cores
        self.full = known > LIMIT
        self.late = of.jitter + np.where(self.full[of.owner], of.wcet, known[of.owner])

    def responses(self, rows: Ints, limit: Ints) -> Ints:
        """Return the responses of some streams."""
        of = self.of
        until = np.where(self.busy < UNBOUNDED, self.busy, 0)[of.owner[rows]]
        points = [self.changes(row, end) for row, end in zip(rows, until.tolist(), strict=True)]
        if sum(map(len, points)) * len(of.wcet) > BLOCK:
            points = [np.zeros(0, np.int64)] * len(rows)
        counts = [len(some) for some in points]
        since = np.concatenate([*points, np.zeros(len(rows), np.int64)])
        ends = [np.append(some[1:] - 1, end - 1) for some, end in zip(points, until, strict=True)]
        ends = [some[: len(mine)] for some, mine in zip(ends, points, strict=True)]
        last = np.concatenate([*ends, np.zeros(len(rows), np.int64)])
        number = np.concatenate([np.repeat(np.arange(len(rows)), counts), np.arange(len(rows))])
        row = rows[number]
        every = np.arange(len(row)) >= sum(counts)
        same = of.owner == of.owner[row][:, None]
        mine = same * of.wcet * ((since[:, None] + of.jitter) // of.period + 1)
        again = self.late - (np.arange(len(of.wcet)) == row[:, None]) * of.period
        mine = np.where(every[:, None], same * self.left(again), mine)
        least = np.maximum(of.wcet[row], 1)  # Without work it waits for a core like any other.
        own = mine.sum(axis=1) + np.where(every, least, least - of.wcet[row])
        due = of.latest[row][:, None] - of.due + of.jitter
        fresh = of.wcet * np.maximum(0, (since[:, None] + due) // of.period + 1)
        carried = self.left(last[:, None] + due - of.jitter + self.late)
        own = np.where(every & self.full[of.owner[row]], UNBOUNDED, own)

        def longer(length: Ints, at: Ints) -> Ints:
            room = length - own[at] + 1
            others = self.others(length, room, of.owner[row[at]], fresh[at], carried[at], every[at])
            return np.asarray(own[at] + others // self.cores)

        found = least_fixed_point(longer, own, since + limit[of.owner[row]] + least)
        found = np.where(found > LIMIT, UNBOUNDED, found - since - (least - of.wcet[row]))
        longest = np.where(np.array(counts) > 0, of.wcet[rows], UNBOUNDED)
        np.maximum.at(longest, number[~every], found[~every])
        return np.minimum(longest, found[every])

    def left(self, until: Ints) -> Ints:
        """Return the sum of min(C, until - q T) over all q >= 0 at which it is positive."""
        jobs, rest = np.divmod(np.maximum(until, 0), self.of.period)
        return np.asarray(jobs * self.of.wcet + np.minimum(self.of.wcet, rest))

    def others(
        self, length: Ints, room: Ints, at: Ints, fresh: Ints, carried: Ints, every: Bools
    ) -> Ints:
        """Return the sum of I_i in windows of callbacks `at`."""
        of, rows = self.of, np.arange(len(at))
        spend(6 * len(at) * len(of.wcet))
        new = np.minimum(self.left(length[:, None] + of.jitter), fresh)
        old = np.minimum(self.left(length[:, None] + self.late - of.wcet), carried)
        most = room[:, None]
        new, old = (
            np.where(self.full, most, np.minimum(of.of_each(work), most)) for work in (new, old)
        )
        new = np.where(of.turns, old, new)
        more = np.maximum(old - new, 0)
        new[rows, at] = more[rows, at] = 0
        few = np.sort(more, axis=1)[:, ::-1][:, : self.cores - 1].sum(axis=1)
        return np.asarray(new.sum(axis=1) + np.where(every, more.sum(axis=1), few))

    @cached_property
    def busy(self) -> Ints:
        """How long no window of each callback is; UNBOUNDED if that is not looked for."""
        of, n = self.of, len(self.of.first)
        if n * len(of.wcet) > BLOCK:
            return np.full(n, UNBOUNDED)
        share = of.of_each(of.wcet / of.period)
        room = 1 - share
        each = np.minimum(np.where(self.full, 1, share), room[:, None])
        each[np.arange(n), np.arange(n)] = 0
        ends = (room > MARGIN) & (each.sum(axis=1) < self.cores * room - MARGIN)
        endless = np.full((n, len(of.wcet)), UNBOUNDED)

        def own(length: Ints, at: Ints) -> Ints:
            coming = -(-(length[:, None] + of.jitter) // of.period) * of.wcet
            return of.of_each(coming)[np.arange(len(at)), at]

        def longer(length: Ints, at: Ints) -> Ints:
            mine = own(length, at)
            no = np.zeros(len(at), np.bool_)
            room = np.maximum(length - mine + 1, 0)
            others = self.others(length, room, at, endless[at], endless[at], no)
            return np.asarray(np.maximum(mine + others // self.cores + 1, length))

        every = np.arange(n)
        start = np.where(ends, np.maximum(own(np.ones(n, np.int64), every), 1), UNBOUNDED)
        return least_fixed_point(longer, start, MAX_WINDOW * int(of.period.max()))

    def changes(self, row: int, until: int) -> Ints:
        """Return the A below `until` at which what `by_deadlines` says of a stream changes."""
        of = self.of
        if until <= 0:
            return np.zeros(0, np.int64)
        fresh = of.due - of.jitter - of.latest[row]
        carried = of.due - self.late - of.latest[row]
        mine = np.where(of.owner == of.owner[row], -of.jitter, until)
        start = np.concatenate([np.zeros(1, np.int64), fresh, carried, carried + of.wcet, mine])
        every = np.concatenate([np.full(1, until), *[of.period] * 4])
        start = np.where(start < 0, start % every, start)
        count = np.maximum(0, (until - 1 - start) // every + 1)
        if int(count.sum()) > MAX_POINTS:
            return np.zeros(0, np.int64)
        points = [s + e * np.arange(c) for s, e, c in zip(start, every, count, strict=True)]
        return np.unique(np.concatenate(points))


def is_sparse(tasks: TaskSet, cores: int) -> bool:
    """Return whether sum d_i <= m - (m - 1) max d_i, d_i = C_i / min(D_i, T_i)."""
    dense = tasks.wcet / np.minimum(tasks.deadline, tasks.period)
    most = cores - (cores - 1) * dense.max(initial=0) - MARGIN
    return not np.any(tasks.jitter) and bool(dense.sum() <= most)


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
    if room < MARGIN or np.any(tasks.jitter):
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


def lateness(of: Streams, cores: int) -> tuple[Ints, Ints] | None:
    """Return how long after release and grid jobs of each stream end [Devi08], [Erickson10]; ns.

    None: not known; UNBOUNDED for what has no deadline. A job may start from a = its grid + J on at
    the latest, and is due by d = a + max(0, last). Let s, w, x_i be the least with

        S_i = sum U max(0, T + J - max(due, -w)) over the streams of i
        M_i = max over them of U_i max(0, last) + (U_i - U) J
        B_i = S_i + U_i x_i + M_i, or C_i with one stream if all that is due by d has come by then
        s = sum S_i + (M_i of what `turns`) + (the m - 1 largest of U_j x_j + (M_j of others))
        x_i = s / m + (1 - 1 / m) B_i - C_i, not below 0;  w = the largest x_i + C_i

    Then each job ends by d + x_i + C_i. For let k be the first that does not, by d, y its d, and H
    all jobs that are released by y + w and due by y, or come before one of their callback that is.
    Beside the cores let each job run at the speed U of its stream from a on, for a period. Let t be
    the last instant until y at which fewer than m callbacks have work due by y. Let j have a job of
    H then, and k' be its oldest, released at r. Either d' < y and it ends by what is said, or d' is
    t or later: t <= d' + x_j + C_j less what is left of it. Nothing that is left of j was released
    before r, so that is behind the other schedule by U_j x_j + M_j at most, without x_j if k' is
    not due by y. Such jobs are those of `turns`; the other callbacks of H are fewer than m. From t
    to y all cores work on H, which the other schedule does no faster, and has S_i left of i then:
    what is due by y has a <= y + J - due. So from y on cores have s to do, B_k of it of k: k ends
    within s / m + (1 - 1 / m) B_k. If all of H has come by y and k has one stream, then once a core
    has nothing to do nothing waits but for its predecessor, a period earlier: B_k is C_k then.
    """
    never = of.due >= NO_DEADLINE
    share = np.where(never, 0, of.wcet / of.period)
    each = of.of_each(share)
    unknown = bool(np.any(~never & (of.latest >= NO_DEADLINE)))
    if each.sum() > cores - MARGIN or each.max(initial=0) > 1 or unknown:
        return None
    streams = np.diff(np.append(of.first, len(share)))
    of_all = (streams > 1) | bool(np.any(of.due < of.jitter))
    wcet, others = of.wcet[of.first], 1 - 1 / cores
    last = np.where(never, 0, np.maximum(0, of.last))
    late = each[of.owner] * last + (each[of.owner] - share) * of.jitter
    behind = np.maximum.reduceat(late, of.first)
    less = 1 - np.where(of_all, others * each, 0)
    known = reach = 0.0
    for _ in range(MAX_STEPS):
        spend(10 * len(share))
        left = of.of_each(share * np.maximum(0, of.period + of.jitter - np.maximum(of.due, -reach)))
        own = np.where(of_all, left + behind, wcet)
        x = np.maximum(0, (known / cores + others * own - wcet) / less)
        more = np.sort(each * x + np.where(of.turns, 0, behind))[::-1]
        total = left.sum() + behind[of.turns].sum() + more[: cores - 1].sum()
        ends = x + wcet
        if total <= known and ends.max() <= reach:
            late = np.where(never, UNBOUNDED, ends[of.owner].astype(np.int64) + 2)
            return late + np.maximum(of.jitter, of.latest), late + of.jitter + last
        # A little more than that holds as well, and ends the search.
        known, reach = (1.000001 * least + cores for least in (total, ends.max()))
        if known > MAX_STEPS * of.period.max():
            break
    return None
