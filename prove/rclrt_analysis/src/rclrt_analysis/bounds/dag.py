# Copyright 2026 The rclrt Authors
# SPDX-License-Identifier: Apache-2.0
"""Work with an order among its parts [Graham69, Melani15], on cores whose threads migrate freely.

A DAG here is what a timer sets off: its callbacks, each after those that release it. Times are
whole; the volume is the sum of all execution times, the length that of the longest path.

Messages may take time. A path of execution times c and messages d on their way ends within
c + d + (vol - c + W) / m, W the work of others, since while a message is on its way no core need be
busy. The most that is over all paths is at most len + (vol + d - len + W) / m, len with the
messages and d those of the path with the most.
"""

from collections.abc import Callable, Sequence
from dataclasses import dataclass, replace
from functools import cached_property

import numpy as np
from rclrt_analysis.bounds.effort import CALLBACK, spend
from rclrt_analysis.bounds.taskset import LIMIT, Ints

MAX_ROUNDS = 100
"""How often the responses of equal priority may make each other longer."""


@dataclass(frozen=True)
class Dag:
    """A DAG; node numbers ascend along its edges.

    wcet: Of each node, ns.
    before: Of each node: those that must have ended.
    transport: How long after that a node may begin, at most, ns.
    """

    wcet: tuple[int, ...]
    before: tuple[tuple[int, ...], ...]
    transport: int = 0

    @cached_property
    def with_work(self) -> "Dag":
        """The DAG with 1 ns of work for each node that has none."""
        return replace(self, wcet=tuple(max(1, cost) for cost in self.wcet))

    @cached_property
    def volume(self) -> int:
        """Sum of all execution times, ns."""
        return sum(self.wcet)

    @cached_property
    def length(self) -> int:
        """Length of the longest path, with its messages, ns."""
        return self._longest(self.wcet)

    @cached_property
    def on_the_way(self) -> int:
        """How long messages are on their way on one path, at most, ns."""
        return self._longest((0,) * len(self.wcet))

    def _longest(self, costs: tuple[int, ...]) -> int:
        ends: list[int] = []
        for cost, earlier in zip(costs, self.before, strict=True):
            ends.append(cost + max((ends[p] + self.transport for p in earlier), default=0))
        return max(ends, default=0)


def graham(dag: Dag, cores: int) -> int:
    """Return len + (vol - len) / m, rounded up: alone on m cores, work-conserving [Graham69]."""
    return dag.length - (-(dag.volume + dag.on_the_way - dag.length) // cores)


@dataclass(frozen=True)
class DagTask:
    """A DAG that is released again and again; larger priority more urgent."""

    dag: Dag
    period: int
    priority: int
    jitter: int = 0
    """It is released so late after its period began, at most, ns."""


@dataclass(frozen=True)
class Stolen:
    """What the machine takes from each core, at most: so much in any window of a length, ns."""

    cost: int = 0
    window: int = 1

    def within(self, length: int) -> int:
        """Return how much of one core in a window of this length, ns."""
        return -(-length // self.window) * self.cost


def global_fp(
    tasks: Sequence[DagTask], cores: int, stolen: Stolen | None = None
) -> list[int | None]:
    """Return response times under global preemptive fixed priority, ns; None above the period.

    With p_i the cores that task i can use at once (as many as its DAG has nodes, m at most), a task
    does at most W_i(L, s) = N vol_i + min(vol_i, p_i (x - N T_i)) in a window of length L, where
    x = L + J_i + s and N = floor(x / T_i): s = R_i - vol_i / p_i if a job of it is carried into the
    window, else s = 0. A window begins when a core has nothing more urgent to do, so at most m - 1
    tasks carry a job in: those for which it makes the largest difference [Guan09]. Let I be the sum
    of the work of more urgent tasks, as large as that allows.

    One callback: r = C_k + floor(I / m), no W_i above p_i (r - C_k + 1) [Bertogna07], [Guan09].
    A DAG: r = len_k + (vol_k - len_k + I) / m [Melani15].
    One DAG alone: `graham`. Responses begin with the release, which may be J late.

    What is stolen, S in a window, may be stolen from each core just while the critical path runs
    there: a path goes from core to core. So r = len_k + m S(r) + (vol_k - len_k + I) / m: where it
    delays others instead, it takes but one m-th of that.

    While a message is on its way no core need be busy, though its DAG has not ended: with
    transport every task counts as carried in.

    A callback without work waits for a core like any other, and nothing of a path is done
    meanwhile. So in its own DAG it counts with 1 ns: the path has not ended before it has begun.
    Alone it ends where it begins, 1 ns earlier.

    Tasks of equal priority count as higher, with responses that agree with each other: so these
    bounds hold together or not at all. A task without a bound leaves less urgent ones without.
    """
    stolen = stolen or Stolen()
    if len(tasks) == 1 and not stolen.cost:
        alone = graham(tasks[0].dag, cores)
        return [alone if alone <= tasks[0].period - tasks[0].jitter else None]
    bounds: list[int | None] = [None] * len(tasks)
    response = [0] * len(tasks)
    carried = cores - 1 if all(t.dag.transport == 0 for t in tasks) else len(tasks)
    known: list[int] = []
    for priority in sorted({task.priority for task in tasks}, reverse=True):
        equal = [i for i, task in enumerate(tasks) if task.priority == priority]
        for _ in range(MAX_ROUNDS):
            before = list(response)
            for i in equal:
                of = [row(tasks[j], response[j], cores) for j in (*known, *equal) if j != i]
                others = Others.of(of, range(len(of)), carried)
                found = _response(tasks[i], others, cores, stolen)
                if found is None:
                    return bounds
                response[i] = found
            if response == before:
                break
        else:
            return bounds
        for i in equal:
            bounds[i] = response[i]
        known += equal
    return bounds


def of_nodes(
    number: int, tasks: Sequence[DagTask], bounds: Sequence[int], cores: int, stolen: Stolen
) -> list[tuple[int, int]]:
    """Return how long after its own release each node ends, and after that of its DAG, ns.

    `bounds` are those of `global_fp`. A node that has come, and what is left of its DAG, wait for
    cores like callbacks that nothing orders: so the bound of one callback holds, with the rest of
    the DAG as one more task, of which one job comes. For let the window begin at the last instant
    from the release of the DAG to that of the node at which a core had nothing of the DAG, or of
    others as urgent, to do; if there is none, as for the DAG itself. From there on, while the node
    does not run, all cores run such work, and the job before has ended. A node without work is as
    in `global_fp`. And a node comes once those before it have ended.
    """
    task, bound = tasks[number], bounds[number]
    dag, count = task.dag, len(task.dag.wcet)
    if count == 1:
        return [(bound, bound)]
    above = [i for i, t in enumerate(tasks) if t.priority >= task.priority and i != number]
    rows = [row(tasks[i], bounds[i], cores) for i in above]
    carried = len(rows) if dag.transport else cores - 1
    found: list[tuple[int, int]] = []
    for own, cost, before in zip(dag.with_work.wcet, dag.wcet, dag.before, strict=True):
        once = [dag.volume - cost, LIMIT, 0, 0, min(cores, count - 1)]
        others = Others.of([*rows, once], range(len(rows) + 1), carried)
        ended = _of_one(own, own - cost, others, cores, stolen, bound)
        mine = bound if ended is None else ended
        since = max((found[p][1] + dag.transport for p in before), default=0)
        found.append((mine, min(bound, since + mine)))
    return found


def row(task: DagTask, response: int, cores: int) -> list[int]:
    """Return a row of `Others`: a DAG that has ended after `response`."""
    # A subscription runs beside the rest of the job that has published: all nodes may.
    volume, parallel = task.dag.volume, min(cores, len(task.dag.wcet))
    return [volume, task.period, task.jitter, max(0, response - volume // parallel), parallel]


@dataclass(frozen=True)
class Others:
    """What interferes: DAGs, or callbacks with a row for each stream of their releases.

    volume, period, jitter, parallel: Of each row; how many cores it can use at once.
    late: R - vol / p, see `global_fp`.
    first: The first row of each of them.
    carried: How many of them may have work under way when a window begins.
    full: So many more take a core whenever they can.
    """

    volume: Ints
    period: Ints
    jitter: Ints
    late: Ints
    parallel: Ints
    first: Ints
    carried: int
    full: int = 0

    @classmethod
    def of(
        cls, rows: list[list[int]], first: Sequence[int], carried: int, full: int = 0
    ) -> "Others":
        """Return them by rows of numbers."""
        volume, period, jitter, late, parallel = np.array(rows, dtype=np.int64).reshape(-1, 5).T
        return cls(volume, period, jitter, late, parallel, np.array(first, np.int64), carried, full)

    def work(self, window: int, each: int | None) -> tuple[int, int, int]:
        """Return the most work in a window; no task does more than `each` on each of its cores.

        And how fast it grows with the window, and for how long at least it grows as fast: in a
        window longer by x up to that it is at least x times as much more. `each` grows with it.
        """
        spend(CALLBACK + 2 * len(self.volume))
        late = np.stack([np.zeros_like(self.late), self.late])
        whole, rest = np.divmod(window + self.jitter + late, self.period)
        left = self.volume - self.parallel * rest  # of the job carried out; none if negative
        to_next = self.period - rest
        growth = np.minimum(np.maximum(left, 0), self.parallel)
        steady = np.where(left > 0, np.maximum(left // self.parallel, 1), to_next)
        # More work than fits into a period: the next job starts with a leap.
        leaps = left > self.parallel * to_next
        growth = np.where(leaps & (to_next == 1), left, growth)
        steady = np.where(leaps, np.maximum(to_next - 1, 1), np.minimum(steady, to_next))
        work = whole * self.volume + np.minimum(self.volume, self.parallel * rest)
        if len(self.first) < work.shape[1]:
            work = np.add.reduceat(work, self.first, axis=1)
            growth = np.add.reduceat(growth, self.first, axis=1)
            steady = np.minimum.reduceat(steady, self.first, axis=1)
        if each is not None:
            parallel = self.parallel[self.first]
            most = parallel * each
            capped = work > most
            steady = np.where(capped, (work - most) // parallel, steady)
            growth = np.where(capped, parallel, growth)
            work = np.minimum(work, most)
        chosen = np.argsort(work[0] - work[1], kind="stable")[: self.carried]
        for one in (work, growth, steady):
            one[0, chosen] = one[1, chosen]
        return (
            int(work[0].sum()) + self.full * (each or 0),
            int(growth[0].sum()) + self.full,
            int(np.min(steady[0], initial=np.iinfo(np.int64).max)),
        )

    def share(self, most: float) -> float:
        """Return how many cores they take in the long run, each on each of its cores `most`."""
        each = np.add.reduceat(self.volume / self.period, self.first)
        return float(np.minimum(each, most * self.parallel[self.first]).sum()) + self.full * most


def _response(task: DagTask, others: Others, cores: int, stolen: Stolen) -> int | None:
    """Return the least r of the recurrence of `global_fp`, None if it is above the period."""
    own, limit = task.dag.with_work, task.period - task.jitter
    length, volume = own.length, own.volume + own.on_the_way
    if len(own.wcet) == 1:
        return _of_one(length, length - task.dag.volume, others, cores, stolen, limit)
    return least(lambda _: length, length - volume, others, cores, stolen, limit)


def _of_one(
    own: int, added: int, others: Others, cores: int, stolen: Stolen, limit: int
) -> int | None:
    found = least(lambda _: own, None, others, cores, stolen, limit + added)
    return None if found is None else found - added


def least(
    own: Callable[[int], int],
    spare: int | None,
    others: Others,
    cores: int,
    stolen: Stolen,
    limit: int,
) -> int | None:
    """Return the least r that is enough for `own` work one after the other; None above the limit.

    It suffices if, less what is stolen, the others' work is at most cores * (r - own) + `spare`. If
    `spare` is None that is cores - 1, and no other counts with more than r - own + 1 on each of its
    cores. `own` must not fall with r.

    Between two windows at which some task's work changes its growth, or more is stolen, the sum is
    at least a straight line: r is not before the line meets. So a step goes to where it meets, or
    to the next of these windows. If `own` has grown meanwhile, it is all the more not enough.
    """
    response = own(0)
    while response <= limit:
        lost = cores * stolen.within(response)
        room = response - own(response) - lost
        each = max(0, room + 1) if spare is None else None
        work, growth, steady = others.work(response, each)
        lacking = work - cores * room - (cores - 1 if spare is None else spare)
        if lacking <= 0:
            return response
        straight = min(steady, limit)
        if stolen.cost:
            straight = min(straight, -(-response // stolen.window) * stolen.window - response + 1)
        gain = cores - growth
        meets = -(-lacking // gain) if gain > 0 else straight + 1
        # Without a cap the others' work never falls, so no smaller step can do.
        smallest = -(-lacking // cores) if each is None or not stolen.cost else 1
        response += max(min(meets, straight), smallest)
    return None
