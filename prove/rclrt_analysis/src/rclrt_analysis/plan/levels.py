# Copyright 2026 The rclrt Authors
# SPDX-License-Identifier: Apache-2.0
"""Priorities level by level, for a whole system with chains, by the system's own analysis.

All open callbacks start on the lowest level. Those that no missed deadline needs stay there; the
others rise by one level, and so on. For independent timers on one core, or one thread, that is
Audsley's assignment [Audsley91] with the exact test: if any priorities meet all deadlines, these
do. For chains it is a heuristic: a chain that is late lifts all of its callbacks.
"""

from collections.abc import Callable, Iterable, Mapping
from dataclasses import dataclass, replace

from rclrt_analysis.bounds.result import CallbackBound, ChainBound, Result
from rclrt_analysis.model import Chain, Kind, System

LOWEST = 10
HIGHEST = 89
"""Above are the thread of timers and those of the middleware."""

LIFTS = 8
"""How often a search lifts late chains above all others."""

Item = CallbackBound | ChainBound
Analyse = Callable[[System], Result]
Score = tuple[int, float, float]


def unmet(result: Result) -> list[Item]:
    """Return callbacks and chains that miss their deadline, or have neither that nor a bound."""
    items: tuple[Item, ...] = (*result.callbacks, *result.chains)
    return [i for i in items if not (i.met or (i.met is None and i.bound is not None))]


def score(result: Result) -> Score:
    """Return how far from met all deadlines are, less is better.

    How many are not, by what share of them in sum, and how little slack there is.
    """
    items: tuple[Item, ...] = (*result.callbacks, *result.chains)
    late = 0.0
    slack = 1.0
    for item in items:
        if item.bound is None:
            late += 10
        elif item.deadline:
            ratio = item.bound / item.deadline
            late += min(10, max(0, ratio - 1))
            slack = min(slack, 1 - ratio)
    return len(unmet(result)), late, -slack


def with_levels(system: System, levels: Mapping[str, int]) -> System:
    """Return the system with these priorities."""
    return system.each(lambda c: replace(c, priority=levels.get(c.name, c.priority)))


@dataclass
class Assigned:
    """Priorities, and what they give.

    stuck: No callback could stay on some level: for independent timers no priorities do.
    """

    system: System
    levels: dict[str, int]
    result: Result
    stuck: bool = False


def assign(
    system: System, names: Iterable[str], analyse: Analyse, more: Callable[[], bool]
) -> Assigned:
    """Return priorities for some callbacks; those of the others stay.

    more: Whether there is time for another analysis.
    """
    levels = dict.fromkeys(names, LOWEST)
    fixed = sorted({c.priority for c in system.callbacks if c.name not in levels and c.priority})
    rising = set(levels)
    level, stuck = LOWEST, False
    best: Assigned | None = None
    while True:
        tried = with_levels(system, levels)
        result = analyse(tried)
        now = Assigned(tried, dict(levels), result)
        if best is None or score(result) < score(best.result):
            best = now
        lifted = needed(tried, result) & rising
        if not unmet(result) or not lifted or not more():
            break
        if lifted == rising:
            # Nobody can stay. Above what the user fixed there may be room, and else the one with
            # the latest deadline stays, though it misses.
            higher = next((p + 1 for p in fixed if p >= level), None)
            if higher is None or higher > HIGHEST:
                stuck = True
                lifted = _without_least_urgent(tried, result, rising)
            else:
                level = higher - 1
        if level >= HIGHEST or not lifted:
            break
        level += 1
        levels.update(dict.fromkeys(lifted, level))
        rising = lifted
    best.stuck = stuck
    return best


def needed(system: System, result: Result) -> set[str]:
    """Return the callbacks that missed deadlines need to be more urgent."""
    found: set[str] = set()
    for bound in result.callbacks:
        if bound.met is False:
            found.add(bound.name)
    for chain, bounds in zip(system.chains, result.chains, strict=True):
        if bounds.met is False:
            found.update(chain.callbacks)
    return found


def _without_least_urgent(system: System, result: Result, rising: set[str]) -> set[str]:
    """Return all but the callbacks with the latest deadline, their own or a chain's."""
    due: dict[str, int] = {}
    for callback in system.callbacks:
        if callback.name in rising and callback.deadline:
            due[callback.name] = callback.deadline
    for chain in system.chains:
        for name in chain.callbacks:
            if name in rising and chain.deadline:
                due[name] = min(due.get(name, 2**62), chain.deadline)
    latest = max((due.get(name, 2**62) for name in rising), default=0)
    return {name for name in rising if due.get(name, 2**62) < latest}


NEVER = 2**62


def by_due(system: System, names: list[str]) -> dict[str, int]:
    """Return priorities of some callbacks: what is due first is the most urgent.

    Deadline monotonic [Leung82], with chains: of a chain's deadline the waiting that no priority
    shortens is taken off. Of callbacks without any deadline, those released more often come first.
    """
    due = {c.name: c.deadline or NEVER for c in system.callbacks}
    gap = _gaps(system)
    for chain in system.chains:
        if chain.deadline:
            left = max(1, chain.deadline - _waits(system, chain, gap))
            due.update((name, min(due[name], left)) for name in chain.callbacks)
    ranks = {n: due[n] if due[n] < NEVER else NEVER + min(gap[n] or NEVER, NEVER) for n in names}
    order = sorted(set(ranks.values()))
    # With room above, to lift what is late.
    top = min(HIGHEST - LIFTS, LOWEST + len(order) - 1)
    level = {rank: max(LOWEST, top - i) for i, rank in enumerate(order)}
    return {name: level[rank] for name, rank in ranks.items()}


def _gaps(system: System) -> dict[str, int | None]:
    """Return about how far apart the releases of each callback are."""
    gap: dict[str, int | None] = {}
    for name in system.topological:
        callback = system.callback_of[name]
        inputs = [gap[p] for p in system.triggered_by(callback)]
        known = [one for one in inputs if one is not None]
        if callback.period is not None:
            known = [*known, callback.period] if not callback.wants_all else known
        choose = max if callback.wants_all else min
        gap[name] = choose(known) if known else None
    return gap


def _waits(system: System, chain: Chain, gap: dict[str, int | None]) -> int:
    first = system.callback_of[chain.callbacks[0]]
    total = 0
    if chain.semantics == "age" or (chain.semantics == "reaction" and first.kind is Kind.TIMER):
        total += gap[first.name] or 0
    for before, name in zip(chain.callbacks, chain.callbacks[1:], strict=False):
        callback = system.callback_of[name]
        published = set(system.callback_of[before].publishes)
        if not published & set(callback.triggers):
            total += gap[name] or 0
        elif callback.wants_all and chain.join == "wait":
            others = [
                gap[p]
                for topic in callback.triggers
                if topic not in published
                for p in system.publishers.get(topic, ())
            ]
            total += max((one for one in others if one), default=0)
    return total
