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
from rclrt_analysis.bounds.taskset import Ints

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

    def longest_path(self) -> list[int]:
        """Return the nodes of a longest path; the transport before each but the first counts."""
        total: list[int] = []
        came_from: list[int] = []
        for node, earlier in enumerate(self.before):
            best = max(earlier, key=lambda p: total[p], default=-1)
            came_from.append(best)
            total.append(self.wcet[node] + (total[best] + self.transport if best >= 0 else 0))
        node = max(range(len(total)), key=lambda i: total[i], default=-1)
        path = []
        while node >= 0:
            path.append(node)
            node = came_from[node]
        return path[::-1]

    @cached_property
    def length(self) -> int:
        """Length of the longest path, with its messages, ns."""
        path = self.longest_path()
        return sum(self.wcet[node] for node in path) + self.transport * max(0, len(path) - 1)

    @cached_property
    def on_the_way(self) -> int:
        """How long messages are on their way on one path, at most, ns."""
        hops: list[int] = []
        for earlier in self.before:
            hops.append(max((hops[p] + 1 for p in earlier), default=0))
        return self.transport * max(hops, default=0)


def graham(dag: Dag, cores: int) -> int:
    """Return len + (vol - len) / m, rounded up: alone on m cores, work-conserving [Graham69]."""
    return dag.length - (-(dag.volume + dag.on_the_way - dag.length) // cores)


@dataclass(frozen=True)
class DagTask:
    """A DAG that is released again and again; deadline <= period, larger priority more urgent."""

    dag: Dag
    period: int
    deadline: int
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
    """Return response times under global preemptive fixed priority, ns; None for no bound.

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
        return [alone if alone <= tasks[0].deadline - tasks[0].jitter else None]
    bounds: list[int | None] = [None] * len(tasks)
    columns = (
        [t.dag.volume for t in tasks],
        [t.period for t in tasks],
        [0 for _ in tasks],
        [t.jitter for t in tasks],
        # A subscription runs beside the rest of the job that has published: all nodes may.
        [min(cores, len(t.dag.wcet)) for t in tasks],
    )
    volume, period, response, jitter, parallel = (
        np.array(column, dtype=np.int64) for column in columns
    )
    carried = cores - 1 if all(t.dag.transport == 0 for t in tasks) else len(tasks)
    known: list[int] = []
    for priority in sorted({task.priority for task in tasks}, reverse=True):
        equal = [i for i, task in enumerate(tasks) if task.priority == priority]
        found: dict[int, int | None] = {}
        before: dict[int, int | None] = {}
        for _ in range(MAX_ROUNDS):
            for i in equal:
                of = np.array([j for j in (*known, *equal) if j != i], dtype=np.int64)
                late = np.maximum(response[of] - volume[of] // parallel[of], 0)
                each = np.arange(len(of))
                others = Others(
                    volume[of], period[of], jitter[of], late, parallel[of], each, carried
                )
                found[i] = _response(tasks[i], others, cores, stolen)
                response[i] = found[i] or 0
            if found == before or None in found.values():
                break
            before = dict(found)
        if found != before:
            break
        for i, bound in found.items():
            bounds[i] = bound
        known += equal
    return bounds


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
    """Return the least r of the recurrence of `global_fp`, None if it is above the deadline."""
    own = task.dag.with_work
    length, volume = own.length, own.volume + own.on_the_way
    added = int(len(own.wcet) == 1 and task.dag.volume == 0)
    spare = None if len(own.wcet) == 1 else length - volume
    limit = task.deadline - task.jitter + added
    found = least(lambda _: length, spare, others, cores, stolen, limit)
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
