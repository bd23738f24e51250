# Copyright 2026 The rclrt Authors
# SPDX-License-Identifier: Apache-2.0
"""How much one analysis may compute: so it ends, whatever the system, and alike on every machine.

Counted are the numbers in the arrays of recurrences, about 100 million a second; what is done one
by one counts as so many numbers as take as long. What is analysed after the budget has run out has
no bound.
"""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import contextmanager
from contextvars import ContextVar
from dataclasses import dataclass

MOST = 3_000_000_000
"""The numbers that one analysis may compute: half a minute."""

ITEM = 50
"""What one number costs that is not in an array."""

CALLBACK = 3_000
"""What it costs to make one callback's bound of numbers, and a step of one recurrence alone."""


class BudgetError(Exception):
    """It has run out."""

    def __init__(self) -> None:
        super().__init__(
            f"the budget of an analysis, {MOST / 1e9:g} billion numbers, ran out. Reduce the "
            "utilization, or make periods multiples of each other"
        )


@dataclass
class Budget:
    """How many numbers are left."""

    left: int


_current: ContextVar[Budget | None] = ContextVar("_current", default=None)


@contextmanager
def limited(analyses: int = 1) -> Iterator[Budget]:
    """Let what is computed within spend so many times `MOST`, and no more than is left outside."""
    outer = _current.get()
    most = analyses * MOST if outer is None else min(analyses * MOST, outer.left)
    budget = Budget(most)
    token = _current.set(budget)
    try:
        yield budget
    finally:
        _current.reset(token)
        if outer is not None:
            outer.left -= most - budget.left


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
