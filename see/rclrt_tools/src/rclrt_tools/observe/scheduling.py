# Copyright 2026 The rclrt Authors
# SPDX-License-Identifier: Apache-2.0
"""Executors, priorities, groups and CPUs, as they were in force for the jobs of a trace."""

from collections.abc import Mapping
from dataclasses import dataclass, field
from typing import Any

import numpy as np

from rclrt_tools.observe.parts import Part
from rclrt_tools.trace import Records, layout

HIGHEST = 99


@dataclass
class Scheduled:
    """What a model says of one callback besides times, and whether deadlines order its jobs."""

    fields: dict[str, Any]
    by_deadline: bool


@dataclass
class Scheduling:
    """The executors that a part becomes, one for each set of CPUs, and why they may be wrong."""

    executors: list[dict[str, Any]] = field(default_factory=list)
    callbacks: dict[int, Scheduled] = field(default_factory=dict)
    doubts: list[str] = field(default_factory=list)


@dataclass(frozen=True)
class _InForce:
    policy: int
    priority: int
    cpus: int


def scheduling_of(
    part: Part, label: str, timers: set[int], names: Mapping[int, str], kind: str
) -> Scheduling:
    """Return how the callbacks of a part were scheduled.

    label: Name of the executor.
    timers: Ids of its timers.
    kind: Of executor, if the trace does not say.
    """
    found = Scheduling()
    doubt = found.doubts.append
    force = {id_: _in_force(jobs, names[id_], found.doubts) for id_, jobs in part.ran.items()}
    events = part.header.model == layout.MODEL_PRIORITY_EVENTS
    if part.header.model in (layout.MODEL_PREEMPTIVE, layout.MODEL_ISOLATED):
        kind = "preemptive" if part.header.model == layout.MODEL_PREEMPTIVE else "isolated"
    elif events:
        kind = "priority_events"
    else:
        doubt(f"the model of {label} is not in the trace; taken for {kind}")
    policy = _policy(part, label, list(force.values()), found.doubts)
    if events and policy == "first_come":
        # Not events_fifo: where several jobs of a callback wait, its equals take turns with it.
        policy = ""
    elif policy == "first_come":
        policy = "fixed_priority"
    equal = kind == "priority_events" and policy == ""  # Priorities do not count.
    has_policy = kind in ("priority_events", "preemptive", "isolated")
    masks = sorted({one.cpus for one in force.values()})
    for mask in masks:
        name = label if len(masks) == 1 else f"{label} on CPUs {_list(mask)}"
        executor: dict[str, Any] = {"name": name, "kind": kind}
        if has_policy:
            executor["policy"] = "fixed_priority" if equal else policy
        if part.header.timers_preempt and kind == "priority_events":
            executor["release"] = "release_and_execute"
            if len(timers) < len(part.ran):
                doubt(f"{label} runs timers on another thread than messages: no model has that")
        executor["cores"] = _cores(mask)
        _threads(part, executor, kind)
        found.executors.append(executor)
        for id_, one in force.items():
            if one.cpus == mask:
                fields: dict[str, Any] = {"executor": name}
                if has_policy and (policy == "fixed_priority" or equal):
                    fields["priority"] = one.priority if policy else 1
                found.callbacks[id_] = Scheduled(fields, executor.get("policy") == "edf")
    _groups(part, found, label)
    return found


def _in_force(jobs: Records, name: str, doubts: list[str]) -> _InForce:
    every = [np.unique(jobs[column]) for column in ("policy", "priority", "cpus")]
    policies, priorities, masks = every
    if max(len(one) for one in every) > 1:
        doubts.append(f"policy, priority or CPUs of '{name}' changed in the course of the trace")
    if len(masks) == 1 and not masks[0]:
        doubts.append(f"the CPUs of '{name}' are not in the trace")
    mask = int(np.bitwise_or.reduce(masks)) or 1
    if mask & layout.MORE_CPUS:
        doubts.append(f"'{name}' may use CPU 63 or one above it, which traces do not tell apart")
    return _InForce(int(policies[-1]), int(priorities.min()), mask)


def _policy(part: Part, label: str, force: list[_InForce], doubts: list[str]) -> str:
    """Return the policy of the model, "first_come" for one that does without."""
    policies = {one.policy for one in force}
    words = ", ".join(sorted(layout.word(layout.POLICIES, policy) for policy in policies))
    if policies & set(layout.FAIR):
        doubts.append(
            f"jobs of {label} ran under {words}: any other program may take their CPU. "
            "Give them fifo, or ext"
        )
        return "rm"
    if policies == {layout.POLICY_EXT}:
        return "edf"
    if not policies <= set(layout.WITH_PRIORITY):
        doubts.append(f"jobs of {label} ran under {words}, of which no model is made")
        return "rm"
    priorities = [one.priority for one in force]
    if not all(1 <= priority <= HIGHEST for priority in priorities):
        doubts.append(f"jobs of {label} have priorities that Linux does not have")
        return "rm"
    several = len(set(priorities)) < len(priorities)
    if several and layout.POLICY_RR in policies:
        doubts.append(f"callbacks of {label} of one priority take turns under rr")
    if several and part.header.ordering != layout.ORDER_FIRST_COME:
        one = len(set(priorities)) == 1 and part.header.model == layout.MODEL_PRIORITY_EVENTS
        if one and part.header.ordering == layout.ORDER_EDF:
            return "edf"
        # Their order among each other is not in the trace. Bounds count equal ones as higher.
    if part.header.model == layout.MODEL_PRIORITY_EVENTS and len(set(priorities)) == 1:
        return "first_come"
    return "fixed_priority"


def _threads(part: Part, executor: dict[str, Any], kind: str) -> None:
    """Say how many threads there are if a job has found none that slept."""
    if kind != "preemptive":
        return
    waited = any(np.any(j["waited_for"] == layout.WAITED_FOR_THREAD) for j in part.ran.values())
    if waited:
        executor["threads"] = min(100_000, max(1, len(part.values_of("thread"))))


def _groups(part: Part, found: Scheduling, label: str) -> None:
    members: dict[int, list[int]] = {}
    for id_ in part.ran:
        members.setdefault(part.callbacks[id_].group, []).append(id_)
    used: set[str] = set()
    for number, ids in members.items():
        entries = [part.callbacks[id_] for id_ in ids]
        if any(entry.parallelism == 0 for entry in entries):
            found.doubts.append(f"groups of {label} are not in the trace")
            continue
        executors = {found.callbacks[id_].fields["executor"] for id_ in ids}
        cores = [e["cores"] for e in found.executors if e["name"] in executors]
        if len(executors) > 1:
            found.doubts.append(f"callbacks of one group of {label} may use different CPUs")
        if any(entry.parallelism > 1 for entry in entries):
            if any(len(one) > 1 for one in cores):
                found.doubts.append(
                    f"a group of {label} runs jobs of one callback in parallel on several CPUs"
                )
            continue
        if len(ids) > 1:
            name = entries[0].group_name[:150] or f"group {number}"
            if name in used:
                name = f"{name} #{number}"
            used.add(name)
            for id_ in ids:
                found.callbacks[id_].fields["group"] = name


def _cores(mask: int) -> list[int]:
    return [cpu for cpu in range(64) if mask >> cpu & 1]


def _list(mask: int) -> str:
    return ",".join(map(str, _cores(mask)))
