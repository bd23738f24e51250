# Copyright 2026 The rclrt Authors
# SPDX-License-Identifier: Apache-2.0
"""What a CPU reservation is sure to give a thread."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from fractions import Fraction

import numpy as np
from rclrt_analysis.bounds.taskset import LIMIT, Ints


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
