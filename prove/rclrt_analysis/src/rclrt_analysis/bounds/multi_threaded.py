# Copyright 2026 The rclrt Authors
# SPDX-License-Identifier: Apache-2.0
"""Response times under the multi-threaded wait-set executor, with a core for each of its threads.

An idle thread takes what was found ready and whose group is free; if there is nothing of that, it
looks anew. So a callback that is ready, with its group free, waits only while all m threads run
others. Within a group nothing is sure about the order: while the group is busy its members drop out
of what was found, so an earlier one may pass again and again.
"""

from __future__ import annotations

import numpy as np

from rclrt_analysis.bounds.busy_window import Demand, Responses, responses
from rclrt_analysis.bounds.lost import ENDLESS, UNBOUNDED, no_bound
from rclrt_analysis.bounds.result import Assumption, Local, Method, RefusedError
from rclrt_analysis.bounds.rows import Known, Rows, make_rows, with_jitter
from rclrt_analysis.bounds.taskset import Ints, higher_or_equal, make_taskset
from rclrt_analysis.bounds.unit import Arrivals, Unit
from rclrt_analysis.bounds.wait_set import (
    ASSUMPTIONS,
    CHECKS_TIMERS_AT_EVERY_PICK,
    may_precede,
    timer_or_message,
)

METHOD = Method("wait-set, several threads", "derived here", (*ASSUMPTIONS, Assumption.THREAD_EACH))


def analyse_multi_threaded(unit: Unit, arrivals: Arrivals) -> tuple[dict[str, Local], Method]:
    """Return the bounds of a `wait_set_multi` executor.

    A group is one server for its members in any order. Before each of their jobs it is held up by

        H = 0 with a thread for every group; else ceil(2 sum_{j not in G} C_j / m)

    because the m threads run first what else was found ready, each callback once, then what comes
    earlier in the next look. For a group of one callback i: ceil((sum_{j != i} C_j + HP_i) / m).

    Raises
    ------
    RefusedError
        There are fewer cores than threads; or fewer threads than groups, and timers are looked at
        before every pick, so that they may pass what was found ready again and again.
    """
    executor = unit.executors[0]
    groups: dict[str, list[int]] = {}
    for i, callback in enumerate(unit.callbacks):
        groups.setdefault(callback.group or f"\0{callback.name}", []).append(i)
    threads = executor.threads or len(groups)
    if len(executor.cores) < min(threads, len(groups)):
        raise RefusedError(
            f"'{executor.name}' has {min(threads, len(groups))} threads and {len(executor.cores)} "
            "cores: name as many cores, or give it fewer threads"
        )
    if threads < len(groups) and unit.system.distro in CHECKS_TIMERS_AT_EVERY_PICK:
        raise RefusedError(
            f"'{executor.name}' of {unit.system.distro} has {threads} threads for {len(groups)} "
            "groups, and its timers go before all that was found ready. Give it a thread for every "
            "group"
        )
    wcet = np.array([c.wcet + unit.extra for c in unit.callbacks], dtype=np.int64)
    before = may_precede(unit.callbacks, unit.system.distro) @ wcet
    held = np.zeros(len(wcet), dtype=np.int64)
    for members in groups.values() if threads < len(groups) else ():
        others = int(wcet.sum() - wcet[members].sum())
        again = int(before[members[0]]) if len(members) == 1 else others
        held[members] = -(-(others + again) // threads)

    def bounds(known: Known) -> dict[str, Local]:
        rows = make_rows(unit, known)
        found: dict[str, Local] = {}
        for members in groups.values():
            mine = np.flatnonzero(np.isin(rows.owner, members))
            result = _group(rows, mine, held)
            for i in members:
                callback = unit.callbacks[i]
                of = rows.owner[mine] == i
                worst = int(result.response[of].max())
                endless = any(stream.period == 1 for stream in known[callback.name].streams)
                if worst >= UNBOUNDED or endless:
                    reason = no_bound(ENDLESS if endless else worst)
                    found[callback.name] = Local(None, reason=reason)
                    continue
                found[callback.name] = timer_or_message(callback, worst, int(wcet[i]), int(held[i]))
        return found

    return with_jitter(unit, arrivals, bounds), METHOD


def _group(rows: Rows, mine: Ints, held: Ints) -> Responses:
    """Return the responses of some rows that exclude each other, in any order."""
    tasks = rows.tasks
    delay = held[rows.owner[mine]]
    longer = make_taskset(
        tasks.wcet[mine] + delay,
        tasks.period[mine],
        priority=np.zeros(len(mine), dtype=np.int64),
        jitter=tasks.jitter[mine],
    )
    demand = Demand(
        longer.period,
        longer.jitter,
        own=longer.wcet,
        last=longer.wcet,
        measured=tasks.wcet[mine],
        blocking=np.zeros(len(mine), dtype=np.int64),
        higher=higher_or_equal(longer),
        exclusive=np.zeros(len(mine), dtype=np.bool_),
    )
    return responses(demand, preemptive=False)
