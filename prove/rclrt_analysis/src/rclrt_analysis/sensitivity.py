# Copyright 2026 The rclrt Authors
# SPDX-License-Identifier: Apache-2.0
"""How far a system is from missing a deadline: by how much its times may change.

Each answer is searched with the analysis itself, so it is as tight as that. A bound can grow where
an execution time shrinks (an anomaly of non-preemptive work); what is returned was itself analysed
and meets every deadline.
"""

from collections.abc import Callable
from dataclasses import dataclass, replace

import numpy as np
import numpy.typing as npt

from rclrt_analysis.bounds.activation import loads, rates
from rclrt_analysis.bounds.analyse import analyse
from rclrt_analysis.bounds.effort import limited
from rclrt_analysis.bounds.result import CallbackBound, ChainBound, Result
from rclrt_analysis.bounds.unit import KEPT
from rclrt_analysis.model import Callback, Kind, Policy, System

STEPS = 20
"""An answer is exact to the range of its search over two to the power of this."""

LINES = 3
"""How often a straight line may mislead a search before it goes on by bisection."""

STEPS_OF_PERIODS = 12
"""STEPS for periods: bounds leap when one more job fits into a window, so lines tell nothing."""

ROOM = 0.01
"""Under EDF an answer may leave so much of a core free."""

MAX_FACTOR = 64

MOST = 10
"""All answers together may compute as much as so many analyses of the largest systems."""


@dataclass(frozen=True)
class Margins:
    """By how much times may change so that every deadline is still met.

    all_wcet: Factor on all execution times together; below 1 they must shrink, None: nothing helps.
    wcet: Longest execution time of every callback, others unchanged, ns; None if no deadline is
        met.
    period: Shortest period of every timer, its deadline with it, others unchanged, ns.
    complete: Whether the effort was enough; if not, what was searched last may change by more than
        shown.
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
        # What is released as often on the same executor may often change by as much, or what was
        # searched there last.
        rate = rates(system)
        more: dict[tuple[str, float], int] = {}
        less: dict[tuple[str, float], int] = {}
        for i, callback in enumerate(system.callbacks):
            name, last = callback.name, (callback.executor, 0.0)
            alike = (callback.executor, rate[name])
            guess = more.get(alike, more.get(last))
            wcet[name] = longest = _wcet(system, i, late, now, guess) if now.met else None
            more[alike] = more[last] = (longest or 0) - callback.wcet
            if callback.kind is Kind.TIMER:
                shortest = _period(system, i, late, now, less.get(alike)) if now.met else None
                period[name] = shortest
                less[alike] = (callback.period or 0) - (shortest or 0)
        all_wcet = _all_wcet(system, late)
        complete = effort.left > 0 and not effort.memory.cut
        return Margins(all_wcet, wcet, period, complete)


@dataclass(frozen=True)
class Lateness:
    """Whether all deadlines are met, and by how much not.

    of: By how much each bound exceeds its deadline, ns: of all callbacks, then of all chains. Then
        by how much work exceeds what the cores of each executor can do, as a share: where that is
        so there is no bound to say how far off it is.
    cores: How many of these shares there are.
    """

    met: bool
    of: npt.NDArray[np.float64]
    cores: int = 1


_UNKNOWN = Lateness(False, np.array([np.inf]))
Late = Callable[[System], Lateness]


def _lateness(system: System, result: Result) -> Lateness:
    items: tuple[CallbackBound | ChainBound, ...] = (*result.callbacks, *result.chains)
    late = [
        np.inf if i.bound is None else 0 if i.deadline is None else i.bound - i.deadline
        for i in items
    ]
    over = _overload(system)
    return Lateness(max(late, default=0) <= 0, np.array(late + over), len(over))


def _overload(system: System) -> list[float]:
    over = {executor.cores: -float(len(executor.cores)) for executor in system.executors}
    for name, load in loads(system).items():
        over[system.executor_of[system.callback_of[name].executor].cores] += load
    return list(over.values())


Settled = Callable[[int, Lateness], bool]


def _largest(
    low: int,
    high: int,
    late: Callable[[int], Lateness],
    at_low: Lateness,
    first: float,
    exact: int,
    guess: int | None = None,
    settled: Settled = lambda *_: False,
) -> int:
    """Return a value in [low, high] that meets, close to the largest.

    The first two steps go to the guess and just above it, if there is one. Lateness grows piece by
    piece along straight lines. So a step goes to where the line between two values meets a
    deadline. Where that does not halve what is left, because lateness leaps, steps go to the
    middle.

    at_low: The lateness there, where all is met.
    first: How far from there the first step without a guess goes.
    exact: How far the answer may be from the largest.
    guess: How far it may be to the answer.
    settled: Whether a value that meets is known to be close to the largest, given its lateness.
    """
    far, top = max(exact, int(min(first, high - low))), high
    steps = [far] if guess is None else [far, exact, guess] if guess else [far, exact]
    at_top = _UNKNOWN
    while True:
        value = min(high, low + steps.pop())
        at_top = late(value)
        if not at_top.met:
            top = value
            break
        if value == high or settled(value, at_top):
            return value
        far = max(2 * far, exact)
        steps = steps or [_ahead(value - low, at_low, at_top, far)]
        low, at_low = value, at_top
    tries = LINES
    while top - low > exact:
        left = top - low
        # Just below where lines cross, so that the step after it settles the matter.
        crossing = _crossing(low, top, at_low.of, at_top.of) - exact // 2
        value = crossing if tries else low + left // 2
        value = min(max(value, low + exact), top - 1)
        at_value = late(value)
        if at_value.met:
            low, at_low = value, at_value
            if settled(value, at_value):
                break
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


def _ahead(step: int, at_low: Lateness, at_value: Lateness, far: int) -> int:
    """Return how far on the first of the lines from one value to another meets its deadline."""
    grown = at_value.of - at_low.of
    over = (grown > 0) & (at_value.of < 0)
    return int(min(-at_value.of[over] / grown[over] * step, default=far))


def _scaled(callback: Callback, parts: int) -> Callback:
    wcet = -(-callback.wcet * parts // 1_000_000)
    return replace(callback, wcet=wcet, bcet=min(callback.bcet, wcet))


def _all_wcet(system: System, late: Late) -> float | None:
    def at(parts: int) -> Lateness:
        return late(system.each(lambda c: _scaled(c, parts)))

    at_none = at(0)
    if not at_none.met:
        return None
    exact = MAX_FACTOR * 1_000_000 >> STEPS
    return _largest(0, MAX_FACTOR * 1_000_000, at, at_none, 2_000_000, exact) / 1_000_000


def _wcet(system: System, number: int, late: Late, now: Lateness, guess: int | None) -> int:
    callback = system.callbacks[number]
    least = callback.wcet
    limit = max(other.period or 0 for other in system.callbacks) + least + 1

    def at(wcet: int) -> Lateness:
        return late(system.but(callback.name, wcet=wcet))

    def settled(wcet: int, at_wcet: Lateness) -> bool:
        # On one core each ns that a bound waits for a callback longer counts once or more often.
        # What no callback skips has no bound once a core is full: the load grows along a line.
        grown = at_wcet.of - now.of
        near = np.full(len(grown), exact, dtype=np.float64)
        near[-now.cores :] = kept * grown[-now.cores :] * exact / (wcet - least)
        over = (grown > 0) & (at_wcet.of > -near)
        return one_core and (bool(over.any()) or _full(system, at_wcet, now))

    exact = max(1, (limit - least) >> STEPS)
    one_core = all(len(executor.cores) == 1 for executor in system.executors)
    kept = all(executor.kind in KEPT for executor in system.executors)
    first = _slack(now, number, callback)
    return _largest(least, limit, at, now, first, exact, guess, settled)


def _period(system: System, number: int, late: Late, now: Lateness, guess: int | None) -> int:
    callback = system.callbacks[number]
    period = callback.period or 0
    deadline = callback.deadline or period

    def at(shorter: int) -> Lateness:
        value = period - shorter
        if value < max(1, callback.wcet):
            return _UNKNOWN
        return late(system.but(callback.name, period=value, deadline=min(deadline, value)))

    def settled(shorter: int, at_shorter: Lateness) -> bool:
        # Its own deadline comes as much earlier.
        late = period - shorter <= deadline and at_shorter.of[number] > -exact
        return bool(late) or _full(system, at_shorter, now)

    exact = max(1, period >> STEPS_OF_PERIODS)
    first = _slack(now, number, callback)
    return period - _largest(0, period, at, now, first, exact, guess, settled)


def _full(system: System, at_value: Lateness, now: Lateness) -> bool:
    """Return whether a change nearly fills a core: beyond, deadlines take long to look through."""
    if all(executor.policy is not Policy.EDF for executor in system.executors):
        return False
    shares, before = (one.of[-one.cores :] for one in (at_value, now))
    return bool(np.any((shares > before) & (shares > -ROOM)))


def _slack(now: Lateness, number: int, callback: Callback) -> float:
    """Return a first step: more is seldom possible, or if it has no deadline, some may be."""
    if callback.deadline is not None:
        return -float(now.of[number])
    return float(min(-now.of[: -now.cores][now.of[: -now.cores] < 0], default=np.inf))
