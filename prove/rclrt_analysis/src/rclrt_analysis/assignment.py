# Copyright 2026 The rclrt Authors
# SPDX-License-Identifier: Apache-2.0
"""Priorities for a system: by rate, or by chain. `plan.levels` searches for them.

Each returns priorities by name, larger is more urgent, of those that SCHED_FIFO has. Callbacks
without one inherit from what releases them. `with_priorities` puts them into a system, where the
analysis says whether they do.
"""

from collections.abc import Callable, Mapping, Sequence
from dataclasses import replace

from rclrt_analysis.bounds.activation import ranked
from rclrt_analysis.model import Callback, Policy, System
from rclrt_analysis.model.links import FIRST_CORE

HIGHEST = 99
"""The highest priority of SCHED_FIFO; the lowest is 1."""


def with_priorities(system: System, priorities: Mapping[str, int]) -> System:
    """Return the system under fixed priorities: those given, the others inherit.

    An engine inherits from its own callbacks alone. So what others release is given the priority of
    the most urgent of them.

    Raises ValueError: A priority does not exist, or it has a serial link, whose messages have got
        the priorities that the model says.
    """
    for name, priority in priorities.items():
        if not 1 <= priority <= HIGHEST:
            raise ValueError(f"'{name}' has priority {priority}: there are 1 to {HIGHEST}")
    priorities = {**_from_outside(system, priorities), **priorities}
    if any(max(executor.cores) > FIRST_CORE for executor in system.executors):
        raise ValueError("a system with a link has the priorities of its model: change them there")
    executors = tuple(replace(one, policy=Policy.FIXED_PRIORITY) for one in system.executors)
    system = replace(system, executors=executors)
    return system.each(lambda c: replace(c, priority=priorities.get(c.name)))


def _roots(system: System) -> list[Callback]:
    return [callback for callback in system.callbacks if callback.period is not None]


def _from_outside(system: System, priorities: Mapping[str, int]) -> dict[str, int]:
    """Return the priorities of what other executors release, and of what nothing here ranks."""
    found: dict[str, int] = {}
    known = dict(priorities)
    for name in system.topological:
        if name in known:
            continue
        callback = system.callback_of[name]
        parents = [system.callback_of[parent] for parent in system.triggered_by(callback)]
        known[name] = max((known[parent.name] for parent in parents), default=1)
        if not parents or any(parent.executor != callback.executor for parent in parents):
            found[name] = known[name]
    return found


def _by(key: Callable[[Callback], int], callbacks: Sequence[Callback]) -> dict[str, int]:
    """Return the least key first; equal ones share a priority if there are too few."""
    if len(callbacks) > HIGHEST:
        return ranked({callback.name: key(callback) for callback in callbacks}, 1, HIGHEST)
    return _in_order([callback.name for callback in sorted(callbacks, key=key)])


def _in_order(names: Sequence[str]) -> dict[str, int]:
    """Return the first the most urgent; if there are too many, the last share the lowest."""
    top = min(len(names), HIGHEST)
    return {name: max(1, top - i) for i, name in enumerate(names)}


def rate_monotonic(system: System) -> dict[str, int]:
    """Return more urgent for a shorter period; equal ones in the order of the model.

    With more callbacks than priorities, equal ones share one and the last share the lowest.

    Optimal for preemptive tasks with deadlines at their periods [Liu73], not without preemption.
    """
    return _by(lambda callback: callback.period or 0, _roots(system))


def by_chain(system: System) -> dict[str, int]:
    """Return the priorities of PiCAS [Choi21]: whole chains above each other.

    All callbacks of a more critical chain are more urgent than those of a less critical one; within
    a chain later ones are more urgent, so that data that are under way come through before new ones
    start. Callbacks of no chain come last, by the deadline of what releases them: they must not
    inherit from a chain. A callback of several chains belongs to the first. Chains of shorter
    deadlines are more critical.
    """
    ranked: dict[str, None] = {}
    for chain in sorted(system.chains, key=lambda chain: chain.deadline or 2**62):
        ranked.update(dict.fromkeys(reversed(chain.callbacks)))
    due: dict[str, int] = {}
    for name in system.topological:
        callback = system.callback_of[name]
        parents = [due[parent] for parent in system.triggered_by(callback)]
        due[name] = callback.deadline or min(parents, default=2**62)
    rest = sorted((name for name in due if name not in ranked), key=lambda name: due[name])
    names = [*ranked, *rest]
    return _in_order(names)
