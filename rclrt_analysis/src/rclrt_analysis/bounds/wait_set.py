# Copyright 2026 The rclrt Authors
# SPDX-License-Identifier: Apache-2.0
"""Response times under the single-threaded wait-set executor, rclcpp's default.

At a polling point the executor looks which entities are ready, then runs each of these once:
timers, subscriptions, services, clients, each kind in the order of registration. What becomes ready
meanwhile waits for the next polling point [Teper24 §VI].
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import replace

import numpy as np

from rclrt_analysis.bounds.activation import Stream
from rclrt_analysis.bounds.fixed_point import FULL
from rclrt_analysis.bounds.result import Assumption, Local, Method, RefusedError
from rclrt_analysis.bounds.rows import Known, with_jitter
from rclrt_analysis.bounds.taskset import Ints
from rclrt_analysis.bounds.unit import Arrivals, Unit
from rclrt_analysis.model import Callback, Kind

METHOD = Method(
    "wait-set windows",
    "Teper24 §VI, derived again",
    (
        Assumption.WCET,
        Assumption.ALONE,
        Assumption.NO_SELF_SUSPENSION,
        Assumption.SPORADIC,
        Assumption.INSTANT_TRIGGER,
        Assumption.WINDOWS,
    ),
)
CHECKS_TIMERS_AT_EVERY_PICK = ("crystal", "dashing")
MAX_MESSAGES = 200_000
ORDER = {
    kind: i for i, kind in enumerate((Kind.TIMER, Kind.SUBSCRIPTION, Kind.SERVICE, Kind.CLIENT))
}


def windows(wcet: Ints) -> tuple[Ints, Ints]:
    """Return for each entity, in window order: its response bound and what its period must reach.

    With S the sum of all execution times and HP_i that of the entities before i, a job that is
    alone in its entity ends within S + max(C_i, HP_i): either the window under way does not hold i,
    so at most S - C_i of it is left; or it is i's own, of which C_i and what follows is left.
    Then HP_i + C_i of the next.

    A timer never skips a timestamp if S - C_i + max(C_i, HP_i) <= T_i: it starts before the next.

    Parameters
    ----------
    wcet
        Shape (n,), ns, in window order.

    Returns
    -------
    response, start
        Shape (n,), ns: S + max(C_i, HP_i), and the same less C_i.
    """
    total = int(wcet.sum())
    before = np.cumsum(wcet) - wcet
    response: Ints = total + np.maximum(wcet, before)
    return response, response - wcet


def backlog(streams: Sequence[Stream], window: int) -> int | None:
    """Return how much longer a message waits because others wait before it, ns; None for no end.

    Each window serves one message of an entity, so message q ends within `window` of the one before
    it if that was still waiting: max_i i S - delta(i), delta(i) being the least time in which i + 1
    messages come. Finite if they come more rarely than windows of full length in the long run.
    """
    rate = sum(window / stream.period for stream in streams)
    if rate >= FULL:
        return None
    burst = sum(window * (stream.jitter / stream.period + 1) for stream in streams)
    end = int(burst / (1 - rate)) + 1
    if sum(end // stream.period for stream in streams) > MAX_MESSAGES:
        return None
    instants = {0}
    for stream in streams:
        # At these another message comes if all come as early as they can.
        first = -(stream.jitter % stream.period) % stream.period
        instants.update(range(first, end + 1, stream.period))
    longest = 0
    for at in instants:
        count = sum((at + stream.jitter) // stream.period + 1 for stream in streams)
        longest = max(longest, (count - 1) * window - at)
    return longest


def analyse_wait_set(unit: Unit, arrivals: Arrivals) -> tuple[dict[str, Local], Method]:
    """Return the bounds of a `wait_set_single` executor.

    Raises
    ------
    RefusedError
        The distribution has other semantics.
    """
    if unit.system.distro in CHECKS_TIMERS_AT_EVERY_PICK:
        raise RefusedError(
            f"{unit.system.distro} looks at timers before every callback, not at polling points. "
            "Bounds are for eloquent and later"
        )
    ordered = sorted(unit.callbacks, key=lambda callback: ORDER[callback.kind])
    wcet = np.array([callback.wcet + unit.extra for callback in ordered], dtype=np.int64)
    response, start = windows(wcet)
    alone = _from_within(unit, ordered, wcet, response)
    total = int(wcet.sum())

    def bounds(known: Known) -> dict[str, Local]:
        found = {}
        for i, callback in enumerate(ordered):
            streams = known[callback.name].streams
            if callback.kind is Kind.TIMER:
                local = _timer(callback, int(response[i]), int(start[i]))
            else:
                local = _subscription(streams, int(alone[i]), total)
            own = int(wcet[i])
            found[callback.name] = replace(local, own=own, blocking=total - own)
        return found

    return with_jitter(unit, arrivals, bounds), METHOD


def _from_within(unit: Unit, ordered: list[Callback], wcet: Ints, response: Ints) -> Ints:
    """Return the responses of messages that find none waiting, with those from within tightened.

    What callback p of the same executor sends finds at most those after p left in the window; then
    come those before i, and i [Teper24 Lemma VI.5].
    """
    before = np.cumsum(wcet) - wcet
    after = {c.name: int(wcet[i:].sum() - wcet[i]) for i, c in enumerate(ordered)}
    alone: Ints = response.copy()
    for i, callback in enumerate(ordered):
        senders = unit.system.triggered_by(callback)
        within = senders and all(name in unit.names for name in senders)
        if within and callback.period is None and not unit.system.overheads.transport:
            left = max(after[name] for name in senders)
            alone[i] = min(alone[i], left + before[i] + wcet[i])
    return alone


def _timer(timer: Callback, bound: int, start: int) -> Local:
    apart = max(0, (timer.period or 0) - timer.jitter)
    if start > apart:
        text = f"timestamps may be skipped: {start} ns may pass to the next start, its period is"
        return Local(None, reason=f"{text} {apart} ns")
    return Local(bound, bound + timer.jitter)


def _subscription(streams: Sequence[Stream], alone: int, window: int) -> Local:
    waiting = backlog(streams, window)
    if waiting is None:
        return Local(None, reason="messages come as often as windows of full length, or more")
    return Local(alone + waiting)
