# Copyright 2026 The rclrt Authors
# SPDX-License-Identifier: Apache-2.0
"""Reports as the program writes them, small and made up, for tests of what is made of them."""

from __future__ import annotations

from typing import Any

MS = 1_000_000


def callback(name: str, jobs: list[list[int]] | None = None, **more: Any) -> dict[str, Any]:
    node, _, topic = name.partition("<")
    return {
        "name": name,
        "node": node,
        "kind": "subscription" if topic else "timer",
        "input": topic,
        "output": node,
        "on_hot_path": True,
        "priority": 0,
        "period_ms": 0.0 if topic else 100.0,
        "deadline_ms": 0.0,
        "asked": None,
        "in_force": {"policy": "other", "nice": 0},
        "lost": 0,
        "deadline_misses": 0,
        "jobs": jobs or [],
        "jobs_without_room": 0,
        **more,
    }


def report(
    latencies_ms: list[float],
    callbacks: list[dict[str, Any]] | None = None,
    executor: str = "preemptive",
    **more: Any,
) -> dict[str, Any]:
    """One slice of one second whose hot path took `latencies_ms` to the start of the sink."""
    samples = [
        [i * 100 * MS, i * 100 * MS + round(ms * MS), i * 100 * MS + round((ms + 2) * MS), [i, i]]
        for i, ms in enumerate(latencies_ms)
    ]
    return {
        "schema": 1,
        "scenario": "test",
        "executor": executor,
        "policy": "rm",
        "rmw": "rmw_fastrtps_cpp",
        "reception_stamp": "arrival",
        "iterations_per_ms": 1000.0,
        "interrupted": False,
        "measured_from_ns": 0,
        "measured_to_ns": 1_000_000_000,
        "cpu_s": 0.4,
        "voluntary_switches": 10,
        "involuntary_switches": 5,
        "rss_mib": 60.0,
        "attributes_asked": True,
        "attributes_in_force": True,
        "deadline_scheduler": "",
        "threads": [],
        "findings": [],
        "hot_path": {
            "roots": ["Front", "Rear"],
            "through": ["Fusion"],
            "sink": "Sink",
            "critical_path_work_ms": 4.0,
            "work_ms": 6.0,
            "deadline_ms": 100.0,
            "samples": samples,
            "samples_without_room": 0,
        },
        "callbacks": callbacks or [],
        **more,
    }
