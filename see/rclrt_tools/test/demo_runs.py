# Copyright 2026 The rclrt Authors
# SPDX-License-Identifier: Apache-2.0
"""The verb `demo` as a user types it, for tests."""

from __future__ import annotations

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
