# Copyright 2026 The rclrt Authors
# SPDX-License-Identifier: Apache-2.0
"""How much one analysis may compute: so it ends, whatever the system, and alike on every machine.

Counted are the numbers in the arrays of recurrences, about 100 million a second; what is done one
by one counts as so many numbers as take as long. What is analysed after the effort is spent has
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


class EffortError(Exception):
    """It is spent."""

    def __init__(self) -> None:
        super().__init__(
            f"the effort of an analysis, {MOST / 1e9:g} billion numbers, was spent. Reduce the "
            "utilization, or make periods multiples of each other"
        )


@dataclass
class Effort:
    """How many numbers are left."""

    left: int


_current: ContextVar[Effort | None] = ContextVar("_current", default=None)


@contextmanager
def limited(analyses: float = 1) -> Iterator[Effort]:
    """Let what is computed within spend so many times `MOST`, and no more than is left outside."""
    outer = _current.get()
    most = int(analyses * MOST)
    most = most if outer is None else min(most, outer.left)
    effort = Effort(most)
    token = _current.set(effort)
    try:
        yield effort
    finally:
        _current.reset(token)
        if outer is not None:
            outer.left -= most - effort.left


def spend(numbers: int) -> None:
    """Count numbers that are computed now.

    Raises
    ------
    EffortError
        There were too many.
    """
    effort = _current.get()
    if effort is not None:
        effort.left -= numbers
        if effort.left < 0:
            raise EffortError
