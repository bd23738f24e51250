# Copyright 2026 The rclrt Authors
# SPDX-License-Identifier: Apache-2.0
"""How much one analysis may compute: so it ends, whatever the system, and alike on every machine.

Counted are the numbers in the arrays of recurrences, about 100 million a second; what is done one
by one counts as so many numbers as take as long. What is analysed after the effort is spent has
no bound. What was found is kept until the outermost `limited` ends: nothing is computed twice.
"""

from collections.abc import Callable, Hashable, Iterator
from contextlib import contextmanager
from contextvars import ContextVar
from dataclasses import dataclass, field
from typing import Any, TypeVar

MOST = 3_000_000_000
"""The numbers that one analysis may compute: half a minute."""

EACH = 1 / 3_000
"""So much of `MOST` comes on top for each callback; other callbacks before it leave that much."""

KEPT = 50_000
"""Bounds of callbacks that are kept at most; then all are forgotten."""

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


class Memory(dict[Any, Any]):
    """What was found, by all that it depends on; `cut`: the effort was too little for something."""

    callbacks = 0
    cut = False

    def count(self, callbacks: int) -> None:
        """Note that so many bounds more are kept."""
        self.callbacks += callbacks
        if self.callbacks > KEPT:
            self.clear()
            self.callbacks = 0


@dataclass
class Effort:
    """How many numbers are left, and what was found."""

    left: float
    memory: Memory = field(default_factory=Memory)


Found = TypeVar("Found")

_current: ContextVar[Effort | None] = ContextVar("_current", default=None)


@contextmanager
def limited(analyses: float = 1, others: float = 0) -> Iterator[Effort]:
    """Let what is computed within spend so many times `MOST`, and no more than is left outside.

    others: Of what is left outside, others get so many times as much.
    """
    outer = _current.get()
    most = analyses * MOST
    if outer is not None:
        most = max(0, min(most, outer.left / (1 + others)))
    effort = Effort(most) if outer is None else Effort(most, outer.memory)
    token = _current.set(effort)
    try:
        yield effort
    finally:
        _current.reset(token)
        if outer is not None:
            outer.left -= most - max(0, effort.left)


def remembered(key: Hashable, make: Callable[[], Found], size: Callable[[Found], int]) -> Found:
    """Return what `make` found for this key before, or finds now; kept if it is small.

    size: For so many bounds of callbacks what was found counts.
    """
    effort = _current.get()
    if effort is None:
        return make()
    found: Found | None = effort.memory.get(key)
    if found is None:
        found = make()
        if size(found) <= KEPT // 20:
            effort.memory.count(size(found))
            effort.memory[key] = found
    return found


def spend(numbers: int) -> None:
    """Count numbers that are computed now.

    Raises EffortError: There were too many.
    """
    effort = _current.get()
    if effort is not None:
        effort.left -= numbers
        if effort.left < 0:
            raise EffortError
