# Copyright 2026 The rclrt Authors
# SPDX-License-Identifier: Apache-2.0
"""The loop with real executors over real DDS: recorded, modelled, planned, watched, sabotaged.

Something beside them is changed that is no job: threads, and other programs.
"""

import json
import os
import re
import signal
import subprocess
import time
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import Any

import pytest
from programs import rclrt
from rclrt_tools import cli
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


def plan_and_watch(model: str, folder: Path) -> None:
    """Run the system under what a plan chooses for it, and watch it."""
    text = model + CHAIN
    path, plan, out = folder / "open.yaml", folder / "plan.yaml", folder / "planned.json"
    path.write_text(text, encoding="utf-8")
    planned = rclrt("plan", str(path), "-o", str(plan))
    assert planned.returncode == 0, planned.stdout + planned.stderr
    robot = start("isolated", "--config", str(plan))
    try:
        watched = rclrt(
            "watch", str(path), "--plan", str(plan), "--program", str(robot.pid),
            "--for", "3", "--json", str(out), "--fail-on", "miss",
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
        for line in rclrt("trace", "list").stdout.splitlines():
            fields = line.split()
            if fields[1] == str(robot.pid) and int(fields[4]) > 30:
                time.sleep(1)
                return
        time.sleep(0.2)
    pytest.fail("the reference system has not come up")


OTHER = """
schema: 1
name: other
nodes:
- {name: Stranger, kind: timer, period_ms: 20, work_ms: 0.5}
"""
MS = 1_000_000


@pytest.fixture(scope="module")
def robot() -> Iterator[subprocess.Popen[bytes]]:
    child = start("preemptive", "--policy", "rm", seconds=300)
    yield child
    child.kill()
    child.wait(timeout=30)


@pytest.fixture(scope="module")
def model(robot: subprocess.Popen[bytes], tmp_path_factory: pytest.TempPathFactory) -> Path:
    """Return a model of what runs, made while it runs."""
    made_in = tmp_path_factory.mktemp("model")
    folder, path = made_in / "traces", made_in / "robot.yaml"
    recorded = rclrt("trace", "record", "-o", str(folder), "--for", "2", str(robot.pid))
    assert recorded.returncode == 0, recorded.stderr
    made = rclrt("trace", "model", *map(str, folder.iterdir()))
    assert made.returncode == 0, made.stderr
    path.write_text(made.stdout, encoding="utf-8")
    return path


def broken_while(
    model: Path, again: Callable[[], None], *options: str, until: str, seconds: int = 7
) -> list[dict[str, Any]]:
    """Return what the watch says of assumptions while something is done, again and again.

    Ends when the watch has said `until`, or after so many seconds.
    """
    out, said = model.parent / "out.json", model.parent / "said.txt"
    with said.open("w", encoding="utf-8") as stdout:
        watch = subprocess.Popen(
            cli.command("watch", str(model), "--json", str(out), "--for", str(seconds), *options),
            stdout=stdout,
        )
    seen = float("inf")
    while watch.poll() is None:
        if until in said.read_text(encoding="utf-8"):
            watch.send_signal(signal.SIGINT)
        if seen == float("inf") and looks_at_traces(watch.pid):
            seen = time.monotonic()
        if time.monotonic() > seen + 1.5:  # It has seen how it was before.
            again()
        time.sleep(0.05)
    content = json.loads(out.read_text(encoding="utf-8"))
    found: list[dict[str, Any]] = content["broken_assumptions"]
    return found


def looks_at_traces(process: int) -> bool:
    """Return whether a process has a live trace open."""
    try:
        files = [entry.readlink() for entry in Path(f"/proc/{process}/fd").iterdir()]
    except OSError:
        return False
    return any(file.suffix == ".trace" for file in files)


def is_fifo(thread: int) -> bool:
    try:
        return os.sched_getscheduler(thread) & 3 == os.SCHED_FIFO
    except OSError:
        return False


def name_of(process: int, thread: int) -> str:
    return Path(f"/proc/{process}/task/{thread}/comm").read_text(encoding="utf-8").strip()


@pytest.mark.parametrize("who", ["dds.", "timer"])
def test_the_watch_names_a_thread_without_jobs_that_was_demoted(
    robot: subprocess.Popen[bytes], model: Path, who: str
) -> None:
    every = {thread: name_of(robot.pid, thread) for thread in threads_of(robot.pid)}
    demoted = [thread for thread, name in every.items() if who in name and is_fifo(thread)]
    if not demoted:
        pytest.skip(f"no thread of {sorted(set(every.values()))} is a real-time '{who}'")

    def again() -> None:
        os.sched_setscheduler(demoted[0], os.SCHED_OTHER, os.sched_param(0))

    text = f"thread {demoted[0]} '{every[demoted[0]]}' is not real-time any more"
    before = os.sched_getparam(demoted[0])
    broken = broken_while(model, again, "--program", str(robot.pid), until=text)
    os.sched_setscheduler(demoted[0], os.SCHED_FIFO, before)
    assert text in [one["text"] for one in broken if one["what"] == "thread"]


def test_the_watch_names_another_program_in_real_time_on_the_cpus_of_the_model(
    robot: subprocess.Popen[bytes], model: Path, tmp_path: Path
) -> None:
    scenario = tmp_path / "other.yaml"
    scenario.write_text(OTHER, encoding="utf-8")
    program = Path(os.environ["RCLRT_BUILD_DIR"]) / "rclrt_reference_system" / PROGRAM
    command = [str(program), "--scenario", str(scenario), "--duration", "60", "--cpus", "0"]
    others: list[subprocess.Popen[bytes]] = []

    @contextmanager
    def beside(executor: str, *options: str) -> Iterator[None]:
        others.append(
            subprocess.Popen(
                [*command, "--executor", executor, *options, "--out", os.devnull],
                stderr=subprocess.DEVNULL,
            )
        )
        yield
        others[-1].kill()
        others[-1].wait(timeout=30)

    def is_a_stranger(seconds: int) -> bool:
        name = f"({others[-1].pid})"
        broken = broken_while(model, lambda: None, until=name, seconds=seconds)
        return any(name in one["callback"] for one in broken if one["what"] == "stranger")

    with beside("preemptive", "--policy", "fifo"):
        assert not is_a_stranger(3)
    with beside("preemptive", "--policy", "rm"):
        assert is_a_stranger(7)


def test_what_runs_is_watched_and_planned_and_a_thief_is_named(
    robot: subprocess.Popen[bytes], model: Path, tmp_path: Path
) -> None:
    # Measured times are no worst cases, and this machine does other things as well.
    text = re.sub(
        r"wcet_ms: ([0-9.]+)",
        lambda m: f"wcet_ms: {float(m[1]) * 3:.6f}",
        model.read_text(encoding="utf-8"),
    )
    path, out = tmp_path / "robot.yaml", tmp_path / "out.json"
    path.write_text(text + CHAIN, encoding="utf-8")
    only = ("--program", str(robot.pid))
    watched = rclrt(
        "watch", str(path), *only, "--json", str(out), "--for", "2", "--fail-on", "miss"
    )
    result = json.loads(out.read_text(encoding="utf-8"))
    (chain,) = result["chains"]
    assert chain["count"] >= 10, watched.stdout + watched.stderr
    assert chain["worst_ms"] > 0
    assert [b for b in result["broken_assumptions"] if b["what"] == "thread"] == []

    def again() -> None:
        # The executor gives a thread its priority again with the next job of another priority.
        for thread in threads_of(robot.pid):
            if is_fifo(thread):
                os.sched_setscheduler(thread, os.SCHED_OTHER, os.sched_param(0))

    broken = broken_while(path, again, *only, until="which no job asked for")
    asked = [one for one in broken if "which no job asked for" in one["text"]]
    assert [one["chains"] for one in asked if one["what"] == "thread"] == [["front"]]
    made = rclrt("trace", "model", "--open", *map(str, (model.parent / "traces").iterdir()))
    assert made.returncode == 0, made.stderr
    robot.kill()  # The plan counts on no other program.
    robot.wait(timeout=30)
    plan_and_watch(made.stdout, tmp_path)
