# Copyright 2026 The rclrt Authors
# SPDX-License-Identifier: Apache-2.0
"""How far a system is from missing a deadline: by how much its times may change.

Each answer is searched with the analysis itself, so it is as tight as that. A bound can grow where
an execution time shrinks (an anomaly of non-preemptive work); what is returned was itself analysed
and meets every deadline.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass, replace

import numpy as np
import numpy.typing as npt

from rclrt_analysis.bounds.activation import loads
from rclrt_analysis.bounds.analyse import analyse
from rclrt_analysis.bounds.effort import limited
from rclrt_analysis.bounds.result import CallbackBound, ChainBound, Result
from rclrt_analysis.model import Callback, Kind, System

STEPS = 20
"""An answer is exact to the range of its search over two to the power of this."""

LINES = 3
"""How often a straight line may mislead a search before it goes on by bisection."""

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
        Whether the effort was enough; if not, what was searched last may change by more than shown.
    """

    all_wcet: float | None
    wcet: dict[str, int | None]
    period: dict[str, int | None]
    complete: bool = True


def sensitivity(system: System, method: str = "exact") -> Margins:
    """Return the margins of a system.

    Costs some analyses for each callback and timer, so it grows with the square of the system: each
    answer is its own, and every callback has a say in it. Stops at the effort of `MOST` large ones.
    """
    with limited(MOST) as effort:

        def late(changed: System) -> Lateness:
            if effort.left <= 0:
                return _UNKNOWN
            return _lateness(changed, analyse(changed, method))

        now = late(system)
        wcet: dict[str, int | None] = {}
        period: dict[str, int | None] = {}
        # What one may change by is often about what the one before it may.
        more = less = 0.0
        for i, callback in enumerate(system.callbacks):
            wcet[callback.name] = longest = _wcet(system, i, late, now, more) if now.met else None
            more = max(1, (longest or 0) - callback.wcet)
            if callback.kind is Kind.TIMER:
                shortest = _period(system, i, late, now, less) if now.met else None
                period[callback.name] = shortest
                less = max(1, (callback.period or 0) - (shortest or 0))
        all_wcet = _all_wcet(system, late)
        complete = effort.left > 0 and not effort.memory.cut
        return Margins(all_wcet, wcet, period, complete)


@dataclass(frozen=True)
class Lateness:
    """Whether all deadlines are met, and by how much not.

    Attributes
    ----------
    of
        By how much each bound exceeds its deadline, ns: of all callbacks, then of all chains. Then
        by how much work exceeds what the cores of each executor can do, as a share: where that is
        so there is no bound to say how far off it is.
    """

    met: bool
    of: npt.NDArray[np.float64]


_UNKNOWN = Lateness(False, np.array([np.inf]))
Late = Callable[[System], Lateness]


def _lateness(system: System, result: Result) -> Lateness:
    items: tuple[CallbackBound | ChainBound, ...] = (*result.callbacks, *result.chains)
    late = [
        np.inf if i.bound is None else 0 if i.deadline is None else i.bound - i.deadline
        for i in items
    ]
    return Lateness(max(late, default=0) <= 0, np.array(late + _overload(system)))


def _overload(system: System) -> list[float]:
    over = {executor.cores: -float(len(executor.cores)) for executor in system.executors}
    for name, load in loads(system).items():
        over[system.executor_of[system.callback_of[name].executor].cores] += load
    return list(over.values())


def _largest(
    low: int,
    high: int,
    late: Callable[[int], Lateness],
    at_low: Lateness,
    first: float,
    guess: float = 0,
) -> int:
    """Return a value in [low, high] that meets, close to the largest.

    The first two steps go to both sides of the guess, if there is one. Lateness grows piece by
    piece along straight lines. So a step goes to where the line between two values meets a
    deadline. Where that does not halve what is left, because lateness leaps, steps go to the
    middle.

    Parameters
    ----------
    at_low
        The lateness there, where all is met.
    first
        How far from there the first step goes.
    guess
        How far it may be to the answer.
    """
    exact = max(1, (high - low) >> STEPS)
    guessed = low + int(guess) if guess else high
    far, top = max(exact, int(min(first, high - low))), high
    step = min(int(guess) + exact, far) if guess else far
    at_top = _UNKNOWN
    while True:
        value = min(high, low + step)
        at_top = late(value)
        if not at_top.met:
            top = value
            break
        low, at_low, step, far = value, at_top, max(far, 2 * step), 0
        if value == high:
            return high
    tries = LINES
    while top - low > exact:
        left = top - low
        if low < guessed < top:
            value, guessed = guessed, high
        elif tries:
            # Just below, so that the step after it settles the matter.
            value = _crossing(low, top, at_low.of, at_top.of) - exact // 2
        else:
            value = low + left // 2
        value = min(max(value, low + exact), top - 1)
        at_value = late(value)
        if at_value.met:
            low, at_low = value, at_value
        else:
            top, at_top = value, at_value
        if 2 * (top - low) > left + 1:
            tries = max(0, tries - 1)
    return low


def _crossing(
    low: int, top: int, at_low: npt.NDArray[np.float64], at_top: npt.NDArray[np.float64]
) -> int:
    """Return where the first of the lines between two values meets its deadline."""
    if len(at_low) != len(at_top):
        return (low + top) // 2
    over = (at_top > 0) & np.isfinite(at_top) & (at_low < at_top)
    share = -at_low[over] / (at_top[over] - at_low[over])
    return low + int((top - low) * float(share.min(initial=1)) if over.any() else (top - low) // 2)


def _scaled(callback: Callback, parts: int) -> Callback:
    wcet = -(-callback.wcet * parts // 1_000_000)
    return replace(callback, wcet=wcet, bcet=min(callback.bcet, wcet))


def _all_wcet(system: System, late: Late) -> float | None:
    def at(parts: int) -> Lateness:
        return late(system.each(lambda c: _scaled(c, parts)))

    at_none = at(0)
    if not at_none.met:
        return None
    return _largest(0, MAX_FACTOR * 1_000_000, at, at_none, 2_000_000) / 1_000_000


def _wcet(system: System, number: int, late: Late, now: Lateness, guess: float) -> int:
    callback = system.callbacks[number]
    limit = max(other.period or 0 for other in system.callbacks) + callback.wcet + 1

    def at(wcet: int) -> Lateness:
        return late(system.but(callback.name, wcet=wcet))

    return _largest(callback.wcet, limit, at, now, _slack(now, number, callback), guess)


def _period(system: System, number: int, late: Late, now: Lateness, guess: float) -> int:
    callback = system.callbacks[number]
    period = callback.period or 0

    def at(shorter: int) -> Lateness:
        value = period - shorter
        if value < max(1, callback.wcet):
            return _UNKNOWN
        due = min(callback.deadline or value, value)
        return late(system.but(callback.name, period=value, deadline=due))

    return period - _largest(0, period, at, now, _slack(now, number, callback), guess)


def _slack(now: Lateness, number: int, callback: Callback) -> float:
    """Return a first step: more is seldom possible."""
    return np.inf if callback.deadline is None else -float(now.of[number])
