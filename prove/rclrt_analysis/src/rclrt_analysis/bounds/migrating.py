# Copyright 2026 The rclrt Authors
# SPDX-License-Identifier: Apache-2.0
"""Bounds for executors whose threads may use several cores, and for preemptive EDF."""

import itertools
from collections.abc import Mapping
from dataclasses import replace

import numpy as np
from rclrt_analysis.bounds import dag, global_edf, nonpreemptive_edf
from rclrt_analysis.bounds.activation import ENDLESS, UNKNOWN, Activation, Stream
from rclrt_analysis.bounds.effort import EffortError, limited
from rclrt_analysis.bounds.fifo import with_bursts
from rclrt_analysis.bounds.fixed_point import ENDLESS as UNENDING
from rclrt_analysis.bounds.fixed_point import FULL, UNBOUNDED, no_bound
from rclrt_analysis.bounds.inherited import Due, inherited_deadlines
from rclrt_analysis.bounds.nonpreemptive_edf import NO_DEADLINE
from rclrt_analysis.bounds.result import Assumption, Local, Method, RefusedError
from rclrt_analysis.bounds.taskset import make_taskset
from rclrt_analysis.bounds.threads import check_threads, is_receiver
from rclrt_analysis.bounds.unit import (
    MAX_GROWTH,
    MAX_ROUNDS,
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
GIVE_UP = 2
"""A window longer than so many times the longest period is not looked at."""
SETTLING = 10
"""So many rounds later bounds that make each other longer grow in larger steps."""
SHARE = 0.1
"""So much of the effort of an analysis may go into callbacks one by one."""
BUSY = (
    f"it may end later than {GIVE_UP} of the longest period, as far as this analysis can tell. "
    "Reduce wcet_ms, lengthen period_ms, or use more cores"
)


def analyse_migrating(unit: Unit, arrivals: Arrivals) -> tuple[dict[str, Local], Method]:
    """Return the bounds of threads that migrate, or of preemptive EDF on one core or several.

    Under fixed priority, those of the DAG of each timer, as far as all of its jobs end in time;
    of all other callbacks each its own, see `_one_by_one`.

    Raises RefusedError: On several cores: releases cost time, or callbacks share a group.
    """
    check_threads(unit)
    cores = len(unit.executors[0].cores)
    if cores > 1:
        _check(unit)
    if unit.executors[0].policy is Policy.EDF:
        return _edf(unit, arrivals)
    overheads = unit.system.overheads
    stolen = dag.Stolen(overheads.stolen, overheads.window) if overheads.stolen else dag.Stolen()
    sources = "Bertogna07; Guan09; Melani15; Graham69"
    method = Method(f"global FP on {cores} cores", sources, ASSUMPTIONS)
    tasks, bounds, found = _of_dags(unit, stolen)
    if len(found) == len(unit.callbacks):
        return found, method
    more = _one_by_one(replace(unit, whole=found), arrivals, tasks, bounds, stolen)
    return {**more, **found}, replace(method, source=f"{sources}; Tindell94")


def _of_dags(
    unit: Unit, stolen: dag.Stolen
) -> tuple[list[dag.DagTask], list[int], dict[str, Local]]:
    """Return the DAGs that end before they come again, how long they take, and their callbacks."""
    cores, numbers = len(unit.executors[0].cores), _dags(unit)
    every = [
        dag.DagTask(_dag(unit, members), members[0].period or 1,
                    unit.urgency[members[0].name], members[0].jitter)
        for members in numbers
    ]  # fmt: skip
    ends = zip(every, numbers, dag.global_fp(every, cores, stolen), strict=True)
    bounded = [(task, members, end) for task, members, end in ends if end is not None]
    tasks, bounds = [task for task, _, _ in bounded], [end for _, _, end in bounded]
    found = {}
    for i, (_, members, bound) in enumerate(bounded):
        nodes = dag.of_nodes(i, tasks, bounds, cores, stolen)
        for callback, (own, end) in zip(members, nodes, strict=True):
            mine = min(bound, unit.woken(callback, own))
            found[callback.name] = _local(unit, callback, members[0], mine, end)
    return tasks, bounds, found


def _one_by_one(
    unit: Unit,
    arrivals: Arrivals,
    tasks: list[dag.DagTask],
    bounds: list[int],
    stolen: dag.Stolen,
) -> dict[str, Local]:
    """Return bounds of callbacks as tasks with jitter, which may end after the next release.

    `tasks` are the DAGs in `unit.whole`, with their bounds. Let a window begin at the last instant,
    before the release that is looked at, at which callback k had no job and a core nothing as
    urgent to do. From there on k runs, or all cores run what is as urgent: at most m - 1 of these
    had work before. Job q of a stream has ended after the least w with

        w = q C_k + (what comes of the other streams of k until w) + C_k + floor(I(w) / m)

    where I is as in `dag.global_fp` for one callback, summed over the streams of each. The q of the
    window are looked at: it is over by the least w that is above C_k for all jobs that come until
    then and the same I. What has no bound itself takes a core whenever it can.
    """
    cores = len(unit.executors[0].cores)
    limit = GIVE_UP * unit.system.longest_period
    overheads = unit.system.overheads
    rows = [dag.row(task, bound, cores) for task, bound in zip(tasks, bounds, strict=True)]
    carried = len(unit.callbacks) if overheads.transport or overheads.wake else cores - 1
    left = [c for c in unit.callbacks if c.name not in unit.whole]
    left.sort(key=lambda c: -unit.urgency[c.name])
    as_urgent = {
        c.name: [o for o in left if unit.urgency[o.name] >= unit.urgency[c.name] and o is not c]
        for c in left
    }
    last: dict[str, Found] = {}
    rounds = itertools.count()

    def bounds_of(known: Known) -> dict[str, Local]:
        streams = {c.name: _streams(unit, known, c) for c in left}
        # Each round goes on from the last, as `with_jitter` does: so in the end all agree. What
        # would not before that gives up has no bound, for the others as well.
        settle = next(rounds) > MAX_ROUNDS - 5
        for callback in left:
            if last.get(callback.name, ()) is not None:
                others = _others(unit, rows, as_urgent[callback.name], streams, last, carried)
                cost = callback.wcet + unit.extra
                mine = streams[callback.name]
                found = _search(cost, mine, others, cores, stolen, limit)
                last[callback.name] = None if settle and found != last[callback.name] else found
        bound = {c.name: _as_local(unit, c, streams[c.name], last[c.name]) for c in left}
        return {**bound, **unit.whole}

    try:
        with limited(SHARE):
            return with_jitter(unit, arrivals, bounds_of, has_state=True)
    except EffortError as reason:
        return {c.name: Local(None, reason=str(reason)) for c in left}


Found = tuple[int, int] | None
"""A response from the actual release, and from the grid; None: it has no bound."""


def _by_deadlines(unit: Unit, arrivals: Arrivals) -> dict[str, Local]:
    """Return responses whether deadlines are met or not, see `global_edf`.

    They grow until they are as long as they make each other. Then all of them hold, and so does
    what follows from them. What grows beyond its lateness has that.
    """
    cores, longest = len(unit.executors[0].cores), unit.system.longest_period
    dues = inherited_deadlines(unit)
    cost = [callback.wcet + unit.extra for callback in unit.in_order]
    limit = np.full(len(cost), MAX_GROWTH * longest)
    reached, found = np.array(cost, dtype=np.int64), limit
    most = limit + UNBOUNDED
    ends: dict[str, list[int]] = {}
    for number in range(MAX_ROUNDS):
        of = _due(unit, arrivals, dues, ends)
        late = of.jitter + UNBOUNDED, of.jitter + UNBOUNDED
        if not any(min(mine) >= UNBOUNDED for mine in ends.values()):
            late = global_edf.lateness(of, cores) or late
        more = number - SETTLING
        coarse = (longest // 256 + 1) << more // 5 if more > 0 else 1
        actual, from_grid = (-(-np.minimum(one, UNBOUNDED) // coarse) * coarse for one in late)
        most = np.maximum.reduceat(actual, of.first)
        found = np.minimum(global_edf.by_deadlines(of, reached, cores, limit), most)
        grown = np.where(found > reached, -(-found // coarse) * coarse, reached)
        if number > MAX_ROUNDS - 5:
            grown[grown > reached] = UNBOUNDED
        before, reached = reached, np.where(grown > limit, UNBOUNDED, grown)
        known = {name: list(mine) for name, mine in ends.items()}
        out = np.minimum(of.jitter + np.minimum(reached, UNBOUNDED)[of.owner], from_grid)
        for callback, mine in zip(unit.in_order, np.split(out, of.first[1:]), strict=True):
            old = ends.get(callback.name, [])
            same = old if len(old) == len(mine) else [0] * len(mine)
            ends[callback.name] = [max(pair) for pair in zip(mine.tolist(), same, strict=True)]
        # What may end at any time, or come at any time, takes a core whenever it can.
        reached[[max(ends[callback.name]) >= UNBOUNDED for callback in unit.in_order]] = UNBOUNDED
        if np.array_equal(before, reached) and known == ends:
            break
    bound = {}
    # What was given up ends late at most: all others were looked at as if it had no bound.
    sure = np.where(reached >= UNBOUNDED, most, np.minimum(found, reached))
    every = zip(unit.in_order, sure.tolist(), strict=True)
    for callback, one in every:
        # What releases it may have no bound, or nothing may have settled.
        ended = (one, one + callback.jitter) if one <= limit[0] and known == ends else None
        streams = [Stream(longest)] * _is_released(unit, arrivals, ends, callback)
        bound[callback.name] = _as_local(unit, callback, streams, ended)
    return with_jitter(unit, arrivals, lambda _: bound)


def _is_released(
    unit: Unit, arrivals: Arrivals, ends: Mapping[str, list[int]], callback: Callback
) -> bool:
    """Return whether something bounds how often it is released."""
    inside = {p for topic in callback.triggers for p in unit.inside(topic)}
    outside = [
        stream
        for topic in callback.triggers
        if unit.outside(topic)
        for stream in arrivals.get(topic, UNKNOWN).streams
    ]
    return ENDLESS not in outside and all(max(ends[name]) < UNBOUNDED for name in inside)


def _due(
    unit: Unit, arrivals: Arrivals, dues: Mapping[str, Due], ends: dict[str, list[int]]
) -> global_edf.Streams:
    """Return how the callbacks are released and due, in order.

    The messages of a stream have its grid. So what has the deadline of the job that published is
    due as soon after that as this one is. How old the messages are that a join has is not known.

    ends: When jobs of each stream end, from its grid; UNBOUNDED is added for what nothing bounds.
    """
    rows: list[tuple[int, ...]] = []
    first: list[int] = []
    ways: dict[str, list[tuple[int, int, int]]] = {}
    on_grid: set[str] = set()
    transport = unit.system.overheads.transport
    for callback in unit.in_order:
        name, due, wake = callback.name, dues[callback.name], unit.woken(callback)
        cost = callback.wcet + unit.extra
        inputs: list[list[tuple[int, int, int]]] = []
        for topic in callback.triggers:
            inputs.append([])
            for p in unit.inside(topic):
                for (period, _, soon), end in zip(ways[p], ends[p], strict=True):
                    inputs[-1].append((period, end + transport + wake, soon))
            if unit.outside(topic):
                every = arrivals.get(topic, UNKNOWN).streams
                inputs[-1] += [(s.period, s.jitter + wake, -NO_DEADLINE) for s in every]
        if callback.period is not None:
            inputs.append([(callback.period, callback.jitter + wake, NO_DEADLINE)])
        mine = [way for some in inputs for way in some]
        if callback.wants_all:
            (period, late, _), *rest = min(inputs, key=lambda some: sum(1 / way[0] for way in some))
            mine = [(period, late + callback.queue * period, 0), *rest]
        if callback.deadline is not None and not callback.is_stamped:
            mine = [(period, late, callback.deadline) for period, late, _ in mine]
        elif callback.wants_all or callback.is_stamped:
            mine = [(period, late, -NO_DEADLINE) for period, late, _ in mine]
        if any(late >= UNBOUNDED or period == ENDLESS.period for period, late, _ in mine):
            mine, ends[name] = [(unit.system.longest_period, 0, -NO_DEADLINE)], [UNBOUNDED]
        ways[name] = mine
        ends.setdefault(name, [late + cost for _, late, _ in mine])
        inherits = callback.deadline is None and not due.may_be_early
        if callback.kind is Kind.TIMER or (
            inherits and on_grid >= {*unit.system.triggered_by(callback)}
        ):
            on_grid.add(name)
        lent = min(soon - late for _, late, soon in mine)
        several = due.may_be_early and len(mine) > 1
        # Those without deadlines take turns: none of them is sure to come before another.
        latest = due.latest + NO_DEADLINE * (due.latest >= NO_DEADLINE)
        first.append(len(rows))
        for period, late, soon in mine:
            early = max(lent if several else soon, -NO_DEADLINE)
            rows.append((cost, period, late, early, latest, latest - late * (name in on_grid)))
    turns = np.array([dues[callback.name].may_be_early for callback in unit.in_order])
    wcet, every, jitter, sooner, until, last = np.array(rows, dtype=np.int64).T
    begins = np.array(first, dtype=np.int64)
    return global_edf.Streams(wcet, every, jitter, sooner, until, last, begins, turns)


def _streams(unit: Unit, known: Known, callback: Callback) -> list[Stream]:
    """Return how cores turn to a callback; nothing if no bound is known of its releases."""
    streams = known[callback.name].streams
    if any(stream.period == ENDLESS.period for stream in streams):
        return []
    late = unit.woken(callback)
    return [Stream(stream.period, stream.jitter + late) for stream in streams]


def _others(
    unit: Unit,
    dags: list[list[int]],
    others: list[Callback],
    streams: Mapping[str, list[Stream]],
    known: Mapping[str, Found],
    carried: int,
) -> dag.Others:
    """Return how DAGs and callbacks interfere; what is not known yet responds at once."""
    rows, first, full = list(dags), list(range(len(dags))), 0
    for other in others:
        cost = other.wcet + unit.extra
        found = known.get(other.name, (cost, cost))
        if found is None or not streams[other.name]:
            full += 1
            continue
        first.append(len(rows))
        after = max(0, found[0] - cost)
        rows += [[cost, stream.period, stream.jitter, after, 1] for stream in streams[other.name]]
    return dag.Others.of(rows, first, carried, full)


def _search(
    cost: int,
    streams: list[Stream],
    others: dag.Others,
    cores: int,
    stolen: dag.Stolen,
    limit: int,
) -> Found:
    """Return the responses of one callback, see `_one_by_one`."""

    def end(fixed: int, streams: list[Stream]) -> int | None:
        def own(window: int) -> int:
            return fixed + cost * sum(stream.most(window) for stream in streams)

        return dag.least(own, None, others, cores, stolen, limit)

    spare = 1 - cost * sum(1 / stream.period for stream in streams)
    if spare <= 0 or others.share(spare) >= cores * spare * FULL:
        return None  # No window is known to end.
    window = end(1, streams)
    if window is None or not streams:
        return None
    # Without work it waits for a core like any other.
    alone = max(cost, 1)
    actual = grid = 0
    for i, stream in enumerate(streams):
        rest = streams[:i] + streams[i + 1 :]
        for q in range(stream.most(window)):
            since = q * stream.period - stream.jitter
            if window - max(0, since) <= actual and window - since <= grid:
                break  # It ends with the window, as all after it.
            ended = end(q * cost + alone, rest)
            if ended is None:
                return None
            ended -= alone - cost
            actual = max(actual, ended - max(0, since))
            grid = max(grid, ended - since)
    return actual, grid


def _as_local(unit: Unit, callback: Callback, streams: list[Stream], found: Found) -> Local:
    if found is None:
        return Local(None, reason=BUSY if streams else no_bound(UNENDING))
    actual = unit.woken(callback, found[0])
    timer = callback.kind is Kind.TIMER
    return Local(actual, found[1] if timer else None, own=callback.wcet + unit.extra)


def _local(unit: Unit, callback: Callback, timer: Callback, bound: int, end: int) -> Local:
    """Return a bound; it ends `end` after the timer comes, and may publish once it begins."""
    period = timer.period or 1
    late = timer.jitter + end
    return Local(
        bound,
        late if callback is timer else None,
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


def _edf(unit: Unit, arrivals: Arrivals) -> tuple[dict[str, Local], Method]:
    cores = len(unit.executors[0].cores)
    if cores == 1:
        return _edf_on_one_core(unit, arrivals)
    name = f"global EDF on {cores} cores"
    due = all(c.kind is Kind.TIMER and (c.deadline or 0) <= (c.period or 0) for c in unit.callbacks)
    tasks = make_taskset(
        [c.wcet + unit.extra for c in unit.timers],
        [c.period or 1 for c in unit.timers],
        [c.deadline or 1 for c in unit.timers],
        jitter=[c.jitter for c in unit.timers],
    )
    bounds = global_edf.response(tasks, cores) if due else None
    if bounds is not None:
        every = zip(unit.timers, bounds.tolist(), strict=True)
        found = {c.name: _local(unit, c, c, bound, bound) for c, bound in every}
        return found, Method(name, "Bertogna07; Goossens03; Bertogna05; Baruah07", ASSUMPTIONS)
    sources = "Bertogna07; Guan09; Spuri96; Tindell94; Devi08; Erickson10"
    return _by_deadlines(unit, arrivals), Method(name, sources, ASSUMPTIONS)


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
    """Return the callbacks that each timer sets off, in order, the timer first.

    Nothing if a callback is not released once for each release of one timer here, or is not as
    urgent as that.
    """
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
            return []
        start = roots.pop()
        if unit.urgency[callback.name] != unit.urgency[start]:
            return []
        root[callback.name] = start
        members[start].append(callback)
    return list(members.values())


def _dag(unit: Unit, members: list[Callback]) -> dag.Dag:
    number = {callback.name: i for i, callback in enumerate(members)}
    before = [tuple(number[p] for p in unit.system.triggered_by(callback)) for callback in members]
    costs = tuple(c.wcet + unit.extra for c in members)
    overheads = unit.system.overheads
    return dag.Dag(costs, tuple(before), overheads.transport + overheads.wake)
