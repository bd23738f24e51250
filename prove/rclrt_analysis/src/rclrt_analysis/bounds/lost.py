# Copyright 2026 The rclrt Authors
# SPDX-License-Identifier: Apache-2.0
"""Why a computation has no bound: values above all bounds, each for one fact."""

from __future__ import annotations

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
    UNBOUNDED: f"work of this urgency or higher fills the processor{_REMEDY}",
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
