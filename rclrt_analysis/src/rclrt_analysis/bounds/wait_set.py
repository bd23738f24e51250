# Copyright 2026 The rclrt Authors
# SPDX-License-Identifier: Apache-2.0
"""Response times under the single-threaded wait-set executor, rclcpp's default.

At a polling point the executor looks which entities are ready, then runs each of these once:
timers, subscriptions, services, clients, each kind in the order of registration. What becomes ready
meanwhile waits for the next polling point [Teper24 §VI].
"""

from __future__ import annotations

import numpy as np

from rclrt_analysis.bounds.result import Assumption, Local, Method, RefusedError
from rclrt_analysis.bounds.rows import Known, with_jitter
from rclrt_analysis.bounds.taskset import Ints
from rclrt_analysis.bounds.unit import Arrivals, Unit
from rclrt_analysis.model import Callback, Kind

METHOD = Method(
    "wait-set windows",
    "Teper24 §VI, derived again for single jobs",
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


def analyse_wait_set(unit: Unit, arrivals: Arrivals) -> tuple[dict[str, Local], Method]:
    """Return the bounds of a `wait_set_single` executor.

    A callback has a bound if no release of it can find an earlier one waiting: then the queue never
    grows, and timers skip nothing.

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

    def bounds(known: Known) -> dict[str, Local]:
        return {
            callback.name: _local(callback, known, wcet, i, int(response[i]), int(start[i]))
            for i, callback in enumerate(ordered)
        }

    return with_jitter(unit, arrivals, bounds), METHOD


def _local(callback: Callback, known: Known, wcet: Ints, i: int, bound: int, start: int) -> Local:
    streams = known[callback.name].streams
    apart = max(0, streams[0].period - streams[0].jitter) if len(streams) == 1 else 0
    timer = callback.kind is Kind.TIMER
    needed = start if timer else bound
    if needed > apart:
        effect = "timestamps may be skipped" if timer else "messages may pile up"
        reason = f"{effect}: one may take {needed} ns, the next may come after {apart} ns"
        return Local(None, reason=reason)
    own = int(wcet[i])
    grid = bound + callback.jitter if timer else None
    return Local(bound, grid, own, blocking=int(wcet.sum()) - own)
