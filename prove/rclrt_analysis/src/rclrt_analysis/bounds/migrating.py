# Copyright 2026 The rclrt Authors
# SPDX-License-Identifier: Apache-2.0
"""Bounds for executors whose threads may use several cores, and for preemptive EDF."""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np
from rclrt_analysis.bounds import dag, global_edf, nonpreemptive_edf
from rclrt_analysis.bounds.activation import Activation, Stream
from rclrt_analysis.bounds.burst import with_bursts
from rclrt_analysis.bounds.fixed_point import (
    LATE,
    UNSHOWN,
    no_bound,
)
from rclrt_analysis.bounds.inherited import Due, inherited_deadlines
from rclrt_analysis.bounds.nonpreemptive_edf import NO_DEADLINE
from rclrt_analysis.bounds.result import Assumption, Local, Method, RefusedError
from rclrt_analysis.bounds.taskset import make_taskset
from rclrt_analysis.bounds.threads import check_threads, is_receiver
from rclrt_analysis.bounds.unit import (
    Arrivals,
    Known,
    Rows,
    Unit,
    make_rows,
    to_locals,
    with_jitter,
)
from rclrt_analysis.model import Callback, Kind, Policy

ASSUMPTIONS = (
    Assumption.WCET,
    Assumption.ALONE,
    Assumption.NO_SELF_SUSPENSION,
    Assumption.SPORADIC,
    Assumption.INSTANT_TRIGGER,
    Assumption.ENOUGH_THREADS,
)


def analyse_migrating(unit: Unit, arrivals: Arrivals) -> tuple[dict[str, Local], Method]:
    """Return the bounds of threads that migrate, or of preemptive EDF on one core or several.

    Raises
    ------
    RefusedError
        On several cores: releases cost time, callbacks share a group, deadlines exceed periods,
        subscriptions do not form one DAG per timer with its priority; under EDF there are any.
    """
    check_threads(unit)
    cores = len(unit.executors[0].cores)
    if cores > 1:
        _check(unit)
    if unit.executors[0].policy is Policy.EDF:
        return _edf(unit, arrivals)
    numbers = _dags(unit)
    tasks = []
    for members in numbers:
        timer = members[0]
        tasks.append(
            dag.DagTask(
                _dag(unit, members), timer.period or 1, timer.deadline or 1,
                unit.urgency[timer.name], timer.jitter,
            )
        )  # fmt: skip
    overheads = unit.system.overheads
    stolen = dag.Stolen(overheads.stolen, overheads.window) if overheads.stolen else None
    bounds = dag.global_fp(tasks, cores, stolen)
    found: dict[str, Local] = {}
    missed = [task.priority for task, bound in zip(tasks, bounds, strict=True) if bound is None]
    for task, members, bound in zip(tasks, numbers, bounds, strict=True):
        reason = _of_level(unit, numbers, bounds, task.priority, max(missed, default=0))
        for callback in members:
            found[callback.name] = _local(unit, callback, members[0], bound, reason)
    sources = "Bertogna07; Guan09; Melani15; Graham69"
    return found, Method(f"global FP on {cores} cores", sources, ASSUMPTIONS)


def _of_level(
    unit: Unit,
    numbers: list[list[Callback]],
    bounds: Sequence[int | None],
    priority: int,
    missed: int,
) -> str:
    """Return why callbacks of a priority have no bound, `missed` being the first without."""
    first = [
        members[0].name
        for members, bound in zip(numbers, bounds, strict=True)
        if bound is None and unit.urgency[members[0].name] == missed
    ]
    if priority < missed:
        return f"'{first[0]}', which is more urgent, has no bound: so this one has none either"
    if len(first) > 1:
        names = ", ".join(f"'{name}'" for name in sorted(first))
        return f"not all of {names}, which are as urgent as each other, are shown to end in time"
    return no_bound(LATE)


def _local(
    unit: Unit, callback: Callback, timer: Callback, bound: int | None, reason: str
) -> Local:
    """Return the bound of a callback: each may publish, and so release, as soon as it begins."""
    if bound is None:
        return Local(None, reason=reason)
    is_timer = callback is timer
    period = timer.period or 1
    late = timer.jitter + bound
    return Local(
        bound,
        late if is_timer else None,
        own=callback.wcet + unit.extra,
        prefix={timer.name: late},
        output=Activation((Stream(period, late),), period + late),
        root_gap=period + timer.jitter,
    )


def _check(unit: Unit) -> None:
    if unit.system.overheads.release and unit.timers:
        raise RefusedError("what releases cost here is not bounded; leave release_ms out")
    groups = [(c.executor, c.group) for c in unit.callbacks if c.group]
    if len(groups) != len(set(groups)):
        raise RefusedError("callbacks of one group exclude each other, which has no bound here")
    for timer in unit.timers:
        if (timer.deadline or 0) > (timer.period or 0):
            raise RefusedError(f"'{timer.name}' has a deadline after its period")


def _edf(unit: Unit, arrivals: Arrivals) -> tuple[dict[str, Local], Method]:
    cores = len(unit.executors[0].cores)
    if cores == 1:
        return _edf_on_one_core(unit, arrivals)
    other = next((c for c in unit.callbacks if c.kind is not Kind.TIMER), None)
    if other is not None:
        raise RefusedError(
            "preemptive EDF has bounds for timers alone on several cores; "
            f"'{other.name}' is none. Give each executor one core"
        )
    tasks = make_taskset(
        [c.wcet + unit.extra for c in unit.timers],
        [c.period or 1 for c in unit.timers],
        [c.deadline or 1 for c in unit.timers],
        jitter=[c.jitter for c in unit.timers],
    )
    bounds = global_edf.response(tasks, cores)
    found = {}
    for i, callback in enumerate(unit.timers):
        bound = None if bounds is None else int(bounds[i])
        found[callback.name] = _local(unit, callback, callback, bound, no_bound(UNSHOWN))
    name = f"global EDF on {cores} cores"
    return found, Method(name, "Bertogna07; Goossens03; Bertogna05; Baruah07", ASSUMPTIONS)


def _edf_on_one_core(unit: Unit, arrivals: Arrivals) -> tuple[dict[str, Local], Method]:
    """Return the responses on one core; messages may carry deadlines, see `inherited_deadlines`."""
    unit = with_bursts(unit, arrivals, preemptive=True)
    dues = inherited_deadlines(unit)
    for callback in unit.callbacks:
        if is_receiver(callback):
            dues[callback.name] = Due(NO_DEADLINE, may_be_early=True)  # It precedes all others.

    def bounds(known: Known) -> dict[str, Local]:
        rows = make_rows(unit, known)
        mine = [dues[unit.callbacks[i].name] for i in rows.owner.tolist()]
        above = unit.releases(1)
        no = np.zeros(0, dtype=np.int64)
        every, jitter, cost = (
            (no, no, no) if above is None else (above.period, above.jitter, above.cost[0])
        )
        tasks = make_taskset(
            np.concatenate([rows.tasks.wcet, cost]),
            np.concatenate([rows.tasks.period, every]),
            [*(due.latest for due in mine), *(1 for _ in every)],
            jitter=np.concatenate([rows.tasks.jitter, jitter]),
        )
        early = np.array([*(due.may_be_early for due in mine), *(True for _ in every)])
        exclusive = [_exclusive(rows, mine, members) for members in _groups(unit)]
        found = nonpreemptive_edf.exact(
            tasks, may_be_early=early, preemptive=True, exclusive=exclusive
        )
        return to_locals(unit, rows, found, known)

    sources = "Spuri96; Tindell94; Lehoczky90"
    method = Method("preemptive EDF, all deadlines", sources, ASSUMPTIONS)
    return with_jitter(unit, arrivals, bounds), method


def _groups(unit: Unit) -> list[list[int]]:
    """Return the numbers of the callbacks of each group that several share."""
    found: dict[tuple[str, str], list[int]] = {}
    for i, callback in enumerate(unit.callbacks):
        if callback.group:
            found.setdefault((callback.executor, callback.group), []).append(i)
    return [members for members in found.values() if len(members) > 1]


def _exclusive(rows: Rows, dues: list[Due], members: list[int]) -> nonpreemptive_edf.Exclusive:
    """Return a group: of its rows what one job may hold up others for."""
    mine = np.flatnonzero(np.isin(rows.owner, members))
    first = [
        -NO_DEADLINE if dues[i].may_be_early else dues[i].latest - int(rows.tasks.jitter[i])
        for i in mine.tolist()
    ]
    latest = [dues[i].latest for i in mine.tolist()]
    return nonpreemptive_edf.Exclusive(
        rows.owner[mine],
        np.array(first, dtype=np.int64),
        np.array(latest, dtype=np.int64),
        rows.tasks.wcet[mine],
    )


def _dags(unit: Unit) -> list[list[Callback]]:
    """Return the callbacks that each timer sets off, in order, the timer first."""
    root: dict[str, str] = {}
    members: dict[str, list[Callback]] = {}
    for callback in unit.in_order:
        parents = unit.system.triggered_by(callback)
        if callback.kind is Kind.TIMER:
            root[callback.name] = callback.name
            members[callback.name] = [callback]
            continue
        roots = {root.get(parent, "") for parent in parents}
        # `all` is one message of each topic: of two publishers of one, it waits for either.
        alone = all(len(unit.system.publishers[topic]) == 1 for topic in callback.triggers)
        once = len(parents) == 1 or (callback.wants_all and alone and callback.pairs == "newest")
        if callback.period is not None or len(roots) != 1 or "" in roots or not once:
            raise RefusedError(
                f"'{callback.name}' is not released once for each release of one timer here: "
                "on several cores only such callbacks have a bound"
            )
        start = roots.pop()
        if unit.urgency[callback.name] != unit.urgency[start]:
            raise RefusedError(
                f"'{callback.name}' needs the priority of what releases it, '{start}'"
            )
        root[callback.name] = start
        members[start].append(callback)
    return list(members.values())


def _dag(unit: Unit, members: list[Callback]) -> dag.Dag:
    number = {callback.name: i for i, callback in enumerate(members)}
    before = [tuple(number[p] for p in unit.system.triggered_by(callback)) for callback in members]
    costs = tuple(c.wcet + unit.extra for c in members)
    overheads = unit.system.overheads
    return dag.Dag(costs, tuple(before), overheads.transport + overheads.wake)
