# Copyright 2026 The rclrt Authors
# SPDX-License-Identifier: Apache-2.0
"""The executors a scenario can run under, by the names of the program that runs it."""

from __future__ import annotations

# In the order of the report: what rclcpp does, then what rclrt does.
EXECUTORS: dict[str, str] = {
    "waitset_single": "wait set, single-threaded",
    "waitset_multi": "wait set, multi-threaded",
    "static": "wait set, static",
    "events_fifo": "events, FIFO",
    "priority_events": "priority events, rate-monotonic",
    "isolated": "a thread per group, rate-monotonic",
    "preemptive": "thread pool, rate-monotonic",
    "preemptive_edf": "thread pool, preemptive (EDF)",
    "preemptive_hot": "thread pool, hot path highest",
}

# What the demo runs unless told otherwise.
DEMO_EXECUTORS: tuple[str, ...] = (
    "waitset_single",
    "waitset_multi",
    "events_fifo",
    "priority_events",
    "isolated",
    "preemptive",
    "preemptive_edf",
    "preemptive_hot",
)
