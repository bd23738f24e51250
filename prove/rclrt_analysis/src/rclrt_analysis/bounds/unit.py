# Copyright 2026 The rclrt Authors
# SPDX-License-Identifier: Apache-2.0
"""What is analysed together: callbacks that compete for the same thread or the same core."""

from collections.abc import Callable, Mapping
from dataclasses import dataclass, field, replace
from functools import cached_property

import numpy as np
from rclrt_analysis.bounds.activation import UNKNOWN, Activation, Stream, joined, merged
from rclrt_analysis.bounds.busy_window import Responses
from rclrt_analysis.bounds.effort import CALLBACK, spend
from rclrt_analysis.bounds.fixed_point import ENDLESS, UNBOUNDED, no_bound
from rclrt_analysis.bounds.fixed_priority import as_interference
from rclrt_analysis.bounds.result import Local, RefusedError
from rclrt_analysis.bounds.taskset import (
    DEDICATED,
    Interference,
    Ints,
    Supply,
    TaskSet,
    make_taskset,
)
from rclrt_analysis.model import (
    Callback,
    Executor,
    ExecutorKind,
    Kind,
    Policy,
    Release,
    System,
)

MULTI = (ExecutorKind.WAIT_SET_MULTI, ExecutorKind.ISOLATED, ExecutorKind.PREEMPTIVE)
"""They may have threads on several cores."""


KEPT = (*MULTI[1:], ExecutorKind.PRIORITY_EVENTS, ExecutorKind.EVENTS_FIFO)
"""They lose no release, however late they are."""

Reasons = dict[str, str]


@dataclass(frozen=True)
class Unit:
    """Callbacks that are analysed together, in the order of the model.

    extra: What every execution time grows by, ns.
    found: The bounds found last: where to go on when more jitter comes in.
    whole: What `burst` says of callbacks, by name; nothing where it says nothing.
    """

    system: System
    executors: tuple[Executor, ...]
    callbacks: tuple[Callback, ...]
    urgency: Mapping[str, int]
    extra: int
    found: dict[str, Local] = field(default_factory=dict, compare=False)
    whole: Mapping[str, Local] = field(default_factory=dict, compare=False)

    @cached_property
    def names(self) -> frozenset[str]:
        """Names of the callbacks."""
        return frozenset(callback.name for callback in self.callbacks)

    @cached_property
    def in_order(self) -> tuple[Callback, ...]:
        """The callbacks, each after those that release it."""
        system = self.system
        return tuple(system.callback_of[name] for name in system.topological if name in self.names)

    @cached_property
    def outside_topics(self) -> tuple[str, ...]:
        """Topics that release callbacks of this unit and that others publish."""
        topics = (topic for callback in self.callbacks for topic in callback.triggers)
        return tuple(dict.fromkeys(topic for topic in topics if self.outside(topic)))

    @property
    def supply(self) -> Supply:
        """What the thread is given: the processor, or a reservation."""
        mine = self.executors[0].reservation
        return DEDICATED if mine is None else Supply(mine.budget, mine.period)

    @cached_property
    def _publishers(self) -> dict[str, tuple[list[str], list[str]]]:
        """The publishers of each topic that releases callbacks here, inside and outside."""
        found = {}
        for topic in dict.fromkeys(t for c in self.callbacks for t in c.triggers):
            every = self.system.publishers.get(topic, ())
            found[topic] = (
                [name for name in every if name in self.names],
                [name for name in every if name not in self.names],
            )
        return found

    def inside(self, topic: str) -> list[str]:
        """Return the callbacks of this unit that publish a topic which releases one of it."""
        return self._publishers[topic][0]

    def outside(self, topic: str) -> list[str]:
        """Return the callbacks of other units that publish such a topic."""
        return self._publishers[topic][1]

    @property
    def timers(self) -> list[Callback]:
        """The callbacks that a timer thread releases."""
        return [callback for callback in self.callbacks if callback.kind is Kind.TIMER]

    @property
    def independent(self) -> bool:
        """Whether nothing but timers without jitter, and nothing else, releases callbacks."""
        return all(c.kind is Kind.TIMER and not c.jitter for c in self.callbacks)

    def woken(self, callback: Callback, bound: int = 0) -> int:
        """Return a bound with how long a job may wait for its core: another core releases it.

        Of several cores any may release it.
        """
        kind, cores = self.executors[0].kind, self.executors[0].cores
        several = len(cores) > 1 and kind in MULTI
        alone = callback.kind is not Kind.TIMER and callback.period is not None
        far = alone or any(several or self.outside(t) for t in callback.triggers)
        far = bound < UNBOUNDED and far
        return bound + self.system.overheads.wake * far

    def releases(self, rows: int) -> Interference | None:
        """Return what comes before all of `rows` tasks: releases, what is stolen, and the like."""
        overheads = self.system.overheads
        found = []
        if overheads.release and self.timers:
            period = np.array([callback.period or 1 for callback in self.timers], dtype=np.int64)
            jitter = np.array([callback.jitter for callback in self.timers], dtype=np.int64)
            found.append(as_interference(period, jitter, overheads.release, rows))
        if self.system.above:
            period, jitter, cost = (
                np.array([getattr(one, name) for one in self.system.above], dtype=np.int64)
                for name in ("period", "jitter", "cost")
            )
            found.append(Interference(period, jitter, np.tile(cost, (rows, 1))))
        if overheads.stolen:
            every = np.array([overheads.window], dtype=np.int64)
            found.append(as_interference(every, np.zeros(1, np.int64), overheads.stolen, rows))
        if len(found) < 2:
            return found[0] if found else None
        return Interference(
            np.concatenate([one.period for one in found]),
            np.concatenate([one.jitter for one in found]),
            np.concatenate([one.cost for one in found], axis=1),
        )


def held_by_publisher(unit: Unit, urgency: int) -> int:
    """Return for how long a publication may hold up callbacks of that urgency, ns.

    Its thread is as urgent as what it releases until it has told all readers. One at most may have
    begun when they are released: another one of less urgent callbacks does not begin meanwhile. And
    what it releases, also elsewhere, is woken when it ends.
    """
    less = any(c.publishes and unit.urgency[c.name] < urgency for c in unit.callbacks)
    return unit.system.overheads.publish if less or unit.outside_topics else 0


Arrivals = Mapping[str, Activation]
"""How messages come on a unit's outside topics; those that nothing bounds are absent."""


MAX_ROUNDS = 50
MAX_GROWTH = 20
"""A response that exceeds so many times the longest period while jitter grows counts as none."""

MAX_ROWS = 3_000
"""Rows of one table, at most: the computation looks at each pair of them."""

GROWING = "jitter and response grow each other. Reduce wcet_ms, or move work to another executor"
UNSETTLED = (
    f"jitter and response still changed each other after {MAX_ROUNDS} rounds. Reduce wcet_ms, or "
    "move work to another executor"
)

Known = Mapping[str, Activation]


@dataclass(frozen=True)
class Rows:
    """Tasks of a unit: one for each stream of each callback.

    That splits a callback which several things release. Its parts have equal priorities, so each
    counts the others, and the callback's bound is that of its worst part.
    """

    tasks: TaskSet
    owner: Ints
    """Shape (rows,): number of the callback in the unit."""


def activations(unit: Unit, arrivals: Arrivals, responses: Mapping[str, Local]) -> Known:
    """Return how every callback of the unit is released."""
    found: dict[str, Activation] = {}
    outputs: dict[str, Activation] = {}
    for callback in unit.in_order:
        inputs = []
        for topic in callback.triggers:
            for name in unit.inside(topic):
                if name not in outputs:
                    outputs[name] = _outputs(found, responses, unit, name)
            every = [outputs[name] for name in unit.inside(topic)]
            if unit.outside(topic):
                every.append(arrivals.get(topic, UNKNOWN))
            inputs.append(merged(every))
        if callback.period is not None:
            stream = Stream(callback.period, callback.jitter)
            inputs.append(Activation((stream,), callback.longest_gap))
        may_never = callback.name in unit.system.may_never_pair
        found[callback.name] = (
            joined(inputs, callback, may_never) if callback.wants_all else merged(inputs)
        )
    return found


def _outputs(known: Known, responses: Mapping[str, Local], unit: Unit, name: str) -> Activation:
    """Return how the messages of a callback come: as it is released, or as its origins are."""
    alone = _output(known[name], responses[name], unit, name)
    whole = gaps_known(unit, responses, name)
    if whole is None or whole.output is None:
        return alone
    ways = (alone, whole.output)
    best = min(ways, key=lambda one: (one.rate, sum(s.jitter for s in one.streams)))
    gaps = [one.gap for one in ways if one.gap is not None]
    return replace(best, gap=min(gaps, default=None))


def gaps_known(unit: Unit, responses: Mapping[str, Local], name: str) -> Local | None:
    """Return what `burst` says of a callback; no gap if an origin of it has no bound.

    That may be a timer that skips timestamps, and so comes later than its period says.
    """
    whole = unit.whole.get(name)
    if whole is None or whole.output is None:
        return whole
    if all(responses[origin].response is not None for origin in whole.prefix or ()):
        return whole
    return replace(whole, output=replace(whole.output, gap=None), root_gap=None)


def may_be_replaced(unit: Unit, name: str, local: Local) -> bool:
    """Return whether jobs of a timer may replace each other again and again (`keep_latest`).

    One that still waits when the next is released gives way to it. By deadlines, that one waits
    behind more than the first did. By priorities it has the place in line of the first, so it ends
    when that would have ended at the latest.
    """
    callback = unit.system.callback_of[name]
    edf = any(executor.policy is Policy.EDF for executor in unit.executors)
    timer = edf and callback.kind is Kind.TIMER
    return timer and (local.bound or 0) > (callback.period or 0)


def _output(activation: Activation, local: Local, unit: Unit, name: str) -> Activation:
    if local.response is None or local.bound is None:
        return UNKNOWN
    # A message leaves anywhere in the job, but for its begin.
    transport = unit.system.overheads.transport
    more = local.response - unit.system.callback_of[name].silent + transport
    # The gap of a timer is that of its grid, so what is added counts from there.
    gap = None
    if activation.gap is not None and not may_be_replaced(unit, name, local):
        gap = activation.gap + local.bound + transport
    return Activation(tuple(Stream(s.period, s.jitter + more) for s in activation.streams), gap)


def with_jitter(
    unit: Unit,
    arrivals: Arrivals,
    bounds: Callable[[Known], Mapping[str, Local]],
    has_state: bool = False,
) -> dict[str, Local]:
    """Return bounds that agree with the jitter that they cause; None for what grows on and on.

    For executors whose bounds take tasks, not graphs: what a callback releases jitters by what its
    response time varies by [Tindell94].

    has_state: Whether `bounds` may find something else when it gets the same again.
    """
    longest = unit.system.longest_period
    # Any bounds that agree with their jitter hold, so it does not matter where the search begins.
    result = unit.found or {c.name: Local(c.wcet, c.wcet) for c in unit.callbacks}
    endless = {name: local for name, local in unit.found.items() if local.response is None}
    known = activations(unit, arrivals, result)
    for step in range(10 * MAX_ROUNDS):
        before, earlier = result, known
        spend(CALLBACK * len(unit.callbacks))
        result = {**bounds(known), **endless}
        for name, local in result.items():
            grows = local.response is not None and local.response > MAX_GROWTH * longest
            if grows or (step % MAX_ROUNDS == MAX_ROUNDS - 1 and local != before[name]):
                endless[name] = Local(None, reason=GROWING if grows else UNSETTLED)
        endless.update((n, local) for n, local in result.items() if local.response is None)
        result.update(endless)
        known = activations(unit, arrivals, result)
        if result == before or (known == earlier and not has_state):
            break
    else:  # What was given up last may still tell on the others.
        result = {name: Local(None, reason=UNSETTLED) for name in result}
    unit.found.update(result)
    return {name: _told(unit, known, result, name) for name in result}


def _told(unit: Unit, known: Known, responses: Mapping[str, Local], name: str) -> Local:
    """Return the bound of a callback with what others need to know of it."""
    local, whole = responses[name], gaps_known(unit, responses, name)
    if local.response is None:
        # A timer that skips timestamps: as often as that it sends at most.
        return local if whole is None else replace(local, output=whole.output)
    output, gap = _outputs(known, responses, unit, name), known[name].gap
    if may_be_replaced(unit, name, local):
        gap = None
    if whole is None:
        return replace(local, output=output, gap=gap, root_gap=gap)
    return replace(local, output=output, gap=gap, root_gap=whole.root_gap, prefix=whole.prefix)


def make_rows(unit: Unit, known: Known) -> Rows:
    """Return the tasks of a unit."""
    owner: list[int] = []
    columns: list[tuple[int, int, int, int, int]] = []
    for i, callback in enumerate(unit.callbacks):
        for stream in known[callback.name].streams:
            owner.append(i)
            deadline = callback.deadline or UNBOUNDED
            urgency = unit.urgency[callback.name]
            columns.append(
                (callback.wcet + unit.extra, stream.period, deadline, urgency, stream.jitter)
            )
    if len(columns) > MAX_ROWS:
        raise RefusedError(
            f"its callbacks are released in {len(columns)} ways, counted with each timer that "
            f"leads to them; {MAX_ROWS} is the most. Release them less often, or by fewer topics"
        )
    wcet, period, deadlines, priority, jitter = zip(*columns, strict=True)
    return Rows(
        make_taskset(wcet, period, deadlines, priority, jitter), np.array(owner, dtype=np.int64)
    )


def to_locals(unit: Unit, rows: Rows, responses: Responses, known: Known) -> dict[str, Local]:
    """Return the bound of every callback: that of its worst row."""
    result: dict[str, Local] = {}
    mine: list[list[int]] = [[] for _ in unit.callbacks]
    for row, i in enumerate(rows.owner.tolist()):
        mine[i].append(row)
    response, from_grid = responses.response.tolist(), responses.from_grid.tolist()
    own, blocking = rows.tasks.wcet.tolist(), responses.blocking.tolist()
    overhead = responses.overhead.tolist()
    for i, callback in enumerate(unit.callbacks):
        worst = max(mine[i], key=response.__getitem__)
        endless = any(stream.period == 1 for stream in known[callback.name].streams)
        if endless or response[worst] >= UNBOUNDED:
            reason = no_bound(ENDLESS if endless else response[worst])
            local = Local(None, reason=reason)
        else:
            local = Local(
                response=unit.woken(callback, response[worst]),
                from_grid=from_grid[worst] if callback.kind is Kind.TIMER else None,
                own=own[worst],
                blocking=blocking[worst],
                overhead=overhead[worst],
            )
        result[callback.name] = _lower(local, unit.whole.get(callback.name))
    return result


def _lower(local: Local, whole: Local | None) -> Local:
    """Return the lower of two bounds, in what others add to it as well."""
    if whole is None or whole.response is None:
        return local
    alone = replace(whole, prefix=None, output=None, root_gap=None)
    if local.response is None:
        return alone
    grids = [one.from_grid for one in (local, whole) if one.from_grid is not None]
    best = local if local.response <= whole.response else alone
    return replace(best, from_grid=min(grids, default=None))


def overloads(unit: Unit, responses: Mapping[str, Local], outside: Mapping[str, float]) -> Reasons:
    """Return of which callbacks there is no bound at all, and why.

    On one thread or core, let H be what precedes a job of x or is as urgent, x included, without
    what waits for several inputs or is released by callbacks that are neither in H nor have a
    bound. When a job of x begins, nothing more urgent is left in H, and of what is as urgent only
    what came after it. So if x had a bound, the work left in H would again and again be less than
    what comes in so long. But it grows if more of it comes than can be done. By deadlines H is all
    that has a deadline of its own: when a job of x begins, what is left came no longer ago than the
    longest deadline and the bound.

    outside: How often callbacks of other units that have a bound are released in the long run, per
        ns.
    """
    executor = unit.executors[0]
    threads = executor.kind in MULTI
    skips = executor.release is not Release.RELEASE_ONLY
    if executor.kind not in KEPT or skips or (threads and len(executor.cores) > 1):
        return {}
    edf = any(one.policy is Policy.EDF for one in unit.executors)
    one_level = edf or executor.kind is ExecutorKind.EVENTS_FIFO
    share = unit.supply.share
    found: Reasons = {}
    known: dict[int, dict[str, float]] = {}
    for x in unit.callbacks:
        least = -1 if one_level else unit.urgency[x.name]
        if least not in known:
            known[least] = _loads(unit, least, edf, outside)
        load = sum(known[least].values())
        late = responses[x.name].response is None and x.wcet and known[least].get(x.name)
        if late and load > share * (1 + 1e-9):
            found[x.name] = (
                f"no bound exists: work of this urgency or higher fills the processor. It takes "
                f"{100 * load:.3f} % of the {100 * share:.3f} % there is. Take "
                f"{100 * (load - share):.3f} % away: reduce wcet_ms, lengthen period_ms, or move "
                "work to another core"
            )
    return found


def _loads(unit: Unit, least: int, edf: bool, outside: Mapping[str, float]) -> dict[str, float]:
    """Return the share of a core that each callback of H takes, see `overloads`."""
    rate: dict[str, float] = {}
    for c in unit.in_order:
        counts = c.deadline is not None if edf else unit.urgency[c.name] >= least
        if counts and not c.wants_all:
            senders = unit.system.triggered_by(c)
            rate[c.name] = sum(rate.get(name, outside.get(name, 0.0)) for name in senders)
            rate[c.name] += 1 / c.period if c.period else 0
    return {name: one * unit.system.callback_of[name].wcet for name, one in rate.items()}
