# Copyright 2026 The rclrt Authors
# SPDX-License-Identifier: Apache-2.0
"""Priorities by what is due first: a callback's own deadline, or what its chains leave for work."""

from __future__ import annotations

from rclrt_analysis.model import Chain, Kind, System
from rclrt_analysis.plan.levels import HIGHEST, LIFTS, LOWEST

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
