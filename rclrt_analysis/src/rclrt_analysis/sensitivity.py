# Copyright 2026 The rclrt Authors
# SPDX-License-Identifier: Apache-2.0
"""How far a system is from missing a deadline: by how much its times may change.

Each answer is searched by bisection with the analysis itself, so it is as tight as that. A bound
can grow where an execution time shrinks (an anomaly of non-preemptive work); what is returned was
itself analysed and meets every deadline.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass, replace

from rclrt_analysis.bounds.analyse import analyse
from rclrt_analysis.bounds.budget import limited
from rclrt_analysis.model import Callback, Kind, System

STEPS = 20
"""Bisections per answer; each is an analysis."""

MAX_FACTOR = 64

MOST = 10
"""All answers together may compute as much as so many analyses of the largest systems."""


@dataclass(frozen=True)
class Margins:
    """By how much times may change so that every deadline is still met.

    Attributes
    ----------
    all_wcet
        Factor on all execution times together; below 1 they must shrink, None: nothing helps.
    wcet
        Longest execution time of every callback, others unchanged, ns; None if no deadline is met.
    period
        Shortest period of every timer, its deadline with it, others unchanged, ns.
    complete
        Whether the budget was enough; if not, what was searched last may change by more than shown.
    """

    all_wcet: float | None
    wcet: dict[str, int | None]
    period: dict[str, int | None]
    complete: bool = True


def sensitivity(system: System, method: str = "exact") -> Margins:
    """Return the margins of a system.

    Costs about `STEPS` x (1 + callbacks + timers) analyses, but stops at the budget of `MOST` large
    ones.
    """
    with limited(MOST) as budget:

        def met(changed: System) -> bool:
            return budget.left > 0 and analyse(changed, method).met

        is_met = met(system)
        return Margins(
            _all_wcet(system, met),
            {c.name: _wcet(system, c, met) if is_met else None for c in system.callbacks},
            {
                c.name: _period(system, c, met) if is_met else None
                for c in system.callbacks
                if c.kind is Kind.TIMER
            },
            complete=budget.left > 0,
        )


def _largest(low: int, high: int, met: Callable[[int], bool]) -> int:
    """Return a value in [low, high] that meets, close to the largest; `low` is known to meet."""
    for _ in range(STEPS):
        if high - low <= 1:
            break
        middle = (low + high) // 2
        low, high = (middle, high) if met(middle) else (low, middle)
    return low


def _with(system: System, name: str, change: Callable[[Callback], Callback]) -> System:
    callbacks = tuple(change(c) if c.name == name else c for c in system.callbacks)
    return replace(system, callbacks=callbacks)


def _scaled(callback: Callback, parts: int) -> Callback:
    wcet = -(-callback.wcet * parts // 1_000_000)
    return replace(callback, wcet=wcet, bcet=min(callback.bcet, wcet))


def _all_wcet(system: System, met: Callable[[System], bool]) -> float | None:
    def at(parts: int) -> bool:
        scaled = tuple(_scaled(callback, parts) for callback in system.callbacks)
        return met(replace(system, callbacks=scaled))

    if not at(0):
        return None
    parts = _largest(0, MAX_FACTOR * 1_000_000, at)
    return parts / 1_000_000


def _wcet(system: System, callback: Callback, met: Callable[[System], bool]) -> int:
    limit = max(other.period or 0 for other in system.callbacks) + callback.wcet + 1

    def at(wcet: int) -> bool:
        return met(_with(system, callback.name, lambda c: replace(c, wcet=wcet)))

    return _largest(callback.wcet, limit, at)


def _period(system: System, callback: Callback, met: Callable[[System], bool]) -> int:
    period = callback.period or 0

    def at(shorter: int) -> bool:
        value = period - shorter
        if value < max(1, callback.wcet):
            return False

        def change(c: Callback) -> Callback:
            deadline = min(c.deadline or value, value)
            return replace(c, period=value, deadline=deadline)

        return met(_with(system, callback.name, change))

    return period - _largest(0, period, at)
