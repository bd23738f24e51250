# Copyright 2026 The rclrt Authors
# SPDX-License-Identifier: Apache-2.0
"""Fixed priority on one processor, for callbacks that release each other at once.

What a timer sets off is one stream of work, not many tasks with jitter: in a busy window of urgency
l all of it that is of urgency l or more belongs to releases within the window, because before the
window none of it was pending. So the demand of a window w is

    B + K + sum_r eta_r(w) W_r

with r the origins (timers, and messages from outside), eta_r their releases in w, W_r the work of
urgency >= l that one of them sets off, K that of inputs stored before the window for callbacks that
wait for several, and B what of less urgency had begun, with all of urgency >= l that it releases.
From an origin to the end of callback x the level l is the least urgency on the way, and what only x
itself sets off in the job looked at does not count. With one timer and a path this is the task with
fixed preemption points of [Buttazzo13]; with timers alone it is the classical test.

Messages leave anywhere inside a job. So what x sets off does count, where threads preempt, as far
as it is more urgent than x: it may run before x has ended. So may what is as urgent, where a thread
comes to it from something more urgent (`Graph.overtakes`): a thread that lowers its priority goes
to the head of its new level, before x that was preempted.

A job that may be overtaken by the next of its origin is taken to end with the window.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable
from dataclasses import dataclass, field
from typing import Any

import numpy as np
from rclrt_analysis.bounds.activation import (
    APPROXIMATE,
    MAX_STREAMS,
    UNKNOWN,
    Activation,
    Stream,
    gap_of_pairs,
    gap_of_sets,
)
from rclrt_analysis.bounds.busy_window import BLOCK, Demand, Responses, responses
from rclrt_analysis.bounds.effort import CALLBACK, ITEM, spend
from rclrt_analysis.bounds.fixed_point import ENDLESS, UNBOUNDED, no_bound
from rclrt_analysis.bounds.result import Local, RefusedError
from rclrt_analysis.bounds.taskset import LIMIT, Interference, Ints
from rclrt_analysis.bounds.unit import Arrivals, Unit, held_by_publisher
from rclrt_analysis.model import Callback, ExecutorKind, Kind

ENDLESS_WORK = 2**44
"""ns, more than any period: where ways that fork and join make that much, it may as well be more.
Keeps sums over all callbacks within 64 bits."""

MAX_PAIRS = 1 << 16
"""Callbacks times origins that lead to them."""

MAX_NUMBERS = 1 << 23
"""The same, times periods (with their jitter) of origins."""


@dataclass(frozen=True)
class Origin:
    """What starts work from outside: a timer, or messages that come to a callback."""

    entry: int
    stream: Stream
    gap: int | None
    timer: bool
    wake: int = 0


@dataclass
class Graph:
    """Releases within a unit; callbacks are numbers, each above those that release it.

    Attributes
    ----------
    origins
        All of them; `entering[x]` are those that enter at x.
    parents
        Of x: all that may release it.
    counted
        Of x: those of its parents whose jobs each count as a release. For a callback that waits for
        all inputs these are the publishers of one input: each bounds how often it is released, so
        the one with the fewest messages in the longest period is taken.
    once
        Of x: how many inputs stored earlier may bring one release more each.
    jobs, stored
        Of x: for how many of its jobs a release of each origin counts, and how many stored inputs.
    inputs
        Of x, for each topic: those within that publish it, and how it comes from elsewhere.
    root_gap
        Of x, once it has a bound: an origin's release at least so often leads to one of x, ns.
    spans
        Periods and jitters of origins: what comes alike is added up.
    overtakes
        Of x: whether a job of it may run before one of the same urgency that had begun.
    """

    unit: Unit
    origins: list[Origin] = field(default_factory=list)
    entering: list[list[int]] = field(default_factory=list)
    parents: list[list[int]] = field(default_factory=list)
    counted: list[list[int]] = field(default_factory=list)
    once: list[int] = field(default_factory=list)
    root_gap: list[int | None] = field(default_factory=list)
    children: list[list[int]] = field(default_factory=list)
    spans: set[tuple[int, int]] = field(default_factory=set)
    inputs: list[list[tuple[list[int], list[Activation]]]] = field(default_factory=list)

    def __post_init__(self) -> None:
        count = len(self.unit.callbacks)
        self.wcet = np.array([c.wcet + self.unit.extra for c in self.unit.in_order], dtype=np.int64)
        self.urgency = np.array(
            [self.unit.urgency[c.name] for c in self.unit.in_order], dtype=np.int64
        )
        self.children = [[] for _ in range(count)]
        self.overtakes = _overtaking(self.unit, self.urgency)

    def close(self) -> None:
        """Derive what depends on all of the above."""
        self.entries = np.array([origin.entry for origin in self.origins], dtype=np.int64)
        # Those with children, each before those that release it.
        self.inner = [x for x in reversed(range(len(self.wcet))) if self.children[x]]
        self.jobs: list[dict[int, int]] = []
        self.stored: list[int] = []
        pairs = 0
        for x in range(len(self.wcet)):
            jobs = dict.fromkeys(self.entering[x], 1)
            spend(ITEM * sum(len(self.jobs[p]) for p in self.counted[x]))
            for p in self.counted[x]:
                for r, count in self.jobs[p].items():
                    jobs[r] = jobs.get(r, 0) + count
            pairs += len(jobs)
            _check_size(pairs, self)
            self.jobs.append(jobs)
            self.stored.append(self.once[x] + sum(self.stored[p] for p in self.counted[x]))


def _check_size(pairs: int, graph: Graph) -> None:
    """Refuse what would take too much memory."""
    if pairs > MAX_PAIRS or pairs * len(graph.spans) > MAX_NUMBERS:
        raise RefusedError(
            f"{len(graph.origins)} timers and messages from outside lead to too many callbacks. "
            "Release callbacks by fewer topics, or divide the executor"
        )


def make_graph(unit: Unit, arrivals: Arrivals) -> Graph:
    """Return which callback releases which, given how messages come from outside."""
    graph = Graph(unit)
    number = {callback.name: i for i, callback in enumerate(unit.in_order)}
    window = unit.system.longest_period
    expected: list[float] = []  # Of each callback: its releases in a window, with stored inputs.
    for x, callback in enumerate(unit.in_order):
        graph.entering.append([])
        inputs = []
        for topic in callback.triggers:
            inside = [number[name] for name in unit.inside(topic)]
            outside = [arrivals.get(topic, UNKNOWN)] if unit.outside(topic) else []
            total = sum(expected[p] for p in inside) + sum(one.rate * window for one in outside)
            inputs.append((total, inside, outside))
        graph.parents.append([p for _, inside, _ in inputs for p in inside])
        graph.inputs.append([(inside, outside) for _, inside, outside in inputs])
        if callback.wants_all:
            total, counted, streams = min(inputs, key=lambda one: one[0])
            total += callback.queue
        else:
            total = sum(one[0] for one in inputs)
            counted = list(graph.parents[x])
            streams = [one for _, _, outside in inputs for one in outside]
            if callback.period is not None:
                stream = Stream(callback.period, callback.jitter)
                streams.append(Activation((stream,), callback.longest_gap))
                total += window / callback.period
        graph.once.append(callback.queue if callback.wants_all else 0)
        expected.append(total)
        graph.counted.append(counted)
        for p in counted:
            graph.children[p].append(x)
        for one in streams:
            for stream in one.streams:
                timer = callback.kind is Kind.TIMER
                graph.entering[x].append(len(graph.origins))
                wake = 0 if timer else unit.woken(callback)
                graph.origins.append(Origin(x, stream, one.gap, timer, wake))
                graph.spans.add((stream.period, stream.jitter))
        _check_size(len(graph.origins), graph)
    graph.close()
    return graph


@dataclass(frozen=True)
class Level:
    """Work of one urgency or more."""

    per_release: Ints
    """Shape (origins,): W_r, ns."""
    stored: int
    """K, ns."""
    after: Ints
    """Shape (callbacks,): what one job of x sets off, ns."""


def _overtaking(unit: Unit, urgency: Ints) -> np.ndarray[Any, np.dtype[np.bool_]]:
    """Return of each callback whether its thread may have run something more urgent just before.

    In a pool that of any callback of the executor, else that of a member of its group.
    """
    pools = {e.name for e in unit.executors if e.kind is ExecutorKind.PREEMPTIVE}
    threads = [
        (c.executor, "" if c.executor in pools else c.group or f"\0{c.name}") for c in unit.in_order
    ]
    most: dict[tuple[str, str], int] = {}
    for thread, mine in zip(threads, urgency.tolist(), strict=True):
        most[thread] = max(most.get(thread, mine), mine)
    return np.array([most[thread] for thread in threads], dtype=np.int64) > urgency


def _levels(
    graph: Graph, urgencies: Iterable[int], only_overtaking: bool = False
) -> dict[int, Level]:
    """Return the work of each urgency or more; of that one itself perhaps only what overtakes."""
    every = np.array(sorted(urgencies), dtype=np.int64)
    found: dict[int, Level] = {}
    rows = max(1, BLOCK // len(graph.wcet))
    for some in (every[at : at + rows] for at in range(0, len(every), rows)):
        wanted = graph.urgency[:, None] >= some
        if only_overtaking:
            wanted &= (graph.urgency[:, None] > some) | graph.overtakes[:, None]
        spend((ITEM + len(some)) * sum(len(children) for children in graph.children))
        after = np.zeros((len(graph.wcet), len(some)), dtype=np.int64)
        work = np.where(wanted, graph.wcet[:, None], 0)
        for x in graph.inner:
            after[x] = np.minimum(work[graph.children[x]].sum(axis=0), ENDLESS_WORK)
            work[x] += np.where(wanted[x], after[x], 0)
        stored = np.array(graph.once) @ work
        for i, urgency in enumerate(some.tolist()):
            found[urgency] = Level(work[graph.entries, i], int(stored[i]), after[:, i])
    return found


Blocking = Callable[[Graph, int, Level], int]


@dataclass(frozen=True)
class Way:
    """From an origin to a callback.

    Attributes
    ----------
    least
        The least urgency on the way.
    release, start
        How long after the origin's release the callback is released, and begins, at least, ns.
    """

    least: int
    release: int = 0
    start: int = 0

    def joined(self, other: Way | None) -> Way:
        """Return what holds for both."""
        if other is None:
            return self
        return Way(
            min(self.least, other.least),
            min(self.release, other.release),
            min(self.start, other.start),
        )


def _ways(graph: Graph, preemptive: bool) -> list[dict[int, Way]]:
    """Return for every callback the ways to it, by the origin."""
    ways: list[dict[int, Way]] = []
    pairs = 0
    for x in range(len(graph.wcet)):
        mine: dict[int, Way] = {}
        urgency = int(graph.urgency[x])
        for r in graph.entering[x]:
            mine[r] = Way(urgency)
        # A message from elsewhere may complete one that was stored before the origin's release.
        stored = graph.unit.in_order[x].wants_all and any(out for _, out in graph.inputs[x])
        spend(ITEM * sum(len(ways[p]) for p in graph.parents[x]))
        # Of messages that wait for others, those of the inputs that do not count come in as well.
        for p in graph.parents[x]:
            # A message leaves as soon as p may publish; x begins at once if it preempts p, else
            # after p.
            needed = int(graph.urgency[p]) + (not graph.overtakes[x])
            preempts = preemptive and urgency >= needed
            bcet = 0 if preempts else graph.unit.in_order[p].bcet
            leaves = graph.unit.in_order[p].silent
            for r, way in ways[p].items():
                least = min(urgency, way.least)
                step = Way(least, way.start + leaves, way.start + max(bcet, leaves))
                step = Way(least) if stored else step
                mine[r] = step.joined(mine.get(r))
        ways.append(mine)
        pairs += len(mine)
        _check_size(pairs, graph)
    return ways


def analyse_graph(
    unit: Unit, arrivals: Arrivals, preemptive: bool, blocking: Blocking, any_order: bool = False
) -> dict[str, Local]:
    """Return the bounds of all callbacks of a unit, and how their messages come.

    Parameters
    ----------
    blocking
        Returns B for a level, ns.
    any_order
        Jobs of one urgency run in any order, those of one callback included.

    Notes
    -----
    Costs one fixed point per callback and origin that leads to it, and (callbacks x origins) per
    level of urgency.
    """
    graph = make_graph(unit, arrivals)
    graph.overtakes |= any_order
    ways = _ways(graph, preemptive)
    levels: dict[int, tuple[Level, int]] = {}
    pairs = [(x, r, way.least) for x, mine in enumerate(ways) for r, way in mine.items()]
    spend(CALLBACK * (len(unit.callbacks) + len(pairs)))
    if not pairs:
        return {c.name: Local(None, reason=no_bound(ENDLESS)) for c in unit.callbacks}
    for least, level in _levels(graph, {least for _, _, least in pairs}).items():
        levels[least] = (level, blocking(graph, least, level))
    found = _solve(graph, pairs, levels, preemptive, any_order)
    rows: list[list[int]] = [[] for _ in ways]
    for i, (x, _, _) in enumerate(pairs):
        rows[x].append(i)
    local: list[Local] = []
    for x, callback in enumerate(unit.in_order):
        graph.root_gap.append(_root_gap(graph, x, callback, local))
        local.append(_local(graph, x, callback, pairs, rows[x], found, ways[x]))
    return {callback.name: local[x] for x, callback in enumerate(unit.in_order)}


def _root_gap(graph: Graph, x: int, callback: Callback, local: list[Local]) -> int | None:
    """Return how far apart the releases of origins are at most that lead to one of x, ns.

    Parameters
    ----------
    local
        The bounds of those before it.
    """
    if callback.wants_all and callback.pairs != "newest":
        return _gap_of_pairs(graph, x, callback, local)
    gaps = [_gap_of_topic(graph, inside, outside) for inside, outside in graph.inputs[x]]
    if callback.period is not None:
        gaps.append(callback.longest_gap)
    known = [gap for gap in gaps if gap is not None]
    if callback.wants_all:
        # Only messages of one input count, but any input may be the last to come.
        return max(known) if len(known) == len(gaps) else None
    return min(known, default=None)


def _gap_of_topic(graph: Graph, inside: list[int], outside: list[Activation]) -> int | None:
    gaps = [graph.root_gap[p] for p in inside] + [one.gap for one in outside]
    return min((gap for gap in gaps if gap is not None), default=None)


def _gap_of_pairs(graph: Graph, x: int, callback: Callback, local: list[Local]) -> int | None:
    """Return that of a join by stamps.

    From the release of what completes a set until that is there it takes as long as the way at
    most. What completes the next one is released no later after that than `gap_of_pairs` says, or
    for equal stamps, which come from one start, `gap_of_sets`.
    """
    if callback.name in graph.unit.system.may_never_pair:
        return None
    gaps, streams, way = [], [], 0
    for inside, outside in graph.inputs[x]:
        gap = _gap_of_topic(graph, inside, outside)
        outputs = [*outside, *(local[p].output for p in inside)]
        if gap is None or any(one is None for one in outputs):
            return None
        gaps.append(gap)
        streams.append([stream for one in outputs if one is not None for stream in one.streams])
        way = max([way, *(most for p in inside for most in (local[p].prefix or {}).values())])
    if callback.pairs != APPROXIMATE:
        return gap_of_sets(gaps, streams, callback.queue)
    apart = gap_of_pairs(gaps, streams, callback.queue)
    return None if apart is None else apart + way


def _inside(graph: Graph) -> Ints:
    """Return what a job of x sets off that may run before it has ended, ns: what preempts it."""
    inside = np.zeros(len(graph.wcet), dtype=np.int64)
    urgencies = {int(graph.urgency[x]) for x in graph.inner}
    for urgency, level in _levels(graph, urgencies, only_overtaking=True).items():
        mine = graph.urgency == urgency
        inside[mine] = level.after[mine]
    return inside


def _solve(
    graph: Graph,
    pairs: list[tuple[int, int, int]],
    levels: dict[int, tuple[Level, int]],
    preemptive: bool,
    any_order: bool,
) -> Responses:
    xs, rs, leasts = (np.array(column, dtype=np.int64) for column in zip(*pairs, strict=True))
    spans = np.array([[o.stream.period, o.stream.jitter] for o in graph.origins], dtype=np.int64)
    groups, group = np.unique(spans, axis=0, return_inverse=True)
    group = group.reshape(-1)
    every, number = np.unique(leasts, return_inverse=True)
    number = number.reshape(-1)
    found = [levels[least][0] for least in every.tolist()]
    per_release = np.stack([level.per_release for level in found])
    by_group = np.zeros((len(found), len(groups)), dtype=np.int64)
    for row, one in zip(by_group, per_release, strict=True):
        np.add.at(row, group, one)
    own = per_release[number, rs]
    cost = by_group[number]
    cost[np.arange(len(pairs)), group[rs]] -= own
    after = np.stack([level.after for level in found])[number, xs]
    if preemptive:
        after -= _inside(graph)[xs]
    once = np.array([levels[k][0].stored + levels[k][1] for k in every.tolist()], np.int64)[number]
    once[once >= ENDLESS_WORK] = 2 * LIMIT
    alone = (graph.entries[rs] == xs) & (own == graph.wcet[xs])
    demand = Demand(
        spans[rs, 0],
        spans[rs, 1],
        own=own,
        last=own - after,
        measured=graph.wcet[xs],
        blocking=once,
        higher=Interference(groups[:, 0], groups[:, 1], cost),
        exclusive=~alone | any_order,
        supply=graph.unit.supply,
    )
    return responses(demand, preemptive, graph.unit.releases(len(pairs)))


def _local(
    graph: Graph,
    x: int,
    callback: Callback,
    pairs: list[tuple[int, int, int]],
    rows: list[int],
    found: Responses,
    ways: dict[int, Way],
) -> Local:
    endless = any(graph.origins[pairs[i][1]].stream.period == 1 for i in rows)
    most = ENDLESS if endless or not rows else max(int(found.response[i]) for i in rows)
    if most >= UNBOUNDED:
        return Local(None, reason=no_bound(most))
    prefix: dict[str, int] = {}
    worst, response, longest = rows[0], -1, 0
    for i in rows:
        r = pairs[i][1]
        origin = graph.origins[r]
        total = int(found.from_grid[i] if origin.timer else found.response[i]) + origin.wake
        name = graph.unit.in_order[origin.entry].name
        prefix[name] = max(prefix.get(name, 0), total)
        # Of several inputs one from outside may be the last.
        mine = graph.unit.woken(callback, int(found.response[i]) - ways[r].release)
        if mine > response:
            worst, response = i, mine
        longest = max(longest, total - ways[r].start)
    timer = callback.kind is Kind.TIMER
    gap = graph.root_gap[x]
    return Local(
        response=response,
        from_grid=int(found.from_grid[worst]) if timer else None,
        own=int(graph.wcet[x]),
        blocking=int(found.blocking[worst]),
        overhead=int(found.overhead[worst]),
        prefix=prefix,
        output=UNKNOWN
        if sum(graph.jobs[x].values()) > MAX_STREAMS
        else Activation(
            tuple(_output(graph, x, pairs, rows, found, ways)),
            None if gap is None else gap + longest,
        ),
        root_gap=gap,
    )


def _output(
    graph: Graph,
    x: int,
    pairs: list[tuple[int, int, int]],
    rows: list[int],
    found: Responses,
    ways: dict[int, Way],
) -> list[Stream]:
    """Return how x publishes: as the origins that count for it, later by what the way varies."""
    stored = graph.stored[x]
    leaves = graph.unit.in_order[x].silent
    later = {pairs[i][1]: int(found.response[i]) - ways[pairs[i][1]].start - leaves for i in rows}
    streams = []
    for r, count in graph.jobs[x].items():
        stream = graph.origins[r].stream
        for _ in range(count):
            late = stream.jitter + max(0, later[r]) + stored * stream.period
            stored = 0
            streams.append(Stream(stream.period, late))
    return streams


def begun_without_preemption(graph: Graph, urgency: int, level: Level) -> int:
    """Return B on a thread that finishes what it began, ns: the longest less urgent callback.

    With what it releases: its end may also be what starts the window.
    """
    lower = graph.urgency < urgency
    return int(np.max(np.where(lower, graph.wcet + level.after, 0), initial=0))


def begun_in_groups(graph: Graph, urgency: int, level: Level) -> int:
    """Return B for preemptive threads whose groups exclude each other, ns [Sha90].

    A group runs one callback at a time, and its runner inherits. So of each group with a member of
    at least this urgency, one less urgent job may be under way: the sum of the longest of each. And
    the window may start with what a less urgent job releases at its end.
    """
    lower = graph.urgency < urgency
    groups: dict[tuple[str, str], list[int]] = {}
    for x, callback in enumerate(graph.unit.in_order):
        if callback.group:
            groups.setdefault((callback.executor, callback.group), []).append(x)
    total = int(np.max(np.where(lower, level.after, 0), initial=0)) + held_by_publisher(
        graph.unit, urgency
    )
    for members in groups.values():
        if max(graph.urgency[members]) >= urgency:
            under_way = [int(graph.wcet[x] + level.after[x]) for x in members if lower[x]]
            total += max(under_way, default=0)
    return total
