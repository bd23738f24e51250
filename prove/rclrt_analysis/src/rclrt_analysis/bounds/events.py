# Copyright 2026 The rclrt Authors
# SPDX-License-Identifier: Apache-2.0
"""Bounds for executors of one thread with a queue of events: by priority, by deadline, or FIFO."""

from dataclasses import replace

import numpy as np
from rclrt_analysis.bounds import fifo, fixed_priority, nonpreemptive_edf
from rclrt_analysis.bounds.busy_window import Responses
from rclrt_analysis.bounds.fifo import with_bursts
from rclrt_analysis.bounds.fixed_point import UNBOUNDED
from rclrt_analysis.bounds.graph import analyse_graph, begun_without_preemption
from rclrt_analysis.bounds.inherited import inherited_deadlines
from rclrt_analysis.bounds.result import Assumption, Local, Method, RefusedError
from rclrt_analysis.bounds.taskset import Bools, Ints, TaskSet, largest_lower, make_taskset
from rclrt_analysis.bounds.unit import Arrivals, Known, Unit, make_rows, to_locals, with_jitter
from rclrt_analysis.model import ExecutorKind, Kind, Policy, Release

BASE = (
    Assumption.WCET,
    Assumption.ALONE,
    Assumption.RELEASE_COST,
    Assumption.NO_SELF_SUSPENSION,
    Assumption.SPORADIC,
    Assumption.INSTANT_TRIGGER,
)
RELEASES_FILL = (
    "releasing timers alone fills the processor. Lengthen period_ms, or reduce release_ms"
)
Found = tuple[dict[str, Local], Method]


def analyse_events(unit: Unit, arrivals: Arrivals, paper: bool) -> Found:
    """Return the bounds of a `priority_events` or `events_fifo` executor.

    Raises RefusedError: No bound covers it; the text says why.
    """
    executor = unit.executors[0]
    if executor.reservation is not None and paper:
        raise RefusedError("the paper's theorems know no reservations. Use --method exact")
    if executor.kind is ExecutorKind.EVENTS_FIFO:
        return _fifo(unit, arrivals)
    if executor.release is Release.RELEASE_AND_EXECUTE:
        for callback in unit.callbacks:
            if callback.kind is not Kind.TIMER:
                raise RefusedError(
                    f"under release_and_execute {callback.kind.value} '{callback.name}' runs on "
                    "another thread than the timers. Use release_only, or another executor for it"
                )
        return _timers(unit, arrivals, paper)
    if paper:
        return _timers(unit, arrivals, paper)
    if executor.policy is Policy.EDF:
        return _by_deadline(unit, arrivals)
    if unit.system.overheads.transport and any(c.triggers for c in unit.callbacks):
        return _late_messages(unit, arrivals)
    found = analyse_graph(unit, arrivals, False, begun_without_preemption)
    return found, Method("non-preemptive FP, all jobs", "Davis07; Buttazzo13", _base(unit))


def _base(unit: Unit) -> tuple[Assumption, ...]:
    return (*BASE, Assumption.RESERVED) if unit.executors[0].reservation else BASE


def _late_messages(unit: Unit, arrivals: Arrivals) -> Found:
    """Return bounds when messages take time: each lets less urgent work begin meanwhile."""

    def bounds(known: Known) -> dict[str, Local]:
        rows = make_rows(unit, known)
        releases = unit.releases(len(rows.tasks))
        responses = fixed_priority.nonpreemptive(rows.tasks, releases, unit.supply)
        return to_locals(unit, rows, responses, known)

    method = Method("non-preemptive FP with jitter, all jobs", "Davis07; Tindell94", _base(unit))
    return with_jitter(unit, arrivals, bounds), method


def _fifo(unit: Unit, arrivals: Arrivals) -> Found:
    unit = with_bursts(unit, arrivals)

    def bounds(known: Known) -> dict[str, Local]:
        rows = make_rows(unit, known)
        responses = fifo.response(rows.tasks, unit.releases(len(rows.tasks)), unit.supply)
        return to_locals(unit, rows, responses, known)

    method = Method("FIFO, all arrivals", "Bouillard18; Lehoczky90", _base(unit))
    return with_jitter(unit, arrivals, bounds), method


def _by_deadline(unit: Unit, arrivals: Arrivals) -> Found:
    """Return bounds under EDF: every callback is due by its own deadline, or by an inherited one.

    A job without a deadline of its own has that of the job that published [Teper25 §VIII-C has the
    same for priorities]: it is a job of the timer's stream that comes later on. Jobs without any
    deadline come last, see `_among_the_last`. See `inherited_deadlines` for the rest.
    """
    unit = with_bursts(unit, arrivals)
    dues = inherited_deadlines(unit)

    def bounds(known: Known) -> dict[str, Local]:
        rows = make_rows(unit, known)
        names = [unit.callbacks[i].name for i in rows.owner.tolist()]
        tasks = make_taskset(
            rows.tasks.wcet,
            rows.tasks.period,
            [dues[name].latest for name in names],
            jitter=rows.tasks.jitter,
        )
        early = np.array([dues[name].may_be_early for name in names])
        timer = np.array([unit.callbacks[i].kind is Kind.TIMER for i in rows.owner.tolist()])
        overhead = fixed_priority.release_only(tasks, unit.system.overheads.release, timer)
        if np.any(overhead >= UNBOUNDED):
            raise RefusedError(RELEASES_FILL)
        longer = _with(tasks, overhead)
        found = nonpreemptive_edf.exact(longer, unit.supply, may_be_early=early)
        found = _among_the_last(longer, unit, early, rows.owner, found)
        return to_locals(unit, rows, replace(found, overhead=overhead), known)

    sources = "George96; Tindell94; Lehoczky90"
    method = Method("non-preemptive EDF, all deadlines", sources, _base(unit))
    return with_jitter(unit, arrivals, bounds), method


def _among_the_last(
    tasks: TaskSet, unit: Unit, early: Bools, owner: Ints, found: Responses
) -> Responses:
    """Return bounds that also hold where jobs without any deadline do not run in order of release.

    The engine runs these in that order as long as no two jobs of one callback wait; else callbacks
    take turns. Then such a job waits for all that the others release before it begins.
    """
    last = np.flatnonzero(tasks.deadline == nonpreemptive_edf.NO_DEADLINE)
    alone = len(np.unique(owner[last])) == len(last)
    if len(last) < 2 or (
        alone and np.all(found.response[last] <= (tasks.period - tasks.jitter)[last])
    ):
        return found
    response, from_grid = found.response.copy(), found.from_grid.copy()
    for i in last.tolist():
        deadline = tasks.deadline.copy()
        deadline[i] *= 2
        after_all = make_taskset(tasks.wcet, tasks.period, deadline, jitter=tasks.jitter)
        of_it = nonpreemptive_edf.exact(after_all, unit.supply, may_be_early=early)
        response[i] = max(response[i], of_it.response[i])
        from_grid[i] = max(from_grid[i], of_it.from_grid[i])
    return replace(found, response=response, from_grid=from_grid)


def _timers(unit: Unit, arrivals: Arrivals, paper: bool) -> Found:
    """Return bounds for timers alone, their overhead in their execution times."""
    if unit.executors[0].reservation is not None:
        raise RefusedError("release_and_execute in a reservation has no bound. Use release_only")
    if not unit.independent:
        other = next(c for c in unit.callbacks if c.kind is not Kind.TIMER or c.jitter)
        raise RefusedError(
            f"this bound covers timers without jitter; '{other.name}' is another. Use --method "
            "exact under policy rm, dm or fixed_priority, and release_only"
        )
    edf = unit.executors[0].policy is Policy.EDF
    executes = unit.executors[0].release is Release.RELEASE_AND_EXECUTE
    assumptions = (*BASE, Assumption.NO_SKIP) if executes else BASE

    def bounds(known: Known) -> dict[str, Local]:
        rows = make_rows(unit, known)
        longer = _longer(unit, rows.tasks)
        if edf:
            found = _edf(rows.tasks, longer, paper)
        elif paper:
            found = _theorem_1(unit, rows.tasks, longer)
        else:
            found = fixed_priority.nonpreemptive(longer)
        return to_locals(unit, rows, found, known)

    if edf:
        name = "Theorem 2" if paper else "non-preemptive EDF, all deadlines"
        method = Method(name, "George96; Teper25 §VI", assumptions)
    else:
        name = "Theorem 1" if paper else "non-preemptive FP, all jobs"
        method = Method(name, "Teper25 §VI" if paper else "Davis07; Teper25 eq. (2)", assumptions)
    return with_jitter(unit, arrivals, bounds), method


def _longer(unit: Unit, tasks: TaskSet) -> TaskSet:
    """Return the tasks with the overhead of releases in their execution times, eqs. (2), (3)."""
    delta = unit.system.overheads.release
    if unit.executors[0].release is Release.RELEASE_AND_EXECUTE:
        if not fixed_priority.condition_c1(tasks, delta):
            raise RefusedError(
                "release_and_execute may skip timestamps: an execution time with the overhead of "
                f"{len(tasks)} releases reaches the shortest period (condition C1). Use "
                "release_only"
            )
        return _with(tasks, fixed_priority.release_and_execute(tasks, delta))
    overhead = fixed_priority.release_only(tasks, delta)
    if np.any(overhead >= UNBOUNDED):
        raise RefusedError(RELEASES_FILL)
    return _with(tasks, overhead)


def _with(tasks: TaskSet, overhead: Ints) -> TaskSet:
    return make_taskset(
        tasks.wcet + overhead, tasks.period, tasks.deadline, tasks.priority, tasks.jitter
    )


def _parts(bounds: Ints, overhead: Ints, blocking: Ints) -> Responses:
    return Responses(bounds, bounds, blocking, overhead, np.ones_like(bounds))


def _theorem_1(unit: Unit, tasks: TaskSet, longer: TaskSet) -> Responses:
    """Theorem 1 with eq. (3); once that has proven every deadline, again with eq. (4)."""
    if np.any(tasks.deadline > tasks.period):
        raise RefusedError("Theorem 1 needs deadlines up to the period. Use --method exact")
    bounds = fixed_priority.theorem_1(longer)
    proven = bool(np.all(bounds < UNBOUNDED))
    if proven and unit.executors[0].release is Release.RELEASE_ONLY:
        delta = unit.system.overheads.release
        longer = _with(tasks, fixed_priority.release_only_tightened(tasks, delta, proven))
        bounds = fixed_priority.theorem_1(longer)
    return _parts(bounds, longer.wcet - tasks.wcet, largest_lower(longer))


def _edf(tasks: TaskSet, longer: TaskSet, paper: bool) -> Responses:
    if not paper:
        found = nonpreemptive_edf.exact(longer)
        return replace(found, overhead=longer.wcet - tasks.wcet)
    lost = nonpreemptive_edf.no_theorem_2(longer)
    bounds = np.full_like(tasks.deadline, lost) if lost else tasks.deadline
    return _parts(bounds, longer.wcet - tasks.wcet, np.zeros_like(bounds))
