# Copyright 2026 The rclrt Authors
# SPDX-License-Identifier: Apache-2.0
"""Budgets for the callbacks of a plan, and which deadlines then hold whatever the others need.

A budget must not run out while the callback does as the model says: else the callback would lose
its priority, and nothing that was proved of it would hold. A period of P begins with a job or at
the end of the one before, and holds no more work than that of jobs which are there in it. Those of
a stream with period T and jitter J that each take up to R from their release are

    ceil((P + R + J) / T)

at most (`bounds.demotion`). So the budget is the execution time as many times. The period is the
longest with the least of these. Where others overrun, R and J are longer, and the budget must be
enough for that as well. Budgets that the model has stay.

What a budget takes from others at most: docs/how-to/budgets.md, and `test_budget_bound`.
"""

import math
import time
from collections import Counter
from collections.abc import Iterator
from dataclasses import replace

from rclrt_analysis.bounds.activation import Stream
from rclrt_analysis.bounds.analyse import analyse, with_late_timers
from rclrt_analysis.bounds.demotion import Account, Released, looks_at_anything, with_looks
from rclrt_analysis.bounds.result import Result
from rclrt_analysis.bounds.threads import is_threaded
from rclrt_analysis.model import Above, Budget, Callback, Kind, Policy, System
from rclrt_analysis.model.rules import LEAST_PERIOD, LEAST_RUNTIME
from rclrt_analysis.plan.placement import NAME as TIMER_THREAD

ROUNDS = 4
"""Budgets are made longer so often at most."""

SECONDS = 10.0
"""How long it is looked for what holds whatever others need."""


Budgets = dict[str, Budget]


def choose_budgets(system: System, result: Result) -> tuple[Budgets, tuple[str, ...]]:
    """Return budgets, and what they keep apart.

    Of callbacks that share a CPU with others that are not more urgent: they could hold these up. A
    budget is made longer where its callback may need that beside others that take all of theirs.
    """
    budgets = sufficient_budgets(system, result)
    end = time.monotonic() + SECONDS
    for _ in range(ROUNDS):
        needs: dict[str, int] = {}
        apart = kept_apart(system, budgets, end, needs)
        longer = {n: r for n, r in needs.items() if r > budgets[n].runtime}
        if not longer:
            return budgets, apart
        budgets |= {n: Budget(r, max(r, budgets[n].period)) for n, r in longer.items()}
    return budgets, kept_apart(system, budgets, end)


def sufficient_budgets(system: System, result: Result) -> Budgets:
    """Return budgets that do not run out while everything is as the model says."""
    found: Budgets = {}
    released = _released(system, result)
    for callback in _limitable(system):
        if callback.budget is not None:
            continue
        streams, response = released.streams(callback), released.response(callback)
        if response is not None and streams:
            period = _period(streams, response)
            runtime = max(LEAST_RUNTIME, released.needs(callback, period) or 0)
            found[callback.name] = Budget(runtime, max(period, runtime))
    return found


def beside_looks(system: System, budgets: Budgets) -> Result:
    """Return bounds with what looks at these budgets take, but for their limits."""
    accounts = [Account(name, budget, (name,)) for name, budget in budgets.items()]

    def bounds(part: System) -> tuple[Result, Released]:
        found = analyse(part)
        return found, _released(part, found)

    return with_looks(system, accounts, bounds)[0]


def _limitable(system: System) -> Iterator[Callback]:
    """Yield callbacks that a budget can hold to what they are given.

    In a group of its own: else its priority is lent to it by those that wait. With a priority, and
    not the last on its CPU: else it has nothing to lose.
    """
    groups = Counter((c.executor, c.group) for c in system.callbacks if c.group)
    lowest: dict[tuple[int, ...], list[int]] = {}
    for callback in system.callbacks:
        if callback.executor != TIMER_THREAD:
            cores = system.executor_of[callback.executor].cores
            lowest.setdefault(cores, []).append(callback.priority or 0)
    for callback in system.callbacks:
        executor = system.executor_of[callback.executor]
        if executor.name == TIMER_THREAD or callback.group in dict(executor.budgets):
            continue
        alone = not callback.group or groups[callback.executor, callback.group] == 1
        fixed = executor.policy is Policy.FIXED_PRIORITY and executor.reservation is None
        there = sorted(lowest[executor.cores])
        last = there[:1] == [callback.priority] and there.count(there[0]) == 1
        if is_threaded(executor.kind) and alone and fixed and callback.priority and not last:
            yield callback


def _released(system: System, result: Result) -> Released:
    return Released(
        system, with_late_timers(system), {one.name: one.local for one in result.callbacks}
    )


def _period(streams: tuple[Stream, ...], response: int) -> int:
    """Return the longest period with as few jobs as there may be, and one that is long enough."""
    if len(streams) > 1:
        return max(LEAST_PERIOD, min(stream.period for stream in streams))
    (stream,) = streams
    reach = response + stream.jitter
    period = -(-(LEAST_PERIOD + reach) // stream.period) * stream.period - reach
    # A short one would limit nothing: the jobs that may meet in it fill it.
    return period if period >= stream.period // 2 else period + stream.period


def kept_apart(
    system: System, budgets: Budgets, end: float = math.inf, needs: dict[str, int] | None = None
) -> tuple[str, ...]:
    """Return chains and callbacks whose deadlines hold whatever the others need.

    Those that do not release their callbacks, and have a budget or are less urgent than all of
    them, may take as long and come as often as they like. The others are as the model says, and
    must not run out of their own budgets.

    end: By the monotonic clock: what has not been looked at by then is not in it, s.
    needs: Gets what budgets would have to be for more deadlines to be kept apart, ns.
    """
    if system.overheads.receive:
        return ()  # No budget bounds what the middleware does for messages.
    found = []
    for chain in (*system.chains, None):
        wanted = [chain.callbacks] if chain else [(c.name,) for c in system.callbacks]
        for members in wanted:
            needed = _needed(system, members)
            apart = _apart(system, budgets, needed)
            if apart is None or time.monotonic() > end:
                continue
            bounds = analyse(replace(apart, chains=(chain,) if chain else ()))
            items = [(one.name, one.bound, one.deadline) for one in bounds.chains]
            if chain is None:
                items = [(b.name, b.bound, b.deadline) for b in bounds.callbacks]
                items = [item for item in items if item[0] == members[0]]
            met = [name for name, bound, due in items if bound and due and bound <= due]
            released = _released(apart, bounds)
            for name in sorted(needed & set(budgets)) if met else ():
                need = released.needs(apart.callback_of[name], budgets[name].period)
                if need is None or need > budgets[name].runtime:
                    met = []
                if need is not None and needs is not None:
                    needs[name] = max(need, needs.get(name, 0))
            found += met
    return tuple(found)


def _needed(system: System, members: tuple[str, ...]) -> set[str]:
    found: set[str] = set()
    left = list(members)
    while left:
        name = left.pop()
        if name not in found:
            found.add(name)
            callback = system.callback_of[name]
            left += system.triggered_by(callback)
            left += [p for topic in callback.reads for p in system.publishers.get(topic, ())]
    return found


def _apart(system: System, budgets: Budgets, needed: set[str]) -> System | None:
    """Return what the others leave to those that are needed; None if they leave nothing."""
    cores = {n: set(system.executor_of[system.callback_of[n].executor].cores) for n in needed}
    least: dict[int, int] = {}
    groups = set()
    for name, mine in cores.items():
        callback = system.callback_of[name]
        groups.add((callback.executor, callback.group or f"\0{name}"))
        for core in mine:
            least[core] = min(least.get(core, 100), callback.priority or 0)
    made = []
    said = {c.name: c.budget for c in _limitable(system) if c.budget and c.budget.demotes}
    limited = {**said, **budgets}
    for callback in system.callbacks:
        executor = system.executor_of[callback.executor]
        there = [core for core in executor.cores if core in least]
        if callback.name in needed or executor.name == TIMER_THREAD:
            made.append(callback)
        elif there and callback.name in limited:
            made.append(_limited(callback, limited[callback.name]))
        elif there and not (
            is_threaded(executor.kind)
            and (executor.name, callback.group) not in groups
            and all((callback.priority or 100) < least[core] for core in there)
        ):
            return None
    above = looks_at_anything(system, list(limited.values()))
    return replace(system, callbacks=tuple(made), above=(*above, *_releases(system, needed)))


def _releases(system: System, needed: set[str]) -> Iterator[Above]:
    """Yield what the releases of the other timers take, which no budget limits."""
    cost = system.overheads.release
    for callback in with_late_timers(system).callbacks:
        is_other = callback.name not in needed and callback.executor != TIMER_THREAD
        if cost and is_other and callback.kind is Kind.TIMER and callback.period:
            yield Above(callback.period, callback.jitter, cost)


def _limited(callback: Callback, budget: Budget) -> Callback:
    """Return what a callback takes from others, however it behaves: as docs/how-to/budgets.md."""
    return Callback(
        callback.name,
        Kind.SUBSCRIPTION,  # What its releases cost comes on top.
        callback.executor,
        budget.taken,
        period=budget.period,
        jitter=max(0, budget.period - budget.taken),
        deadline=None,
        priority=callback.priority,
    )
