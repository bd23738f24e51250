# Copyright 2026 The rclrt Authors
# SPDX-License-Identifier: Apache-2.0
"""Priorities for a system: by rate, by deadline, by Audsley's search, or by chain.

Each returns priorities by name, larger is more urgent. Callbacks without one inherit from what
releases them. `with_priorities` puts them into a system, where the analysis says whether they do.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import replace

import numpy as np

from rclrt_analysis.bounds import nonpreemptive_fp, preemptive_fp
from rclrt_analysis.bounds.releaser import as_interference
from rclrt_analysis.bounds.taskset import TaskSet, make_taskset
from rclrt_analysis.model import Callback, Chain, ExecutorKind, Policy, System
from rclrt_analysis.model.links import FIRST_CORE


def with_priorities(system: System, priorities: Mapping[str, int]) -> System:
    """Return the system under fixed priorities: those given, the others inherit.

    Raises
    ------
    ValueError
        It has a serial link, whose messages have got the priorities that the model says.
    """
    if any(max(executor.cores) > FIRST_CORE for executor in system.executors):
        raise ValueError("a system with a link has the priorities of its model: change them there")
    callbacks = tuple(
        replace(callback, priority=priorities.get(callback.name)) for callback in system.callbacks
    )
    executors = tuple(
        replace(executor, policy=Policy.FIXED_PRIORITY) for executor in system.executors
    )
    return replace(system, callbacks=callbacks, executors=executors)


def _roots(system: System) -> list[Callback]:
    return [callback for callback in system.callbacks if callback.period is not None]


def _ranks(ordered: Sequence[Callback]) -> dict[str, int]:
    return {callback.name: len(ordered) - i for i, callback in enumerate(ordered)}


def rate_monotonic(system: System) -> dict[str, int]:
    """Return more urgent for a shorter period; equal ones in the order of the model.

    Optimal for preemptive tasks with deadlines at their periods [Liu73], not without preemption.
    """
    return _ranks(sorted(_roots(system), key=lambda callback: callback.period or 0))


def deadline_monotonic(system: System) -> dict[str, int]:
    """Return more urgent for a shorter relative deadline; those without one come last.

    Optimal for preemptive tasks with deadlines up to their periods [Leung82].
    """
    return _ranks(sorted(_roots(system), key=lambda callback: callback.deadline or 2**62))


def audsley(tasks: TaskSet, preemptive: bool, release: int = 0) -> list[int] | None:
    """Return priorities with which every deadline is met, or None if there are none [Audsley91].

    The lowest priority goes to any task that meets its deadline with it, and so on upwards. Finds
    priorities whenever there are some for which the bound proves the deadlines, since that depends
    only on which tasks are more urgent, not on their order. The order of `tasks` decides between
    several that would do: the last comes first.

    Parameters
    ----------
    tasks
        Their priorities are ignored.
    preemptive
        Which of the exact bounds decides.
    release
        Cost of a release by the timers thread, ns.

    Returns
    -------
    list of int or None
        n for the most urgent to 1. Costs O(n^2) tests of a single task each within a set.
    """
    n = len(tasks)
    exact = preemptive_fp.exact if preemptive else nonpreemptive_fp.exact
    releases = as_interference(tasks.period, tasks.jitter, release, n) if release else None
    priorities = np.full(n, n + 1, dtype=np.int64)
    left = list(range(n))
    for level in range(1, n + 1):
        for task in reversed(left):
            priorities[task] = level
            tried = make_taskset(tasks.wcet, tasks.period, tasks.deadline, priorities, tasks.jitter)
            if exact(tried, releases=releases).from_grid[task] <= tasks.deadline[task]:
                left.remove(task)
                break
            priorities[task] = n + 1
        else:
            return None
    return [int(priority) for priority in priorities]


def by_search(system: System) -> dict[str, int] | None:
    """Return Audsley's priorities for a system of timers on one executor or core, or None.

    Raises
    ------
    ValueError
        The system has subscriptions or several executors: then the search does not apply.
    """
    kinds = {executor.kind for executor in system.executors if system.members(executor.name)}
    roots = _roots(system)
    if len(roots) != len(system.callbacks) or len(system.executors) != 1:
        raise ValueError("Audsley's search is for timers alone on one executor")
    if not kinds <= {ExecutorKind.PRIORITY_EVENTS, ExecutorKind.ISOLATED}:
        raise ValueError("Audsley's search is for priority_events and isolated executors")
    preemptive = kinds == {ExecutorKind.ISOLATED}
    overheads = system.overheads
    extra = overheads.dispatch + (2 * overheads.context_switch if preemptive else 0)
    tasks = make_taskset(
        [callback.wcet + extra for callback in roots],
        [callback.period or 1 for callback in roots],
        [callback.deadline or 2**62 for callback in roots],
        jitter=[callback.jitter for callback in roots],
    )
    found = audsley(tasks, preemptive, overheads.release)
    if found is None:
        return None
    return {callback.name: rank for callback, rank in zip(roots, found, strict=True)}


def by_chain(system: System, order: Sequence[Chain] | None = None) -> dict[str, int]:
    """Return the priorities of PiCAS [Choi21]: whole chains above each other.

    All callbacks of a more critical chain are more urgent than those of a less critical one; within
    a chain later ones are more urgent, so that data that are under way come through before new ones
    start. Callbacks of no chain come last, by the deadline of what releases them: they must not
    inherit from a chain. A callback of several chains belongs to the first.

    Parameters
    ----------
    order
        Chains from the most critical on; by deadline unless given, those without one last.
    """
    chains = order or sorted(system.chains, key=lambda chain: chain.deadline or 2**62)
    ranked: dict[str, None] = {}
    for chain in chains:
        ranked.update(dict.fromkeys(reversed(chain.callbacks)))
    due: dict[str, int] = {}
    for name in system.topological:
        callback = system.callback_of[name]
        parents = [due[parent] for parent in system.triggered_by(callback)]
        due[name] = callback.deadline or min(parents, default=2**62)
    rest = sorted((name for name in due if name not in ranked), key=lambda name: due[name])
    names = [*ranked, *rest]
    return {name: len(names) - i for i, name in enumerate(names)}
