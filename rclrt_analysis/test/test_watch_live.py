# Copyright 2026 The rclrt Authors
# SPDX-License-Identifier: Apache-2.0
"""The loop with real executors over real DDS: recorded, modelled, watched, sabotaged."""

from __future__ import annotations

import json
import os
import re
import subprocess
import sys
import time
from pathlib import Path

import pytest

PROGRAM = "rclrt_reference_system"
SCENARIO = "autoware_reference_system"
CHAIN = """chains:
  - name: front
    callbacks: ["/FrontLidarDriver/timer/100ms",
                "/PointsTransformerFront/subscription/FrontLidarDriver",
                "/PointCloudFusion/subscription/PointsTransformerFront"]
    semantics: latency
    deadline_ms: 10000
"""


def may_use_realtime() -> bool:
    pid = os.fork()
    if pid == 0:
        try:
            os.sched_setscheduler(0, os.SCHED_FIFO, os.sched_param(1))
        except OSError:
            os._exit(1)
        os._exit(0)
    return os.waitpid(pid, 0)[1] == 0


def rclrt(*arguments: str) -> list[str]:
    return [sys.executable, "-m", "rclrt_analysis.cli", *arguments]


def run(*arguments: str) -> subprocess.CompletedProcess[str]:
    return subprocess.run(
        rclrt(*arguments), capture_output=True, text=True, timeout=120, check=False
    )


def threads_of(process: int) -> list[int]:
    return [int(entry.name) for entry in Path(f"/proc/{process}/task").iterdir()]


def test_what_runs_is_recorded_modelled_watched_and_a_thief_is_named(tmp_path: Path) -> None:
    program = Path(os.environ["RCLRT_BUILD_DIR"]) / "rclrt_reference_system" / PROGRAM
    if not program.exists():
        pytest.skip(f"{PROGRAM} is not in this build")
    if not may_use_realtime():
        pytest.skip("SCHED_FIFO is not permitted")
    scenario = Path(os.environ["RCLRT_SOURCE_DIR"]) / "rclrt_scenarios" / f"{SCENARIO}.yaml"
    command = [str(program), "--scenario", str(scenario), "--executor", "preemptive"]
    command += ["--policy", "rm", "--duration", "60"]
    robot = subprocess.Popen(command, stdout=subprocess.DEVNULL, stderr=subprocess.DEVNULL)
    try:
        wait_for_it(robot)
        process = robot.pid
        folder = tmp_path / "traces"
        recorded = run("trace", "record", "-o", str(folder), "--for", "3", str(process))
        assert recorded.returncode == 0, recorded.stderr
        made = run("model", *map(str, folder.iterdir()))
        assert made.returncode == 0, made.stderr
        # Measured times are no worst cases, and this machine does other things as well.
        text = re.sub(
            r"wcet_ms: ([0-9.]+)", lambda m: f"wcet_ms: {float(m[1]) * 3:.6f}", made.stdout
        )
        model = tmp_path / "robot.yaml"
        model.write_text(text + CHAIN, encoding="utf-8")
        out = tmp_path / "out.json"
        watch = ("watch", str(model), "--program", str(process), "--json", str(out), "--for")
        watched = run(*watch, "3", "--fail-on", "miss")
        result = json.loads(out.read_text(encoding="utf-8"))
        (chain,) = result["chains"]
        assert chain["count"] >= 10, watched.stdout + watched.stderr
        assert chain["worst_ms"] > 0
        assert [b for b in result["broken_assumptions"] if b["what"] == "thread"] == []

        thief = subprocess.Popen(rclrt(*watch, "6"), stdout=subprocess.PIPE, text=True)
        time.sleep(2)
        for thread in threads_of(process):
            if os.sched_getscheduler(thread) & 3 == os.SCHED_FIFO:
                os.sched_setscheduler(thread, os.SCHED_OTHER, os.sched_param(0))
        said, _ = thief.communicate(timeout=60)
        assert "which no job of it asked for" in said
        broken = json.loads(out.read_text(encoding="utf-8"))["broken_assumptions"]
        assert [b["chains"] for b in broken if b["what"] == "thread"] == [["front"]]
    finally:
        robot.kill()
        robot.wait(timeout=30)


def wait_for_it(robot: subprocess.Popen[bytes]) -> None:
    """Return when all of its callbacks are there and have run for a while."""
    end = time.monotonic() + 60
    while time.monotonic() < end and robot.poll() is None:
        for line in run("trace", "list").stdout.splitlines():
            fields = line.split()
            if fields[1] == str(robot.pid) and int(fields[4]) > 150:
                time.sleep(1)
                return
        time.sleep(0.2)
    pytest.fail("the reference system has not come up")
