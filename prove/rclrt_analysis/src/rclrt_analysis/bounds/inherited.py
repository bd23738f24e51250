# Copyright 2026 The rclrt Authors
# SPDX-License-Identifier: Apache-2.0
"""By when jobs are due that have the deadline of the job that published."""

from dataclasses import dataclass

from rclrt_analysis.bounds.nonpreemptive_edf import NO_DEADLINE
from rclrt_analysis.bounds.unit import Unit
from rclrt_analysis.model import Callback, Kind, Policy, System


@dataclass(frozen=True)
class Due:
    """By when the jobs of one callback are due.

    latest: So long after its release a job is due at the latest, ns. Of a timer, and of what one
        timer alone leads to, also so long after the timer's grid, and never before.
    may_be_early: A job may be due at any time before, even before it is released.
    """

    latest: int
    may_be_early: bool


def inherited_deadlines(unit: Unit) -> dict[str, Due]:
    """Return by when the jobs of a unit under EDF are due, as its engine has it.

    A deadline that travels is not later than that of the job that set it, counted from there, so
    all the less from the release of each job behind. Where one way leads to a callback it is just
    that one. Where several do, from other executors too, it may be that of whoever published. And
    what the callbacks of a group have taken, and handed on to nobody, a job of the group hands on
    when it publishes: the earliest of it, however long ago it was taken (rclrt_core/callback.hpp).

    A deadline that counts from a stamp is no later than if it counted from the release, and no
    earlier than the release less the clock error, whatever the stamp says. If the publisher's own
    deadline is known, it is that one. So the bounds hold for any clocks.
    """
    system = unit.system
    latest = _latest(system)
    found: dict[str, Due] = {}
    for callback in unit.in_order:
        parents = system.triggered_by(callback)
        early = False
        if callback.is_stamped:
            early = True
        elif inherits(callback) and parents:
            alone = len(parents) == 1 and callback.period is None and parents[0] in unit.names
            early = not alone or found[parents[0]].may_be_early or _brings(unit, parents[0])
        found[callback.name] = Due(latest[callback.name], early)
    return found


def inherits(callback: Callback) -> bool:
    """Return whether a message may bring the deadline of its jobs."""
    return callback.is_stamped or (callback.deadline is None and callback.kind is not Kind.TIMER)


def _latest(system: System) -> dict[str, int]:
    """Return `Due.latest` of every callback; of messages of executors without EDF nobody knows."""
    found: dict[str, int] = {}
    for name in system.topological:
        callback = system.callback_of[name]
        if callback.deadline is not None:
            found[name] = max(callback.deadline, _carried(system, callback))
            continue
        parents = system.triggered_by(callback)
        dues = [
            found[parent]
            if system.executor_of[system.callback_of[parent].executor].policy is Policy.EDF
            else NO_DEADLINE
            for parent in parents
        ]
        dues += [NO_DEADLINE] * (callback.period is not None or not parents)
        found[name] = max(dues)
    return found


def _carried(system: System, callback: Callback) -> int:
    """Return the latest deadline that a message may bring to a stamped callback; 0: none.

    It is that of a job that led to this one, counted from its release, which was earlier.
    """
    latest = 0
    left = system.triggered_by(callback) if callback.is_stamped else []
    known = set(left)
    while left:
        publisher = system.callback_of[left.pop()]
        latest = max(latest, publisher.deadline or 0)
        new = set(system.triggered_by(publisher)) - known
        known |= new
        left += new
    return latest


def _brings(unit: Unit, name: str) -> bool:
    """Return whether a callback hands on what others of its group have taken as well."""
    callback = unit.system.callback_of[name]
    return inherits(callback) and any(
        other.group == callback.group
        and other.executor == callback.executor
        and other.name != name
        and inherits(other)
        and other.triggers
        for other in unit.callbacks
        if callback.group
    )
