# Copyright 2026 The rclrt Authors
# SPDX-License-Identifier: Apache-2.0
"""Tasks as arrays, in which bounds compute, and what a CPU reservation gives a thread [Shin03].

All times are whole ns.
"""

from collections.abc import Sequence
from dataclasses import dataclass
from fractions import Fraction

import numpy as np
import numpy.typing as npt
from rclrt_analysis.bounds.effort import spend

Ints = npt.NDArray[np.int64]
Bools = npt.NDArray[np.bool_]

LIMIT = 2**55
"""Windows longer than this (about a year) count as unbounded; keeps sums within 64 bits."""


@dataclass(frozen=True)
class TaskSet:
    """Sporadic tasks; every array has shape (n,).

    wcet, period, deadline: ns; a task without deadline has `UNBOUNDED`.
    priority: Larger is more urgent; equal ones in any order.
    jitter: How much later than its grid a release may come, ns.
    """

    wcet: Ints
    period: Ints
    deadline: Ints
    priority: Ints
    jitter: Ints

    def __len__(self) -> int:
        return len(self.wcet)

    @property
    def utilization(self) -> float:
        """Share of one processor that all tasks ask for."""
        return float(np.sum(self.wcet / self.period))


def make_taskset(
    wcet: Sequence[int] | Ints,
    period: Sequence[int] | Ints,
    deadline: Sequence[int] | Ints | None = None,
    priority: Sequence[int] | Ints | None = None,
    jitter: Sequence[int] | Ints | None = None,
) -> TaskSet:
    """Return a task set; deadlines are the periods and priorities descend unless given.

    Raises ValueError: A period is not positive, a time is negative, or lengths differ.
    """
    cost = np.asarray(wcet, dtype=np.int64)
    n = len(cost)
    spans = np.asarray(period, dtype=np.int64)
    relative = spans if deadline is None else np.asarray(deadline, dtype=np.int64)
    urgency = np.arange(n, 0, -1) if priority is None else np.asarray(priority, dtype=np.int64)
    late = np.zeros(n, dtype=np.int64) if jitter is None else np.asarray(jitter, dtype=np.int64)
    if any(len(array) != n for array in (spans, relative, urgency, late)):
        raise ValueError("wcet, period, deadline, priority and jitter must have the same length")
    if n and (spans.min() <= 0 or relative.min() <= 0 or cost.min() < 0 or late.min() < 0):
        raise ValueError("periods and deadlines must be positive, execution times not negative")
    return TaskSet(cost, spans, relative, urgency, late)


@dataclass(frozen=True)
class Interference:
    """Work that arrives in a window, for every task, summed over tasks of equal period and jitter.

    WATERS systems have nine periods however many tasks they have, so an iteration costs n x 9.

    period, jitter: Shape (g,), of each group.
    cost: Shape (n, g): work of one release of a group that counts against task k, ns.
    """

    period: Ints
    jitter: Ints
    cost: Ints

    @property
    def utilization(self) -> npt.NDArray[np.float64]:
        """Shape (n,): long-run share of the processor."""
        return np.asarray((self.cost / self.period).sum(axis=1))

    def before(self, window: Ints, rows: Ints | slice = slice(None)) -> Ints:
        """Return the work released in [0, window): ceil((window + J) / T) releases."""
        spend(len(window) * len(self.period))
        count = -(-(window[:, None] + self.jitter) // self.period)
        return np.asarray((count * self.cost[rows]).sum(axis=1))

    def until(self, window: Ints, rows: Ints | slice = slice(None)) -> Ints:
        """Return the work released in [0, window]: floor((window + J) / T) + 1 releases."""
        spend(len(window) * len(self.period))
        count = (window[:, None] + self.jitter) // self.period + 1
        return np.asarray((count * self.cost[rows]).sum(axis=1))


def higher_or_equal(tasks: TaskSet) -> Interference:
    """Return what other tasks of at least the same priority ask for."""
    keys, group = np.unique(
        np.stack([tasks.period, tasks.jitter], axis=1), axis=0, return_inverse=True
    )
    group = group.reshape(-1)
    n = len(tasks)
    own = np.zeros((n, len(keys)), dtype=np.int64)
    own[np.arange(n), group] = tasks.wcet
    order = np.argsort(-tasks.priority, kind="stable")
    falling = -tasks.priority[order]
    last_equal = np.searchsorted(falling, falling, side="right") - 1
    total = np.cumsum(own[order], axis=0)[last_equal]
    cost = np.empty_like(own)
    cost[order] = total
    return Interference(keys[:, 0], keys[:, 1], cost - own)


def largest_lower(tasks: TaskSet) -> Ints:
    """Return, for every task, the longest execution of a task of lower priority, 0 for none."""
    order = np.argsort(tasks.priority, kind="stable")
    rising = tasks.priority[order]
    largest = np.concatenate([[0], np.maximum.accumulate(tasks.wcet[order])])
    result = np.empty(len(tasks), dtype=np.int64)
    result[order] = largest[np.searchsorted(rising, rising, side="left")]
    return result


@dataclass(frozen=True)
class Supply:
    """At least `budget` in every `period`, ns: SCHED_DEADLINE, or any periodic resource [Shin03].

    In the worst case the thread wakes when a budget that was given early has just run out, and the
    following ones are given late: for 2 (period - budget) there is nothing. So the least supply is
    sbf(t) = k Q + max(0, t - 2 (P - Q) - k P), k = floor((t - (P - Q)) / P), at most (k + 1) Q.

    The wake-up rule of the constant bandwidth server keeps to that: what is left of a budget is
    kept only if it is less than the reservation's share until the deadline.
    """

    budget: int
    period: int

    @property
    def share(self) -> float:
        """The share of the processor in the long run."""
        return self.budget / self.period

    def time(self, work: Ints) -> Ints:
        """Return the least t with sbf(t) >= work, ns; 0 without work."""
        if self.budget == self.period:
            return work
        # The limit keeps within 64 bits what counts as unbounded anyway.
        whole = np.minimum(np.maximum(work - 1, 0) // self.budget, LIMIT // self.period + 2)
        late = 2 * (self.period - self.budget) + whole * self.period + work - whole * self.budget
        return np.where(work > 0, late, 0)

    def end(self, before: Ints, own: Ints | int) -> Ints:
        """Return when own work after other work has ended, ns.

        It begins once it is given its first ns; so does what has no work, and it ends there.
        """
        return np.maximum(self.time(before + own), self.time(before + 1) - 1)


DEDICATED = Supply(1, 1)
"""The processor itself."""

MAX_STEPS = 1_000


def longest_busy(supplies: Sequence[Supply]) -> int | None:
    """Return for how long threads with reservations may keep a core from everybody else, ns.

    In a window of length t one runs for Q (2 + floor((t - Q) / P)) at most: a budget is used up
    just before its period ends, and the next ones at once. The threads keep the core until the
    least L that is no less than the sum of these; None: if they fill it, that is for ever.
    """
    share = sum((Fraction(s.budget, s.period) for s in supplies), Fraction(0))
    if share >= 1:
        return None
    length = sum(2 * s.budget for s in supplies)
    for _ in range(MAX_STEPS):
        longer = sum(s.budget * (2 + max(0, length - s.budget) // s.period) for s in supplies)
        if longer == length:
            return length
        length = longer
    # Without rounding: sum Q (1 + (L - Q) / P) + Q <= L.
    fixed = sum((s.budget * (2 - Fraction(s.budget, s.period)) for s in supplies), Fraction(0))
    return -int(-fixed // (1 - share))
