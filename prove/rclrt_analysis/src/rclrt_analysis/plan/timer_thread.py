# Copyright 2026 The rclrt Authors
# SPDX-License-Identifier: Apache-2.0
"""The thread that releases timers: a plan for several CPUs pins it to one, and counts it there.

An executor has one such thread for all its timers, above all callbacks. The analysis counts
`release_ms` of a timer where its callback runs. On several CPUs the thread could take the time of
all releases from any one of them. So a plan says which, and the releases of timers of other CPUs
are there as callbacks without work, which cost a release.
"""

from __future__ import annotations

from dataclasses import replace

from rclrt_analysis.bounds.load import loads
from rclrt_analysis.model import Callback, Executor, ExecutorKind, Kind, System

NAME = "timer thread"
PRIORITY = 90
"""Above all that a plan gives to callbacks."""

THREADED = (ExecutorKind.ISOLATED, ExecutorKind.PREEMPTIVE)


def timer_cpu(system: System) -> int | None:
    """Return the CPU for the timers' thread: that with the least load; None if it matters not.

    With a single CPU that is the one: a wake-up from another may take long.
    """
    cores: dict[int, float] = {}
    load = loads(system)
    for executor in system.executors:
        if executor.kind in THREADED and executor.reservation is None and len(executor.cores) == 1:
            members = system.members(executor.name)
            if members and executor.name != NAME:
                share = sum(load[c.name] for c in members)
                cores[executor.cores[0]] = cores.get(executor.cores[0], 0.0) + share
    overheads = system.overheads
    if not (overheads.release or overheads.wake) or not cores:
        return None
    return min(cores, key=lambda core: (cores[core], core))


def with_timer_thread(system: System) -> System:
    """Return the system with the releases of other CPUs' timers on the CPU of that thread."""
    cpu = timer_cpu(system)
    if cpu is None:
        return system
    releases = [
        Callback(
            f"release of {c.name}", Kind.TIMER, NAME, 0, period=c.period, jitter=c.jitter,
            priority=PRIORITY + 9, assumptions=c.assumptions,
        )
        for c in system.callbacks
        if c.kind is Kind.TIMER and system.executor_of[c.executor].cores != (cpu,)
    ]  # fmt: skip
    if not releases:
        return system
    thread = Executor(NAME, ExecutorKind.ISOLATED, cores=(cpu,))
    return replace(
        system,
        executors=(*system.executors, thread),
        callbacks=(*system.callbacks, *releases),
    )
