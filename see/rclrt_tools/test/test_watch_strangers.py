# Copyright 2026 The rclrt Authors
# SPDX-License-Identifier: Apache-2.0
"""Real executors beside which something is changed that is no job: threads, and other programs."""

from __future__ import annotations

import json
import os
import subprocess
import time
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import Any

import pytest
from test_watch_live import PROGRAM, rclrt, run, start, threads_of

OTHER = """
schema: 1
name: other
nodes:
- {name: Stranger, kind: timer, period_ms: 20, work_ms: 0.5}
"""
MS = 1_000_000


@pytest.fixture(scope="module")
def robot() -> Iterator[subprocess.Popen[bytes]]:
    child = start("preemptive", "--policy", "rm", "--cpus", "0", seconds=300)
    yield child
    child.kill()
    child.wait(timeout=30)


@pytest.fixture(scope="module")
def model(robot: subprocess.Popen[bytes], tmp_path_factory: pytest.TempPathFactory) -> Path:
    """Return a model of what runs, made while it runs."""
    made_in = tmp_path_factory.mktemp("model")
    folder, path = made_in / "traces", made_in / "robot.yaml"
    recorded = run("trace", "record", "-o", str(folder), "--for", "2", str(robot.pid))
    assert recorded.returncode == 0, recorded.stderr
    made = run("trace", "model", *map(str, folder.iterdir()))
    assert made.returncode == 0, made.stderr
    path.write_text(made.stdout, encoding="utf-8")
    return path


def broken_while(model: Path, again: Callable[[], None], *options: str) -> list[dict[str, Any]]:
    """Return what the watch says of assumptions while something is done, again and again."""
    out = model.parent / "out.json"
    watch = subprocess.Popen(
        rclrt("watch", str(model), "--json", str(out), "--for", "7", *options),
        stdout=subprocess.DEVNULL,
    )
    seen = float("inf")
    while watch.poll() is None:
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

    broken = broken_while(model, again, "--program", str(robot.pid))
    texts = [one["text"] for one in broken if one["what"] == "thread"]
    assert f"thread {demoted[0]} '{every[demoted[0]]}' is not real-time any more" in texts


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

    def strangers() -> list[str]:
        broken = broken_while(model, lambda: None)
        return [one["callback"] for one in broken if one["what"] == "stranger"]

    with beside("preemptive", "--policy", "fifo"):
        assert not [name for name in strangers() if str(others[-1].pid) in name]
    with beside("preemptive", "--policy", "rm"):
        assert [name for name in strangers() if str(others[-1].pid) in name]
