# Copyright 2026 The rclrt Authors
# SPDX-License-Identifier: Apache-2.0
"""Least fixed points of many recurrences at once, each within a budget.

Values above all bounds say why a computation has none, each for one fact.
"""

from collections.abc import Callable

import numpy as np
import numpy.typing as npt
from rclrt_analysis.bounds.taskset import LIMIT, Ints

UNBOUNDED = 2**62
"""The work fills its processor; all that is as large stands for a response without a bound."""
YEAR = UNBOUNDED + 1
STEPS = UNBOUNDED + 2
MANY = UNBOUNDED + 3
ENDLESS = UNBOUNDED + 4
LATE = UNBOUNDED + 5
UNSHOWN = UNBOUNDED + 6

MAX_ITERATIONS = 2_000
"""Steps of a search for a fixed point, at most."""

_REMEDY = ". Reduce wcet_ms, lengthen period_ms, or move work to another core"
_TEXTS = {
    UNBOUNDED: "this analysis finds none: by its count, work of this urgency or higher fills the "
    f"processor{_REMEDY}",
    YEAR: f"work of this urgency or higher may go on for more than a year{_REMEDY}",
    STEPS: f"the search for its bound was given up after {MAX_ITERATIONS} steps{_REMEDY}",
    MANY: "more jobs may come before it than an analysis looks at. Reduce the utilization, or make "
    "periods multiples of each other",
    ENDLESS: "nothing bounds how many messages come that release it, or work that precedes it. See "
    "why their publishers have no bound",
    LATE: f"it may end after its deadline, and this analysis bounds nothing beyond that{_REMEDY}",
    UNSHOWN: "not all deadlines of its cores are shown to be met, and this analysis bounds nothing "
    f"else{_REMEDY}",
}


def no_bound(value: int = UNBOUNDED) -> str:
    """Return the reason that such a value stands for."""
    return _TEXTS[value]


FULL = 1.0 - 1e-12
"""Utilization from which on a window is not searched for: it would end only by luck."""


def least_fixed_point(
    step: Callable[[Ints, Ints], Ints], start: Ints, limit: Ints | int = LIMIT
) -> Ints:
    """Return the least x >= start with x = step(x, rows), for every row on its own.

    step: Non-decreasing; gets values of shape (r,) and the numbers of their rows, shape (r,).
    start: Shape (n,); not above the least fixed point. What is no bound already stays what it is.
    limit: A row whose value exceeds it becomes `YEAR`, and `STEPS` after `MAX_ITERATIONS`.
    """
    value: Ints = start.copy()
    limits = np.broadcast_to(np.asarray(limit, dtype=np.int64), value.shape)
    rows = np.flatnonzero(value <= limits)
    value[(value > limits) & (value < UNBOUNDED)] = YEAR
    for _ in range(MAX_ITERATIONS):
        if not len(rows):
            return value
        now = value[rows]
        then = step(now, rows)
        over = then > limits[rows]
        value[rows] = np.where(over, YEAR, then)
        rows = rows[(then != now) & ~over]
    value[rows] = STEPS
    return value


def lower_start(fixed: Ints, share: npt.NDArray[np.float64]) -> Ints:
    """Return a start below the fixed point of x = fixed + interference, whose rate is `share`."""
    room = np.maximum(1.0 - share, 1e-9)
    # The factor outweighs the rounding of the sums.
    # The limit keeps what no fixed point could be within 64 bits.
    estimate = np.minimum(fixed / room * (1.0 - 1e-7), 2.0 * LIMIT)
    start: Ints = np.maximum(fixed, estimate.astype(np.int64))
    return start
