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

from collections.abc import Callable, Hashable, Iterable, Iterator
from dataclasses import dataclass, field
from typing import Any, NamedTuple

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
from rclrt_analysis.bounds.effort import CALLBACK, ITEM, remembered, spend
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
"""Callbacks times periods (with their jitter) of origins that lead to them."""


@dataclass(frozen=True)
class Origin:
    """What starts work from outside: a timer, or messages that come to a callback."""

    entry: int
    stream: Stream
    gap: int | None
    timer: bool
    wake: int = 0


@dataclass(frozen=True)
class Way:
    """From an origin to a callback.

    least: The least urgency on the way.
    release, start: How long after the origin's release the callback is released, and begins, at
        least, ns.
    """

    least: int
    release: int = 0
    start: int = 0

    def joined(self, other: "Way | None") -> "Way":
        """Return what holds for both."""
        if other is None:
            return self
        return Way(
            min(self.least, other.least),
            min(self.release, other.release),
            min(self.start, other.start),
        )


@dataclass
class Shape:
    """Releases within a unit, whatever they cost; callbacks are numbers, each above its parents.

    parents: Of x: all that may release it.
    entering: Of x: the origins that enter at it.
    counted: Of x: those of its parents whose jobs each count as a release. For a callback that
        waits for all inputs these are the publishers of one input: each bounds how often it is
        released, so the one with the fewest messages in the longest period is taken.
    chosen: Of x: the number of that input.
    once: Of x: how many inputs stored earlier may bring one release more each.
    jobs, stored: Of x: for how many of its jobs a release of each origin counts, and how many
        stored inputs.
    inside: Of x, for each topic: those within that publish it.
    overtakes: Of x: whether a job of it may run before one of the same urgency that had begun.
    groups: Callbacks that exclude each other.
    pairs: How many callbacks each origin leads to, in sum.
    """

    urgency: Ints
    overtakes: np.ndarray[Any, np.dtype[np.bool_]]
    parents: list[list[int]] = field(default_factory=list)
    entering: list[range] = field(default_factory=list)
    counted: list[list[int]] = field(default_factory=list)
    chosen: list[int] = field(default_factory=list)
    once: list[int] = field(default_factory=list)
    jobs: list[dict[int, int]] = field(default_factory=list)
    stored: list[int] = field(default_factory=list)
    inside: list[list[list[int]]] = field(default_factory=list)
    groups: list[list[int]] = field(default_factory=list)
    ways: list[dict[int, Way]] = field(default_factory=list)
    pairs: int = 0

    def close(self) -> None:
        """Derive what depends on all of the above."""
        self.entries = np.array(
            [x for x, mine in enumerate(self.entering) for _ in mine], dtype=np.int64
        )
        self.children: list[list[int]] = [[] for _ in self.counted]
        pairs = 0
        for x, mine in enumerate(self.counted):
            jobs = dict.fromkeys(self.entering[x], 1)
            spend(ITEM * sum(len(self.jobs[p]) for p in mine))
            for p in mine:
                self.children[p].append(x)
                for r, count in self.jobs[p].items():
                    jobs[r] = jobs.get(r, 0) + count
            pairs += len(jobs)
            self.check_size(pairs)
            self.jobs.append(jobs)
            self.stored.append(self.once[x] + sum(self.stored[p] for p in mine))
        # Jobs with children, each before those that release it.
        self.inner = [x for x in reversed(range(len(self.jobs))) if self.children[x]]

    def check_size(self, pairs: int, spans: int = 1) -> None:
        """Refuse what would take too much memory."""
        self.pairs = max(self.pairs, pairs)
        if pairs > MAX_PAIRS or pairs * spans > MAX_NUMBERS:
            raise RefusedError(
                f"{self.entering[-1].stop} timers and messages from outside lead to too many "
                "callbacks. Release callbacks by fewer topics, or divide the executor"
            )


@dataclass
class Graph:
    """Releases within a unit, with what they cost.

    origins: All of them.
    wcet: Shape (callbacks,), ns.
    root_gap: Of x, once it has a bound: an origin's release at least so often leads to one of x,
        ns.
    """

    unit: Unit
    arrivals: Arrivals
    shape: Shape
    origins: list[Origin]
    wcet: Ints
    root_gap: list[int | None] = field(default_factory=list)

    def inputs(self, x: int) -> Iterator[tuple[list[int], list[Activation]]]:
        """Yield for each topic of x the publishers within, and what comes from elsewhere."""
        topics = self.unit.in_order[x].triggers
        for topic, inside in zip(topics, self.shape.inside[x], strict=True):
            outside = self.unit.outside(topic)
            yield inside, [self.arrivals.get(topic, UNKNOWN)] if outside else []


def make_graph(unit: Unit, arrivals: Arrivals, preemptive: bool, any_order: bool) -> Graph:
    """Return which callback releases which, given how messages come from outside."""
    shape = remembered(
        _key(unit, arrivals, preemptive, any_order),
        lambda: _shape(unit, arrivals, preemptive, any_order),
        lambda shape: shape.pairs,
    )
    origins = []
    for x, callback in enumerate(unit.in_order):
        if not shape.entering[x]:
            continue
        timer = callback.kind is Kind.TIMER
        wake = 0 if timer else unit.woken(callback)
        for one in _streams(unit, callback, arrivals, shape.chosen[x]):
            origins += [Origin(x, stream, one.gap, timer, wake) for stream in one.streams]
    shape.check_size(shape.pairs, len({origin.stream for origin in origins}))
    wcet = np.array([c.wcet for c in unit.in_order], dtype=np.int64) + unit.extra
    return Graph(unit, arrivals, shape, origins, wcet)


def _streams(
    unit: Unit, callback: Callback, arrivals: Arrivals, chosen: int
) -> Iterator[Activation]:
    """Yield what comes to a callback from outside; if it waits for all, of the chosen topic."""
    for i, topic in enumerate(callback.triggers):
        if (i == chosen or not callback.wants_all) and unit.outside(topic):
            yield arrivals.get(topic, UNKNOWN)
    if callback.period is not None and not callback.wants_all:
        stream = Stream(callback.period, callback.jitter)
        yield Activation((stream,), callback.longest_gap)


def _key(unit: Unit, arrivals: Arrivals, preemptive: bool, any_order: bool) -> Hashable:
    """Return all that the shape of a unit depends on."""
    rates: Hashable = None
    if any(callback.wants_all for callback in unit.callbacks):
        periods = tuple((c.period, c.jitter) for c in unit.callbacks)
        rates = (periods, tuple(arrivals.items()), unit.system.longest_period)
    callbacks = tuple(
        (
            c.name, c.executor, c.group, c.triggers, c.wants_all, c.queue, c.period is None,
            c.bcet, c.silent, unit.urgency[c.name],
        )
        for c in unit.in_order
    )  # fmt: skip
    topics = dict.fromkeys(topic for c in unit.callbacks for topic in c.triggers)
    inside = tuple((topic, tuple(unit.inside(topic))) for topic in topics)
    outside = tuple((t, len(arrivals.get(t, UNKNOWN).streams)) for t in unit.outside_topics)
    return preemptive, any_order, unit.executors, callbacks, inside, outside, rates


def _shape(unit: Unit, arrivals: Arrivals, preemptive: bool, any_order: bool) -> Shape:
    number = {callback.name: i for i, callback in enumerate(unit.in_order)}
    urgency = np.array([unit.urgency[c.name] for c in unit.in_order], dtype=np.int64)
    shape = Shape(urgency, _overtaking(unit, urgency) | any_order)
    window = unit.system.longest_period
    expected: list[float] = []  # By callback: releases in a window, with stored inputs.
    origins = 0
    groups: dict[tuple[str, str], list[int]] = {}
    for x, callback in enumerate(unit.in_order):
        if callback.group:
            groups.setdefault((callback.executor, callback.group), []).append(x)
        inside = [[number[name] for name in unit.inside(topic)] for topic in callback.triggers]
        totals = []
        for topic, some in zip(callback.triggers, inside, strict=True):
            rate = arrivals.get(topic, UNKNOWN).rate if unit.outside(topic) else 0
            totals.append(sum(expected[p] for p in some) + rate * window)
        parents = [p for some in inside for p in some]
        counted, chosen = parents, 0
        if callback.wants_all:
            chosen = totals.index(min(totals))
            total = totals[chosen] + callback.queue
            counted = inside[chosen]
        else:
            total = sum(totals) + (window / callback.period if callback.period else 0)
        shape.inside.append(inside)
        shape.parents.append(parents)
        shape.counted.append(counted)
        shape.chosen.append(chosen)
        shape.once.append(callback.queue if callback.wants_all else 0)
        expected.append(total)
        entering = sum(len(one.streams) for one in _streams(unit, callback, arrivals, chosen))
        shape.entering.append(range(origins, origins + entering))
        origins += entering
        shape.check_size(origins)
    shape.groups = list(groups.values())
    shape.close()
    _add_ways(shape, unit, preemptive)
    return shape


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
    shape = graph.shape
    every = np.array(sorted(urgencies), dtype=np.int64)
    found: dict[int, Level] = {}
    rows = max(1, BLOCK // len(graph.wcet))
    for some in (every[at : at + rows] for at in range(0, len(every), rows)):
        wanted = shape.urgency[:, None] >= some
        if only_overtaking:
            wanted &= (shape.urgency[:, None] > some) | shape.overtakes[:, None]
        spend((ITEM + len(some)) * sum(len(children) for children in shape.children))
        after = np.zeros((len(graph.wcet), len(some)), dtype=np.int64)
        work = np.where(wanted, graph.wcet[:, None], 0)
        for x in shape.inner:
            after[x] = np.minimum(work[shape.children[x]].sum(axis=0), ENDLESS_WORK)
            work[x] += np.where(wanted[x], after[x], 0)
        stored = np.array(shape.once) @ work
        for i, urgency in enumerate(some.tolist()):
            found[urgency] = Level(work[shape.entries, i], int(stored[i]), after[:, i])
    return found


Blocking = Callable[[Graph, int, Level], int]


def _add_ways(shape: Shape, unit: Unit, preemptive: bool) -> None:
    """Add for every callback the ways to it, by the origin."""
    ways = shape.ways
    pairs = 0
    for x, callback in enumerate(unit.in_order):
        urgency = int(shape.urgency[x])
        mine = {r: Way(urgency) for r in shape.entering[x]}
        # A message from elsewhere may complete one that was stored before the origin's release.
        stored = callback.wants_all and any(unit.outside(topic) for topic in callback.triggers)
        spend(ITEM * sum(len(ways[p]) for p in shape.parents[x]))
        # If messages wait for others, those of the inputs that do not count come in as well.
        for p in shape.parents[x]:
            # A message leaves as soon as p may publish; x begins at once if it preempts p, else
            # after p.
            needed = int(shape.urgency[p]) + (not shape.overtakes[x])
            preempts = preemptive and urgency >= needed
            bcet = 0 if preempts else unit.in_order[p].bcet
            leaves = unit.in_order[p].silent
            for r, way in ways[p].items():
                least = min(urgency, way.least)
                step = Way(least, way.start + leaves, way.start + max(bcet, leaves))
                step = Way(least) if stored else step
                mine[r] = step.joined(mine.get(r))
        ways.append(mine)
        pairs += len(mine)
        shape.check_size(pairs)


def analyse_graph(
    unit: Unit, arrivals: Arrivals, preemptive: bool, blocking: Blocking, any_order: bool = False
) -> dict[str, Local]:
    """Return the bounds of all callbacks of a unit, and how their messages come.

    blocking: Returns B for a level, ns.
    any_order: Jobs of one urgency run in any order, those of one callback included.

    Costs one fixed point per callback and origin that leads to it, and (callbacks x origins) per
    level of urgency.
    """
    graph = make_graph(unit, arrivals, preemptive, any_order)
    ways = graph.shape.ways
    levels: dict[int, tuple[Level, int]] = {}
    pairs = [(x, r, way.least) for x, mine in enumerate(ways) for r, way in mine.items()]
    spend(CALLBACK * (len(unit.callbacks) + len(pairs)))
    if not pairs:
        return {c.name: Local(None, reason=no_bound(ENDLESS)) for c in unit.callbacks}
    for least, level in _levels(graph, {least for _, _, least in pairs}).items():
        levels[least] = (level, blocking(graph, least, level))
    found = _solve(graph, pairs, levels, preemptive, any_order)
    rows: list[list[Row]] = [[] for _ in ways]
    columns = (found.response, found.from_grid, found.blocking, found.overhead)
    for (x, r, _), *times in zip(pairs, *(column.tolist() for column in columns), strict=True):
        rows[x].append(Row(r, *times))
    local: list[Local] = []
    for x, callback in enumerate(unit.in_order):
        graph.root_gap.append(_root_gap(graph, x, callback, local))
        local.append(_local(graph, x, callback, rows[x]))
    return {callback.name: local[x] for x, callback in enumerate(unit.in_order)}


class Row(NamedTuple):
    """What was found for a callback and an origin that leads to it, see `Responses`."""

    origin: int
    response: int
    from_grid: int
    blocking: int
    overhead: int


def _root_gap(graph: Graph, x: int, callback: Callback, local: list[Local]) -> int | None:
    """Return how far apart the releases of origins are at most that lead to one of x, ns.

    local: The bounds of those before it.
    """
    if callback.wants_all and callback.pairs != "newest":
        return _gap_of_pairs(graph, x, callback, local)
    gaps = [_gap_of_topic(graph, inside, outside) for inside, outside in graph.inputs(x)]
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
    for inside, outside in graph.inputs(x):
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
    urgencies = {int(graph.shape.urgency[x]) for x in graph.shape.inner}
    for urgency, level in _levels(graph, urgencies, only_overtaking=True).items():
        mine = graph.shape.urgency == urgency
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
    alone = (graph.shape.entries[rs] == xs) & (own == graph.wcet[xs])
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


def _local(graph: Graph, x: int, callback: Callback, rows: list[Row]) -> Local:
    endless = any(graph.origins[row.origin].stream.period == 1 for row in rows)
    most = ENDLESS if endless or not rows else max(row.response for row in rows)
    if most >= UNBOUNDED:
        return Local(None, reason=no_bound(most))
    ways = graph.shape.ways[x]
    prefix: dict[str, int] = {}
    worst, response, longest = rows[0], -1, 0
    for row in rows:
        way, origin = ways[row.origin], graph.origins[row.origin]
        total = (row.from_grid if origin.timer else row.response) + origin.wake
        name = graph.unit.in_order[origin.entry].name
        prefix[name] = max(prefix.get(name, 0), total)
        # If there are several inputs, one from outside may be the last.
        mine = graph.unit.woken(callback, row.response - way.release)
        if mine > response:
            worst, response = row, mine
        longest = max(longest, total - way.start)
    gap = graph.root_gap[x]
    return Local(
        response=response,
        from_grid=worst.from_grid if callback.kind is Kind.TIMER else None,
        own=int(graph.wcet[x]),
        blocking=worst.blocking,
        overhead=worst.overhead,
        prefix=prefix,
        output=UNKNOWN
        if sum(graph.shape.jobs[x].values()) > MAX_STREAMS
        else Activation(
            tuple(_output(graph, x, callback, rows)), None if gap is None else gap + longest
        ),
        root_gap=gap,
    )


def _output(graph: Graph, x: int, callback: Callback, rows: list[Row]) -> list[Stream]:
    """Return how x publishes: as the origins that count for it, later by what the way varies."""
    stored, ways = graph.shape.stored[x], graph.shape.ways[x]
    leaves = callback.silent
    response = {row.origin: row.response for row in rows}
    streams = []
    for r, count in graph.shape.jobs[x].items():
        stream = graph.origins[r].stream
        late = stream.jitter + max(0, response[r] - ways[r].start - leaves)
        if stored:
            streams.append(Stream(stream.period, late + stored * stream.period))
            stored, count = 0, count - 1
        streams += [Stream(stream.period, late)] * count
    return streams


def begun_without_preemption(graph: Graph, urgency: int, level: Level) -> int:
    """Return B on a thread that finishes what it began, ns: the longest less urgent callback.

    With what it releases: its end may also be what starts the window.
    """
    lower = graph.shape.urgency < urgency
    return int(np.max(np.where(lower, graph.wcet + level.after, 0), initial=0))


def begun_in_groups(graph: Graph, urgency: int, level: Level) -> int:
    """Return B for preemptive threads whose groups exclude each other, ns [Sha90].

    A group runs one callback at a time, and its runner inherits. So of each group with a member of
    at least this urgency, one less urgent job may be under way: the sum of the longest of each. And
    the window may start with what a less urgent job releases at its end.
    """
    lower = graph.shape.urgency < urgency
    total = int(np.max(np.where(lower, level.after, 0), initial=0)) + held_by_publisher(
        graph.unit, urgency
    )
    for members in graph.shape.groups:
        if max(graph.shape.urgency[members]) >= urgency:
            under_way = [int(graph.wcet[x] + level.after[x]) for x in members if lower[x]]
            total += max(under_way, default=0)
    return total
