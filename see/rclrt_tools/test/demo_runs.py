# Copyright 2026 The rclrt Authors
# SPDX-License-Identifier: Apache-2.0
"""The verb `demo` as a user types it, and reports of its program, made up, for tests."""

import json
import os
import subprocess
import sys
from collections.abc import Sequence
from pathlib import Path
from typing import Any

import pytest
from rclrt_tools.reference.program import find_program

SOURCE = Path(os.environ.get("RCLRT_SOURCE_DIR", "."))
SCENARIOS = SOURCE / "try/rclrt_scenarios"

SMALL = """
schema: 1
name: small
work_ms: 1
nodes:
- {name: Left, kind: sensor, period_ms: 50, output: left}
- {name: Right, kind: sensor, period_ms: 50, output: right}
- {name: Fusion, kind: fusion, inputs: [left, right], output: fused}
- {name: Sink, kind: command, input: fused, work_ms: 1}
hot_path: {roots: [Left, Right], through: [Fusion], sink: Sink}
"""

needs_program = pytest.mark.skipif(
    not find_program().exists(), reason=f"{find_program()} is not built"
)


# Before a command line: its threads may not have real-time priorities.
WITHOUT_PERMISSION = [
    *(
        ["setpriv", "--bounding-set=-sys_nice", "--inh-caps=-sys_nice", "--ambient-caps=-all"]
        if os.geteuid() == 0
        else []
    ),
    *["prlimit", "--rtprio=0:0"],
]
# A sanitizer's locks are waited for by sched_yield(). If threads of high priorities do that on all
# CPUs, a thread of a low one that holds the lock runs no more, and little else on the machine does.
AS_BUILT = WITHOUT_PERMISSION if os.environ.get("RCLRT_SANITIZE") else []


def command(*arguments: str) -> list[str]:
    if "--load" not in arguments:
        arguments = (*arguments, "--load", "quiet")
    return [*AS_BUILT, sys.executable, "-m", "rclrt_tools.cli", "demo", *arguments]


def demo(*arguments: str, before: Sequence[str] = ()) -> subprocess.CompletedProcess[str]:
    return subprocess.run(
        [*before, *command(*arguments)], capture_output=True, text=True, check=False, timeout=100
    )


def small_scenario(tmp_path: Path) -> str:
    path = tmp_path / "small.yaml"
    path.write_text(SMALL, encoding="utf-8")
    return str(path)


def result_of(*arguments: str, tmp_path: Path) -> dict[str, Any]:
    path = tmp_path / "result.json"
    done = demo(*arguments, "--json", str(path))
    assert done.returncode == 0, done.stderr + done.stdout
    result: dict[str, Any] = json.loads(path.read_text(encoding="utf-8"))
    return result


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
