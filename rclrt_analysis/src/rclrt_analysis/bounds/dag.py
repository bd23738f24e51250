# Copyright 2026 The rclrt Authors
# SPDX-License-Identifier: Apache-2.0
"""Work with an order among its parts, on several cores whose threads migrate freely.

A DAG here is what a timer sets off: its callbacks, each after those that release it. Times are
whole; the volume is the sum of all execution times, the length that of the longest path.

Messages may take time. A path of execution times c and messages d on their way ends within
c + d + (vol - c + W) / m, W the work of others, since while a message is on its way no core need be
busy. The most that is over all paths is at most len + (vol + d - len + W) / m, len with the
messages and d those of the path with the most.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from functools import cached_property

import numpy as np

from rclrt_analysis.bounds.budget import CALLBACK, spend
from rclrt_analysis.bounds.taskset import Ints


@dataclass(frozen=True)
class Dag:
    """A DAG; node numbers ascend along its edges.

    Attributes
    ----------
    wcet
        Of each node, ns.
    before
        Of each node: those that must have ended.
    transport
        How long after that a node may begin, at most, ns.
    """

    wcet: tuple[int, ...]
    before: tuple[tuple[int, ...], ...]
    transport: int = 0

    @cached_property
    def volume(self) -> int:
        """Sum of all execution times, ns."""
        return sum(self.wcet)

    def longest_path(self, wcet: Sequence[int] | None = None) -> list[int]:
        """Return the nodes of a longest path, with these execution times if given.

        On a path the transport before each node but the first counts.
        """
        cost = self.wcet if wcet is None else wcet
        total: list[int] = []
        came_from: list[int] = []
        for node, earlier in enumerate(self.before):
            best = max(earlier, key=lambda p: total[p], default=-1)
            came_from.append(best)
            total.append(cost[node] + (total[best] + self.transport if best >= 0 else 0))
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


def federated_cores(dag: Dag, deadline: int) -> int | None:
    """Return how many cores of its own meet its deadline [Li14], None if none do.

    ceil((vol - len) / (D - len)).
    """
    length = dag.length
    volume = dag.volume + dag.on_the_way
    if volume == length:
        return 1 if length <= deadline else None
    if deadline <= length:
        return None
    return max(1, -(-(volume - length) // (deadline - length)))


@dataclass(frozen=True)
class DagTask:
    """A DAG that is released again and again; deadline <= period, larger priority more urgent."""

    dag: Dag
    period: int
    deadline: int
    priority: int


def global_fp(tasks: Sequence[DagTask], cores: int) -> list[int | None]:
    """Return response times under global preemptive fixed priority, ns; None for no bound.

    Sequential tasks only [Bertogna07]: r = C_k + floor(sum_{hp} min(W_i(r), r - C_k + 1) / m) with
    W_i(L) = N C_i + min(C_i, L + R_i - C_i - N T_i), N = floor((L + R_i - C_i) / T_i).
    With DAGs [Melani15]: r = len_k + (vol_k - len_k + sum_{hp} W_i(r)) / m with W_i(L) = N vol_i +
    min(vol_i, m (x - N T_i)), x = L + R_i - vol_i / m, N = floor(x / T_i).
    One DAG alone: `graham`.

    Tasks of equal priority count as higher, with their deadlines for R_i: so these bounds hold
    together or not at all. A task without a bound leaves less urgent ones without.
    """
    if len(tasks) == 1:
        alone = graham(tasks[0].dag, cores)
        return [alone if alone <= tasks[0].deadline else None]
    # A subscription runs beside the rest of the job that has published: no path is sequential.
    sequential = all(len(task.dag.wcet) == 1 for task in tasks)
    bounds: list[int | None] = [None] * len(tasks)
    columns = (
        [t.dag.volume for t in tasks],
        [t.period for t in tasks],
        [t.deadline for t in tasks],
    )
    volume, period, response = (np.array(column, dtype=np.int64) for column in columns)
    known: list[int] = []
    for priority in sorted({task.priority for task in tasks}, reverse=True):
        equal = [i for i, task in enumerate(tasks) if task.priority == priority]
        found = {}
        for i in equal:
            of = np.array([j for j in (*known, *equal) if j != i], dtype=np.int64)
            others = _Others(volume[of], period[of], response[of])
            found[i] = _response(tasks[i], others, cores, sequential)
        if any(bound is None for bound in found.values()):
            break
        for i, bound in found.items():
            assert bound is not None  # just looked at
            bounds[i] = bound
            response[i] = bound
        known += equal
    return bounds


@dataclass(frozen=True)
class _Others:
    """Tasks that interfere, with what is known of their responses: their deadlines at first."""

    volume: Ints
    period: Ints
    response: Ints

    def work(self, window: int, cores: int) -> tuple[Ints, Ints, Ints]:
        """Return the most work of each in a window, with what is carried in.

        And how fast it grows with the window, and for how long at least it grows so: in a window
        longer by x up to that, it is exactly x times as much more.
        """
        spend(CALLBACK + len(self.volume))
        shifted = window + self.response - self.volume // cores
        whole, rest = np.divmod(np.maximum(shifted, 0), self.period)
        left = self.volume - cores * rest  # of the job carried out; none if negative
        to_next = self.period - rest
        growth = np.clip(left, 0, cores)
        steady = np.where(left > 0, np.maximum(left // cores, 1), to_next)
        # More work than fits into a period: the next job starts with a leap.
        leaps = left > cores * to_next
        growth = np.where(leaps & (to_next == 1), left, growth)
        steady = np.where(leaps, np.maximum(to_next - 1, 1), np.minimum(steady, to_next))
        early = shifted < 0
        growth = np.where(early, 0, growth)
        steady = np.where(early, -shifted, steady)
        return whole * self.volume + np.minimum(self.volume, cores * rest), growth, steady


def _response(task: DagTask, others: _Others, cores: int, sequential: bool) -> int | None:
    """Return the least r that satisfies the recurrence of `global_fp`, None if above the deadline.

    Between two windows at which some task's work changes its growth, the sum is a straight line: it
    meets r there or not at all. So a step goes to where it meets, or to the next of these windows.
    """
    length, volume = task.dag.length, task.dag.volume + task.dag.on_the_way
    # r suffices if the others' work is at most cores * (r - length) + spare.
    spare = cores - 1 if sequential else length - volume
    response = length
    while response <= task.deadline:
        if sequential:
            work, growth, steady = others.work(response, 1)
            most = response - length + 1
            capped = work > most
            steady = np.where(capped, np.minimum(steady, work - most), steady)
            growth = np.where(capped, 1, growth)
            work = np.minimum(work, most)
        else:
            work, growth, steady = others.work(response, cores)
        lacking = int(work.sum()) - cores * (response - length) - spare
        if lacking <= 0:
            return response
        straight = int(np.min(steady, initial=task.deadline))
        gain = cores - int(growth.sum())
        if gain > 0 and -(-lacking // gain) <= straight:
            response += -(-lacking // gain)
            return response if response <= task.deadline else None
        response += max(straight, -(-lacking // cores))
    return None
