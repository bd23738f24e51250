# Copyright 2026 The rclrt Authors
# SPDX-License-Identifier: Apache-2.0
"""Bounds for executors that give work to threads of fixed priority, on one core."""

from dataclasses import replace

import numpy as np
from rclrt_analysis.bounds import fixed_priority
from rclrt_analysis.bounds.fifo import with_bursts
from rclrt_analysis.bounds.graph import analyse_graph, begun_in_groups
from rclrt_analysis.bounds.result import Assumption, Local, Method, RefusedError
from rclrt_analysis.bounds.unit import (
    Arrivals,
    Known,
    Unit,
    held_by_publisher,
    make_rows,
    to_locals,
    with_jitter,
)
from rclrt_analysis.model import Callback, Executor, ExecutorKind, Kind, Policy, System

PRIORITY = 2**30
"""Above all that a model may say."""
NAME = "\0middleware"
"""No model has such a name."""

THREADED = (ExecutorKind.ISOLATED, ExecutorKind.PREEMPTIVE)


def with_receivers(system: System) -> System:
    """Return the system with what its messages from other executors cost the CPUs.

    They are above all callbacks. So a message is a job of its own, more urgent than all others, and
    is released together with the job of its reader. Within an executor the thread that publishes
    delivers, and that is part of the execution time of the callback.

    No policy of the reader's executor derives their priority. Beside EDF they run before all
    deadlines.
    """
    receivers = []
    executors: dict[tuple[int, ...], Executor] = {}
    for callback in system.callbacks:
        executor = system.executor_of[callback.executor]
        topics = tuple(
            topic
            for topic in callback.triggers
            if any(
                system.callback_of[name].executor != callback.executor
                for name in system.publishers.get(topic, ())
            )
        )
        outside = callback.kind is not Kind.TIMER and callback.period is not None
        if executor.kind not in THREADED or not (topics or outside):
            continue
        name = f"{NAME} of {', '.join(map(str, executor.cores))}"
        edf = executor.policy is Policy.EDF
        policy = Policy.EDF if edf else Policy.FIXED_PRIORITY
        executors.setdefault(
            executor.cores, Executor(name, ExecutorKind.ISOLATED, policy, cores=executor.cores)
        )
        receivers.append(
            Callback(
                f"{NAME} for {callback.name}", Kind.SUBSCRIPTION, name,
                system.overheads.receive, priority=PRIORITY, triggers=topics,
                period=callback.period if outside else None,
                jitter=callback.jitter if outside else 0, gap=callback.gap if outside else None,
            )
        )  # fmt: skip
    return replace(
        system,
        executors=(*system.executors, *executors.values()),
        callbacks=(*system.callbacks, *receivers),
    )


def read_by(callback: Callback) -> str:
    """Return the name of the callback whose messages it takes; its own if it is no receiver."""
    return callback.name.removeprefix(f"{NAME} for ")


def is_receiver(callback: Callback) -> bool:
    """Return whether it stands for a thread of the middleware."""
    return callback.name.startswith(NAME)


METHOD = Method(
    "preemptive FP, all jobs",
    "Tindell94; Lehoczky90",
    (
        Assumption.WCET,
        Assumption.ALONE,
        Assumption.RELEASE_COST,
        Assumption.NO_SELF_SUSPENSION,
        Assumption.SPORADIC,
        Assumption.INSTANT_TRIGGER,
        Assumption.PRIORITY_INHERITANCE,
        Assumption.ENOUGH_THREADS,
    ),
)


def analyse_core(unit: Unit, arrivals: Arrivals) -> tuple[dict[str, Local], Method]:
    """Return the bounds of all `isolated` and `preemptive` executors of one core.

    Raises RefusedError: See `check_threads`.
    """
    check_threads(unit)
    inside = any(unit.inside(topic) for c in unit.callbacks for topic in c.triggers)
    if unit.system.overheads.transport and inside:
        return _late_messages(unit, arrivals)
    return analyse_graph(unit, arrivals, True, begun_in_groups), METHOD


def _late_messages(unit: Unit, arrivals: Arrivals) -> tuple[dict[str, Local], Method]:
    """Return bounds when messages take time: less urgent work runs while they are on their way."""

    def bounds(known: Known) -> dict[str, Local]:
        rows = make_rows(unit, known)
        held = {urgency: _held(unit, urgency) for urgency in set(rows.tasks.priority.tolist())}
        blocking = np.array([held[u] for u in rows.tasks.priority.tolist()], dtype=np.int64)
        releases = unit.releases(len(rows.tasks))
        responses = fixed_priority.preemptive(rows.tasks, blocking, releases)
        return to_locals(unit, rows, responses, known)

    method = replace(METHOD, name="preemptive FP with jitter, all jobs")
    return with_jitter(unit, arrivals, bounds), method


def _held(unit: Unit, urgency: int) -> int:
    """Return what less urgent jobs may hold groups for, ns [Sha90]: one job of each group."""
    members: dict[tuple[str, str], list[Callback]] = {}
    for callback in unit.callbacks:
        if callback.group:
            members.setdefault((callback.executor, callback.group), []).append(callback)
    total = held_by_publisher(unit, urgency)
    for group in members.values():
        if max(unit.urgency[c.name] for c in group) >= urgency:
            lower = (c.wcet + unit.extra for c in group if unit.urgency[c.name] < urgency)
            total += max(lower, default=0)
    return total


RESERVED = Method(
    "reservation, any order",
    "Shin03; Davis07; Lehoczky90",
    (
        Assumption.WCET,
        Assumption.NO_SELF_SUSPENSION,
        Assumption.SPORADIC,
        Assumption.INSTANT_TRIGGER,
        Assumption.RESERVED,
    ),
)


def analyse_reserved(unit: Unit, arrivals: Arrivals) -> tuple[dict[str, Local], Method]:
    """Return the bounds of one group whose thread has a reservation.

    Its callbacks are taken to run in any order, so each waits for all that comes of the others.
    """
    unit = with_bursts(unit, arrivals)

    def bounds(known: Known) -> dict[str, Local]:
        rows = make_rows(unit, known)
        alike = replace(rows.tasks, priority=np.zeros(len(rows.tasks), dtype=np.int64))
        return to_locals(unit, rows, fixed_priority.nonpreemptive(alike, supply=unit.supply), known)

    return with_jitter(unit, arrivals, bounds), RESERVED


def check_threads(unit: Unit) -> None:
    """Refuse EDF beside priorities, which do not compare, and fewer threads than groups."""
    policies = {executor.policy for executor in unit.executors}
    if len(policies) > 1 and Policy.EDF in policies:
        names = ", ".join(sorted(policy.value for policy in policies))
        raise RefusedError(f"policies {names} on the same cores: their priorities do not compare")
    for executor in unit.executors:
        mine = [c for c in unit.callbacks if c.executor == executor.name]
        groups = len({c.group or f"\0{c.name}" for c in mine})
        if executor.threads is not None and executor.threads < groups:
            raise RefusedError(
                f"'{executor.name}' has {executor.threads} threads for {groups} groups: work of "
                "low priority may hold them all. Give it as many threads as groups"
            )


def is_threaded(kind: ExecutorKind) -> bool:
    """Return whether an executor of this kind runs callbacks on threads of their own priority."""
    return kind in (ExecutorKind.ISOLATED, ExecutorKind.PREEMPTIVE)
