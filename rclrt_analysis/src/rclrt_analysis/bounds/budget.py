# Copyright 2026 The rclrt Authors
# SPDX-License-Identifier: Apache-2.0
"""How much one analysis may compute: so it ends, whatever the system, and alike on every machine.

Counted are the numbers in the arrays of recurrences, about 100 million a second. What is analysed
after the budget has run out has no bound.
"""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import contextmanager
from contextvars import ContextVar
from dataclasses import dataclass

MOST = 3_000_000_000
"""Of one analysis: half a minute."""


class BudgetError(Exception):
    """It has run out."""

    def __init__(self) -> None:
        super().__init__(
            f"the budget of an analysis, {MOST / 1e9:g} billion numbers, ran out. Reduce the "
            "utilization, or make periods multiples of each other"
        )


@dataclass
class _Budget:
    left: int


_current: ContextVar[_Budget | None] = ContextVar("_current", default=None)


@contextmanager
def limited() -> Iterator[None]:
    """Let what is computed within spend `MOST`; outside there is no limit."""
    token = _current.set(_Budget(MOST))
    try:
        yield
    finally:
        _current.reset(token)


def spend(numbers: int) -> None:
    """Count numbers that are computed now.

    Raises
    ------
    BudgetError
        There were too many.
    """
    budget = _current.get()
    if budget is not None:
        budget.left -= numbers
        if budget.left < 0:
            raise BudgetError
