# Copyright 2026 The rclrt Authors
# SPDX-License-Identifier: Apache-2.0
"""The executors a scenario can run under, by the names of the program that runs it."""

from __future__ import annotations

from dataclasses import dataclass

QUIET = "quiet"
BACKGROUND = "background"
LOADS = (QUIET, BACKGROUND)

# What ends the name of an executor whose whole process has SCHED_FIFO, as people do with chrt.
WHOLE_PROCESS = "_fifo50"
WHOLE_PROCESS_PRIORITY = 50

# In the order of the report: what rclcpp does, then what rclrt does.
EXECUTORS: dict[str, str] = {
    "wait_set_single": "wait set, single-threaded",
    "wait_set_multi": "wait set, multi-threaded",
    "static": "wait set, static",
    "events_fifo": "events, FIFO",
    "priority_events": "priority events, rate-monotonic",
    "isolated": "a thread per group, rate-monotonic",
    "preemptive": "thread pool, rate-monotonic",
    "preemptive_edf": "thread pool, preemptive (EDF)",
    "preemptive_hot": "thread pool, hot path highest",
}

# Executors of today whose process may be given one priority as a whole.
OF_TODAY = ("wait_set_single", "wait_set_multi", "static", "events_fifo")
EXECUTORS.update({f"{name}{WHOLE_PROCESS}": f"{EXECUTORS[name]}; chrt -f 50" for name in OF_TODAY})

# What the demo runs unless told otherwise.
DEMO_EXECUTORS: tuple[str, ...] = (
    "wait_set_single",
    "wait_set_single_fifo50",
    "wait_set_multi",
    "wait_set_multi_fifo50",
    "events_fifo",
    "events_fifo_fifo50",
    "isolated",
    "preemptive_hot",
)


@dataclass(frozen=True)
class Row:
    """What is measured: an executor, and whether other programs are busy meanwhile."""

    executor: str
    load: str = QUIET

    def __str__(self) -> str:
        """As progress names it."""
        return self.executor if self.load == QUIET else f"{self.executor} beside load"


def split_priority(executor: str) -> tuple[str, list[str]]:
    """Return the name that the program knows, and what stands before its command line."""
    if not executor.endswith(WHOLE_PROCESS):
        return executor, []
    return executor.removesuffix(WHOLE_PROCESS), ["chrt", "-f", str(WHOLE_PROCESS_PRIORITY)]
