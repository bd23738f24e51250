# Copyright 2026 The rclrt Authors
# SPDX-License-Identifier: Apache-2.0
"""The loop with real executors over real DDS: recorded, modelled, planned, watched, sabotaged."""

from __future__ import annotations

import json
import os
import re
import subprocess
import sys
import time
from pathlib import Path

import pytest
from rclrt_tools.reference.environment import may_use_realtime

PROGRAM = "rclrt_reference_system"
SCENARIO = "autoware_reference_system"
CHAIN = """
chains:
  - name: front
    callbacks: ["/FrontLidarDriver/timer/100ms",
                "/PointsTransformerFront/subscription/FrontLidarDriver",
                "/PointCloudFusion/subscription/PointsTransformerFront"]
    semantics: latency
    deadline_ms: 10000
"""


def rclrt(*arguments: str) -> list[str]:
    return [sys.executable, "-m", "rclrt_tools.cli", *arguments]


def run(*arguments: str) -> subprocess.CompletedProcess[str]:
    return subprocess.run(
        rclrt(*arguments), capture_output=True, text=True, timeout=120, check=False
    )


def threads_of(process: int) -> list[int]:
    return [int(entry.name) for entry in Path(f"/proc/{process}/task").iterdir()]


def start(executor: str, *options: str, seconds: int = 60) -> subprocess.Popen[bytes]:
    """Start the reference system, and return when it has run for a while."""
    program = Path(os.environ["RCLRT_BUILD_DIR"]) / "rclrt_reference_system" / PROGRAM
    if not program.exists():
        pytest.skip(f"{PROGRAM} is not in this build")
    if not may_use_realtime():
        pytest.skip("SCHED_FIFO is not permitted")
    scenario = Path(os.environ["RCLRT_SOURCE_DIR"]) / "try/rclrt_scenarios" / f"{SCENARIO}.yaml"
    command = [str(program), "--scenario", str(scenario), "--duration", str(seconds)]
    robot = subprocess.Popen(
        [*command, "--executor", executor, *options],
        stdout=subprocess.DEVNULL, stderr=subprocess.DEVNULL,
    )  # fmt: skip
    wait_for_it(robot)
    return robot


def test_what_runs_is_recorded_modelled_watched_planned_and_a_thief_is_named(
    tmp_path: Path,
) -> None:
    robot = start("preemptive", "--policy", "rm")
    process = robot.pid
    try:
        folder = tmp_path / "traces"
        recorded = run("trace", "record", "-o", str(folder), "--for", "3", str(process))
        assert recorded.returncode == 0, recorded.stderr
        made = run("trace", "model", *map(str, folder.iterdir()))
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
        # The executor gives a thread its priority again with the next job of another priority.
        while thief.poll() is None:
            time.sleep(0.02)
            for thread in threads_of(process):
                if os.sched_getscheduler(thread) & 3 == os.SCHED_FIFO:
                    os.sched_setscheduler(thread, os.SCHED_OTHER, os.sched_param(0))
        said, _ = thief.communicate(timeout=60)
        assert "which no job asked for" in said
        broken = json.loads(out.read_text(encoding="utf-8"))["broken_assumptions"]
        assert [b["chains"] for b in broken if b["what"] == "thread"] == [["front"]]
    finally:
        robot.kill()
        robot.wait(timeout=30)
    made = run("trace", "model", "--open", *map(str, folder.iterdir()))
    assert made.returncode == 0, made.stderr
    plan_and_watch(made.stdout, tmp_path)


def plan_and_watch(model: str, folder: Path) -> None:
    """The same system under what a plan chooses for it."""
    text = model + CHAIN
    path, plan, out = folder / "open.yaml", folder / "plan.yaml", folder / "planned.json"
    path.write_text(text, encoding="utf-8")
    planned = run("plan", str(path), "-o", str(plan))
    assert planned.returncode == 0, planned.stdout + planned.stderr
    robot = start("isolated", "--config", str(plan))
    try:
        watched = run(
            "watch", str(path), "--plan", str(plan), "--program", str(robot.pid),
            "--for", "4", "--json", str(out), "--fail-on", "miss",
        )  # fmt: skip
    finally:
        robot.kill()
        robot.wait(timeout=30)
    assert watched.returncode == 0, watched.stdout + watched.stderr
    result = json.loads(out.read_text(encoding="utf-8"))
    (chain,) = result["chains"]
    assert chain["count"] >= 10, watched.stdout
    wrong = {broken["what"] for broken in result["broken_assumptions"]}
    assert not wrong & {"policy", "priority", "thread"}, watched.stdout
    # On a machine that does other things as well, jobs take longer than they did when observed.
    if not wrong:
        assert chain["worst_ms"] <= chain["bound_ms"], watched.stdout


def wait_for_it(robot: subprocess.Popen[bytes]) -> None:
    """Return when all of its callbacks are there and have run for a while."""
    end = time.monotonic() + 60
    while time.monotonic() < end and robot.poll() is None:
        for line in run("trace", "list").stdout.splitlines():
            fields = line.split()
            if fields[1] == str(robot.pid) and int(fields[4]) > 30:
                time.sleep(1)
                return
        time.sleep(0.2)
    pytest.fail("the reference system has not come up")
