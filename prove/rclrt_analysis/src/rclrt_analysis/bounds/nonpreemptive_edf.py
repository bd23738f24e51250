# Copyright 2026 The rclrt Authors
# SPDX-License-Identifier: Apache-2.0
"""Response times and schedulability under non-preemptive EDF on one processor [George96]."""

from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np
from rclrt_analysis.bounds.activation import ENDLESS as OFTEN
from rclrt_analysis.bounds.busy_window import Responses
from rclrt_analysis.bounds.effort import spend
from rclrt_analysis.bounds.fixed_point import (
    ENDLESS,
    FULL,
    MANY,
    UNBOUNDED,
    UNSHOWN,
    least_fixed_point,
    lower_start,
)
from rclrt_analysis.bounds.taskset import DEDICATED, Bools, Ints, Supply, TaskSet

NO_DEADLINE = 2**50
"""Stands for none: beyond all others, and far enough from the limits of 64 bits."""

MAX_POINTS = 200_000
"""Deadlines that are looked at one by one, at most."""

MAX_NUMBERS = 1 << 25
"""In `exact`: tasks times those of these deadlines that one task can have, at most."""

SPANS = 2_000
"""In `exact`: beyond these limits the time of all deadlines is divided into so many spans."""

COARSER = 8
"""A coarse search looks at one of so many deadlines: the search for the others begins there."""

BLOCK = 1 << 20
"""Numbers in one array at most."""

FIRST = (2, 16)
"""In `exact`: how many of a task's most promising deadlines are looked at first, and next."""


@dataclass(frozen=True)
class Exclusive:
    """Tasks of which one runs at a time, and what runs is as urgent as what waits for it [Sha90].

    owner: Shape (tasks,): whose jobs they are. A job is never its own blocker.
    first, latest: Shape (tasks,), ns: when a job that comes at 0 is due at the earliest and at the
        latest.
    wcet: Shape (tasks,), ns.
    """

    owner: Ints
    first: Ints
    latest: Ints
    wcet: Ints

    def holds(self, first: Ints, last: Ints) -> Ints:
        """Return for how long one of them may hold up what is due between these times, ns.

        One that is due later, and has begun before: if another one is due by then.
        """
        result = np.zeros_like(first)
        for k in range(len(self.owner)):
            others = self.first[self.owner != self.owner[k]]
            since = int(others.min()) if len(others) else NO_DEADLINE
            held = (since <= last) & (first < self.latest[k])
            result = np.maximum(result, np.where(held, self.wcet[k], 0))
        return np.asarray(result)


def _busy_period(tasks: TaskSet, supply: Supply, held: int = 0) -> int:
    """Return the longest synchronous busy period plus the largest blocking; see [George96]."""
    if tasks.utilization >= FULL * supply.share:
        return ENDLESS if np.any(tasks.period == OFTEN.period) else UNBOUNDED
    largest = max(int(tasks.wcet.max()), held)

    def step(t: Ints, _: Ints) -> Ints:
        work = (-(-(t[0] + tasks.jitter) // tasks.period) * tasks.wcet).sum()
        return supply.time(np.array([largest + int(work)], dtype=np.int64))

    share = np.array([tasks.utilization / supply.share])
    start = lower_start(np.array([largest], dtype=np.int64), share)
    return int(least_fixed_point(step, np.maximum(start, 1))[0])


def _points(period: Ints, first: Ints, low: int, end: int) -> Ints | None:
    """Return all first_j + k T_j in [low, end), k >= 0, sorted; None if there are too many."""
    start = np.maximum(0, -(-(low - first) // period))
    first = first + start * period
    count = np.maximum(0, -(-(end - first) // period))
    if count.sum() > MAX_POINTS:
        return None
    points = [f + t * np.arange(c) for f, t, c in zip(first, period, count, strict=True)]
    return np.unique(np.concatenate(points)) if points else np.zeros(0, dtype=np.int64)


def no_theorem_2(tasks: TaskSet) -> int:
    """Return 0 if every deadline is met [Teper25 Theorem 2], [George96]; else why not, see `lost`.

    For all t at which something is due: max_{D_i > t} C_i + sum_i dbf_i(t) <= t. Between two points
    t = k T_i + D_i the left side does not grow, so those within the busy period are looked at.
    Holds for any releases of sporadic tasks.

    Raises ValueError: There is jitter.
    """
    if np.any(tasks.jitter):
        raise ValueError("Theorem 2 knows no jitter")
    if not len(tasks):
        return 0
    end = _busy_period(tasks, DEDICATED)
    if end >= UNBOUNDED:
        return end
    points = _points(tasks.period, tasks.deadline, 0, end + int(tasks.deadline.max()) + 1)
    if points is None:
        return MANY
    spend(len(points) * len(tasks))
    for t in np.array_split(points, max(1, len(points) * len(tasks) // BLOCK)):
        count = np.maximum(0, (t[:, None] - tasks.deadline) // tasks.period + 1)
        demand = (count * tasks.wcet).sum(axis=1)
        blocking = np.where(tasks.deadline > t[:, None], tasks.wcet, 0).max(axis=1)
        if np.any(blocking + demand > t):
            return UNSHOWN
    return 0


def exact(
    tasks: TaskSet,
    supply: Supply = DEDICATED,
    may_be_early: Bools | None = None,
    preemptive: bool = False,
    exclusive: Sequence[Exclusive] = (),
) -> Responses:
    """Return the worst-case response time of every task [George96], with jitter.

    A job of nominal release a, 0 being the start of the busy period, is due at a + D_i. With B(a)
    the longest job of later deadline it starts at the least s = B + floor((a + J_i) / T_i) C_i +
    sum_{j: D_j - J_j <= a + D_i} min(1 + floor((s + J_j) / T_j), 1 + floor((a + D_i - D_j + J_j) /
    T_j)) C_j, and R_i is the worst of s + C_i - max(a, 0) over all a >= -J_i at which the sum can
    change.

    Exact for sporadic tasks without jitter, but where a release falls exactly on a start: as
    `fixed_priority.nonpreemptive`. All work that is due by d ends by some f(d), whoever is last, so
    at each d one recurrence bounds all tasks; s is computed only where that could make a response
    longer. Nor where f(d) < a, since before the job comes all such work has ended. Cost: (number of
    deadlines in the busy period) x n. `UNBOUNDED` at full utilization. Beyond `MAX_POINTS` or
    `MAX_NUMBERS` the f of the end of each of `SPANS` stands for all deadlines of that span.

    tasks: Deadlines count from the nominal release; `NO_DEADLINE` comes after all others.
    supply: Of the thread.
    may_be_early: Shape (n,): whose jobs may also be due at any time before their deadlines. These
        precede what is due later than they may be, and have begun before what is due earlier. That
        holds: from when nothing was left that is due by d until a job that is due by then begins,
        only work that is due by d runs, but for what had begun.
    preemptive: Whether a job is stopped by what is due earlier [Spuri96]: then nothing that is due
        later has begun, and what is released until a job's end counts instead of until its start.
    exclusive: If `preemptive`: a job of each that is due later may have begun all the same.
    """
    n = len(tasks)
    nothing = np.zeros(n, dtype=np.int64)
    result = np.full(n, UNBOUNDED, dtype=np.int64)

    def lost(value: int) -> Responses:
        every = np.full(n, value, dtype=np.int64)
        return Responses(every, every, nothing, nothing, nothing)

    held = sum(int(one.wcet.max(initial=0)) for one in exclusive)
    end = _busy_period(tasks, supply, held) if n else UNBOUNDED
    if end >= UNBOUNDED:
        return lost(end)
    work = _Work(tasks, supply, may_be_early, preemptive, exclusive)
    due = _dues(tasks, end)
    if due is None:
        return Responses(*_by_spans(work, end), nothing, nothing, nothing)
    first = np.searchsorted(due, tasks.deadline - tasks.jitter)
    count = np.searchsorted(due, tasks.deadline + end) - first
    if n * int(count.max()) > MAX_NUMBERS:
        return Responses(*_by_spans(work, end), nothing, nothing, nothing)
    busy = work.busy_until(due, due)
    actual, nominal = result.copy(), result.copy()
    for mine in np.array_split(np.arange(n), n * int(count.max()) // BLOCK + 1):
        place = first[mine, None] + np.arange(count[mine].max(initial=0))
        inside = place < (first + count)[mine, None]
        place = np.where(inside, place, 0)
        release = due[place] - tasks.deadline[mine, None]
        inside &= busy[place] >= release
        limit = np.where(inside, busy[place], -UNBOUNDED)
        actual[mine] = nominal[mine] = _worst(work, mine, release, np.maximum(release, 0), limit)
        if tasks.jitter.any():
            nominal[mine] = _worst(work, mine, release, release, limit)
    return Responses(actual, nominal, nothing, nothing, nothing)


def _dues(tasks: TaskSet, end: int) -> Ints | None:
    """Return all k T_j + D_j - J_j that are within [-J_i, end) + D_i for some i, sorted.

    None if there are too many.
    """
    low = tasks.deadline - tasks.jitter
    keys = np.unique(np.stack([tasks.period, low], axis=1), axis=0)
    found: list[Ints] = []
    for begin, until in _ranges(tasks, end):
        points = _points(keys[:, 0], keys[:, 1], begin, until)
        if points is None or sum(len(known) for known in found) > MAX_POINTS:
            return None
        found.append(points)
    return np.concatenate(found)


def _ranges(tasks: TaskSet, end: int) -> list[tuple[int, int]]:
    """Return from when until when something is due, apart from each other."""
    low, high = tasks.deadline - tasks.jitter, tasks.deadline + end
    order = np.argsort(low)
    reach = np.maximum.accumulate(high[order])
    new = np.flatnonzero(np.append(True, low[order][1:] > reach[:-1]))
    until = reach[np.append(new[1:] - 1, -1)]
    return list(zip(low[order][new].tolist(), until.tolist(), strict=True))


def _by_spans(work: "_Work", end: int) -> tuple[Ints, Ints]:
    """Return bounds of all responses, from the actual and from the nominal release, shape (n,)."""
    tasks = work.tasks
    edges = [
        begin + (until - begin) * np.arange(SPANS + 1) // SPANS
        for begin, until in _ranges(tasks, end)
    ]
    first = np.concatenate([one[:-1] for one in edges]).astype(np.int64)
    last = np.concatenate([one[1:] for one in edges]).astype(np.int64)
    busy = work.busy_until(first, last)
    actual, nominal = tasks.wcet.copy(), tasks.wcet + tasks.jitter
    spend(len(first) * len(tasks))
    for i, (deadline, jitter) in enumerate(zip(tasks.deadline, tasks.jitter, strict=True)):
        release = np.maximum(first - deadline, -jitter)
        mine = (last >= deadline - jitter) & (first < deadline + end) & (busy >= release)
        ends, release = busy[mine], release[mine]
        for found, since in ((actual, np.maximum(release, 0)), (nominal, release)):
            response = np.where(ends >= UNBOUNDED, ends, ends - since)
            found[i] = max(found[i], response.max(initial=0))
    return actual, nominal


def _worst(work: "_Work", mine: Ints, release: Ints, since: Ints, limit: Ints) -> Ints:
    """Return the longest response of each of some tasks, shape (n,).

    release: Shape (n, m): nominal releases that are looked at.
    since: From when on the responses count.
    limit: When the jobs end at the latest.
    """
    best: Ints = work.tasks.wcet[mine]
    left = limit - since
    spend(left.size)
    for most in (*FIRST, left.shape[1]):
        better = left > best[:, None]
        if most < left.shape[1]:
            promising = np.argpartition(left, -most, axis=1)[:, -most:]
            chosen = np.zeros_like(better)
            np.put_along_axis(chosen, promising, values=True, axis=1)
            better &= chosen
        row, column = np.nonzero(better)
        if not len(row):
            break
        left[row, column] = -1
        end = work.end(mine[row], release[row, column])
        response = np.where(end >= UNBOUNDED, end, end - since[row, column])
        np.maximum.at(best, row, response)
    return best


class _Work:
    """What precedes a job, by its deadline; tasks of equal period, deadline and jitter as one."""

    def __init__(
        self,
        tasks: TaskSet,
        supply: Supply,
        early: Bools | None,
        preemptive: bool,
        exclusive: Sequence[Exclusive],
    ) -> None:
        self.tasks = tasks
        self._exclusive = exclusive
        self._preemptive = preemptive
        self._supply = supply
        first = np.zeros(len(tasks), dtype=np.int64) if early is None else early.astype(np.int64)
        columns = np.stack([tasks.period, tasks.deadline, tasks.jitter, first], axis=1)
        keys, of = np.unique(columns, axis=0, return_inverse=True)
        self._of: Ints = of.reshape(-1)
        self._period, self._deadline, self._jitter, self._early = keys.T
        self._cost = np.zeros(len(keys), dtype=np.int64)
        np.add.at(self._cost, self._of, tasks.wcet)
        self._idle = np.zeros(len(keys), dtype=np.int64)
        np.add.at(self._idle, self._of, tasks.wcet == 0)
        order = np.argsort(tasks.deadline)
        self._rising = tasks.deadline[order]
        longest = np.maximum.accumulate(tasks.wcet[order][::-1])[::-1]
        self._longest_after = np.append(longest, 0)

    def _blocking(self, first: Ints, last: Ints) -> Ints:
        """Return the longest job that is due later, and cannot be stopped."""
        if self._preemptive:
            held = np.zeros_like(first)
            for one in self._exclusive:
                spend(held.size * len(one.owner))
                held = held + one.holds(first, last)
            return held
        later = np.searchsorted(self._rising, first, side="right")
        return np.asarray(self._longest_after[later])

    def _most(self, due: Ints) -> Ints:
        """Return how many jobs of each group are due by then, shape (rows, groups)."""
        since = due[:, None] - self._deadline + self._jitter
        return np.where(self._early, NO_DEADLINE, np.maximum(0, since // self._period + 1))

    def _count(self, time: Ints, most: Ints) -> Ints:
        """Return how many of these are released by then."""
        spend(most.size)
        return np.asarray(np.minimum((time[:, None] + self._jitter) // self._period + 1, most))

    def busy_until(self, first: Ints, last: Ints) -> Ints:
        """Return the ends of the longest busy periods of what is due between these times.

        They rise; a search begins at the end for one before, if no more had begun there. A job
        without work keeps the thread busy until it could begin: it counts as 1 ns.
        """
        cost = self._cost + self._idle
        blocking = self._blocking(first, last)
        found: Ints = blocking.copy()

        def solve(numbers: Ints, before: Ints) -> None:
            most = self._most(last[numbers])

            def step(t: Ints, at: Ints) -> Ints:
                count = self._count(t, most[at])
                work: Ints = blocking[numbers[at]] + (count * cost).sum(axis=1)
                return self._supply.time(work)

            known = blocking[before] <= blocking[numbers]
            start = np.where(known, found[before], blocking[numbers])
            found[numbers] = least_fixed_point(step, start)

        every = np.arange(len(last))
        apart = COARSER ** int(np.log(max(len(last), 1)) / np.log(COARSER))
        while apart:
            numbers = every[::apart]
            if apart * COARSER <= len(last):
                numbers = numbers[numbers % (apart * COARSER) != 0]
            for block in np.array_split(numbers, len(numbers) * len(cost) // BLOCK + 1):
                solve(block, block - block % (apart * COARSER))
            apart //= COARSER
        return found

    def end(self, owner: Ints, nominal: Ints) -> Ints:
        """Return when jobs of tasks `owner` with these nominal releases end at the latest."""
        blocks = np.array_split(np.arange(len(owner)), len(owner) * len(self._cost) // BLOCK + 1)
        return np.concatenate([self._end(owner[at], nominal[at]) for at in blocks])

    def _end(self, owner: Ints, nominal: Ints) -> Ints:
        tasks, supply = self.tasks, self._supply
        due = nominal + tasks.deadline[owner]
        most, own = self._most(due), tasks.wcet[owner]
        fixed = (nominal + tasks.jitter[owner]) // tasks.period[owner] * own
        fixed += self._blocking(due, due)

        def before(s: Ints, at: Ints) -> Ints:
            count = self._count(s, most[at])
            mine = count[np.arange(len(at)), self._of[owner[at]]] * own[at]
            return np.asarray(fixed[at] + (count * self._cost).sum(axis=1) - mine)

        if self._preemptive:
            idle = own == 0  # It begins after all that comes until then, as with 1 ns.

            def until(end: Ints, at: Ints) -> Ints:
                return supply.time(before(end - 1, at) + own[at] + idle[at])

            end = least_fixed_point(until, fixed + own + idle)
            return np.asarray(end - (idle & (end < UNBOUNDED)))
        start = least_fixed_point(lambda s, at: supply.time(before(s, at) + 1) - 1, fixed)
        lost = start >= UNBOUNDED
        begin = np.where(lost, 0, start)
        end = supply.time(before(begin, np.arange(len(begin))) + own)
        return np.where(lost, start, np.maximum(end, begin))
