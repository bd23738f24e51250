# Copyright 2026 The rclrt Authors
# SPDX-License-Identifier: Apache-2.0
"""What the thread that watches budgets takes from everybody (docs/decisions/0016-budgets.md).

It looks at a job with a budget Q when the job begins, and once after it has ended. In between it
sleeps for what is left of the budget, s = max(Q / 32, 50 us) at least, and looks again: the job
was preempted. Let the jobs of a period use up to C' of Q. What is left is then Q - C' or more. So
each further look takes max(Q - C', s) in which the job did not run, but for s in all. A job that is
preempted for P is looked at 3 + P / max(Q - C', s) times, with P the bound of its response less its
own execution time.

All of it is from the release of the job to Q after its end. A look costs `watch`, with up to
`TOGETHER` jobs that have begun; beside more of them there are more turns in a look. The thread is
of no CPU in particular, so all looks count on each core, and before all callbacks there.
"""

from __future__ import annotations

from collections.abc import Callable, Collection, Sequence
from dataclasses import replace
from typing import TYPE_CHECKING

from rclrt_analysis.bounds.result import Result
from rclrt_analysis.model import Above, Budget, System

if TYPE_CHECKING:
    from rclrt_analysis.bounds.demotion import Account, Released

TOGETHER = 4
"""Jobs that the engine looks at in one turn."""

ROUNDS = 30
FULL = Above(1, 0, 1)

SLEEPS = 32
SLEEPS_NS = 50_000
"""It sleeps for one of so many parts of a budget, and for so long, at least."""


def looks(
    system: System, accounts: Sequence[Account], released: Released
) -> tuple[Above, ...] | None:
    """Return what the looks at these take; None if nothing bounds how many there are."""
    cost = system.overheads.watch
    if not cost:
        return ()
    cost *= -(-len({member for one in accounts for member in one.members}) // TOGETHER)
    found = []
    for account in accounts:
        budget = account.budget
        least = max(budget.runtime // SLEEPS, SLEEPS_NS)
        every = [released.needs(system.callback_of[n], budget.period) for n in account.members]
        if any(need is None for need in every):
            return None
        left = budget.runtime - sum(need or 0 for need in every)
        # Jobs that run at the same time divide what is left.
        between = max(least, left if len(account.members) == 1 else 0)
        for name in account.members:
            callback = system.callback_of[name]
            response, waits = released.response(callback), released.preempted(callback)
            if response is None or waits is None:
                return None
            count = 3 + waits // between
            reach = response + budget.runtime
            found += [
                Above(stream.period, stream.jitter + reach, count * cost)
                for stream in released.streams(callback)
            ]
    return tuple(found)


def with_looks(
    system: System,
    accounts: Sequence[Account],
    bounds: Callable[[System], tuple[Result, Released]],
) -> tuple[Result, Released]:
    """Return bounds that agree with how often they let the thread look.

    Where nothing bounds that, these looks are taken to fill all cores.
    """
    above: tuple[Above, ...] | None = ()
    for step in range(ROUNDS):
        last = above is None or step == ROUNDS - 1
        more = (FULL,) if last or above is None else above
        found = bounds(replace(system, above=(*system.above, *more)))
        if last:
            break
        above, before = looks(system, accounts, found[1]), above
        if above == before:
            break
    return found


def looks_at_anything(system: System, budgets: Collection[Budget]) -> tuple[Above, ...]:
    """Return what looks take if callbacks with such budgets come and need what they like.

    From one moment for which the thread had set its alarm to the next it takes the shortest sleep.
    In between each of them makes it look once at most: when it begins, and is due earlier.
    """
    cost = system.overheads.watch
    if not cost or not budgets:
        return ()
    least = min(max(one.runtime // SLEEPS, SLEEPS_NS) for one in budgets)
    return (Above(least, 0, (len(budgets) + 1) * -(-len(budgets) // TOGETHER) * cost),)
