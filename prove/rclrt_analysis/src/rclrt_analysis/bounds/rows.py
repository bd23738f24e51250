# Copyright 2026 The rclrt Authors
# SPDX-License-Identifier: Apache-2.0
"""A unit as independent tasks whose releases jitter, repeated until jitter and responses agree.

For executors whose bounds take tasks, not graphs: what a callback releases jitters by what its
response time varies by [Tindell94].
"""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, replace

import numpy as np

from rclrt_analysis.bounds.activation import UNKNOWN, Activation, Stream, joined, merged
from rclrt_analysis.bounds.budget import CALLBACK, spend
from rclrt_analysis.bounds.busy_window import Responses
from rclrt_analysis.bounds.lost import ENDLESS, UNBOUNDED, no_bound
from rclrt_analysis.bounds.result import Local, RefusedError
from rclrt_analysis.bounds.taskset import Ints, TaskSet, make_taskset
from rclrt_analysis.bounds.unit import Arrivals, Unit
from rclrt_analysis.model import Callback, Kind

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
                    outputs[name] = _output(found[name], responses[name], unit, name)
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


def _output(activation: Activation, local: Local, unit: Unit, name: str) -> Activation:
    if local.response is None or local.bound is None:
        return UNKNOWN
    # A message leaves anywhere in the job, but for its begin.
    transport = unit.system.overheads.transport
    more = local.response - unit.system.callback_of[name].silent + transport
    # The gap of a timer is that of its grid, so what is added counts from there.
    gap = None
    if activation.gap is not None:
        gap = activation.gap + local.bound + transport
    return Activation(tuple(Stream(s.period, s.jitter + more) for s in activation.streams), gap)


def with_jitter(
    unit: Unit, arrivals: Arrivals, bounds: Callable[[Known], Mapping[str, Local]]
) -> dict[str, Local]:
    """Return bounds that agree with the jitter that they cause; None for what grows on and on."""
    longest = max((c.period or 0 for c in unit.system.callbacks), default=0)
    # Any bounds that agree with their jitter hold, so it does not matter where the search begins.
    result = unit.found or {c.name: Local(c.wcet, c.wcet) for c in unit.callbacks}
    endless = {name: local for name, local in unit.found.items() if local.response is None}
    known = activations(unit, arrivals, result)
    for step in range(10 * MAX_ROUNDS):
        before = result
        spend(CALLBACK * len(unit.callbacks))
        result = {**bounds(known), **endless}
        for name, local in result.items():
            grows = local.response is not None and local.response > MAX_GROWTH * longest
            if grows or (step % MAX_ROUNDS == MAX_ROUNDS - 1 and local != before[name]):
                endless[name] = Local(None, reason=GROWING if grows else UNSETTLED)
        endless.update((n, local) for n, local in result.items() if local.response is None)
        result.update(endless)
        known = activations(unit, arrivals, result)
        if result == before:
            break
    else:  # What was given up last may still tell on the others.
        result = {name: Local(None, reason=UNSETTLED) for name in result}
    unit.found.update(result)
    return {
        name: local
        if local.response is None
        else replace(
            local, output=_output(known[name], local, unit, name), root_gap=known[name].gap
        )
        for name, local in result.items()
    }


def make_rows(unit: Unit, known: Known, callbacks: Sequence[Callback] | None = None) -> Rows:
    """Return the tasks of a unit."""
    owner: list[int] = []
    columns: list[tuple[int, int, int, int, int]] = []
    for i, callback in enumerate(callbacks or unit.callbacks):
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
            result[callback.name] = Local(None, reason=reason)
            continue
        timer = callback.kind is Kind.TIMER
        result[callback.name] = Local(
            response=response[worst] + unit.wake(callback),
            from_grid=from_grid[worst] if timer else None,
            own=own[worst],
            blocking=blocking[worst],
            overhead=overhead[worst],
        )
    return result
