# Copyright 2026 The rclrt Authors
# SPDX-License-Identifier: Apache-2.0
"""Runs an example until its trace has what a test wants to see, and reads the trace."""

from __future__ import annotations

import os
import signal
import subprocess
import tempfile
import time
from collections.abc import Mapping, Sequence
from contextlib import suppress
from dataclasses import dataclass, field
from pathlib import Path

import pytest
from rclrt_tools.trace import TraceError, read_trace
from rclrt_tools.trace.layout import DONE, POLICIES

BUILD = Path(os.environ["RCLRT_BUILD_DIR"])
SOURCE = Path(os.environ["RCLRT_SOURCE_DIR"])
HERE = SOURCE / "try/rclrt_examples"
RUN_S = 2.0
PATIENCE_S = 60.0


@dataclass(frozen=True)
class Job:
    """A job that has run, with the times of its record."""

    release: int
    start: int
    end: int
    policy: str
    priority: int

    def in_the_middle_of(self, other: Job) -> bool:
        """Whether it was released in the first half of another one."""
        return other.start < self.release < (other.start + other.end) // 2


@dataclass
class Run:
    """What a run has left behind: jobs by callback, in the order of their start, and its output."""

    jobs: dict[str, list[Job]] = field(default_factory=dict)
    printed: str = ""


def program(name: str) -> Path:
    """Return an example's program, or skip the test and say why."""
    path = BUILD / "examples" / name / name
    if not path.exists():
        pytest.skip(f"{path} is not built: there is no rclcpp, or a sanitizer is in use")
    return path


def clean_environment() -> dict[str, str]:
    """Return one in which a program finds its libraries by itself, and nobody else hears it."""
    environment = dict(os.environ, ROS_AUTOMATIC_DISCOVERY_RANGE="LOCALHOST")
    for name in ("LD_LIBRARY_PATH", "PYTHONPATH", "AMENT_PREFIX_PATH", "RCLRT_CONFIGURATION"):
        environment.pop(name, None)
    return environment


def jobs_in(folder: Path) -> dict[str, list[Job]]:
    """Read all trace files of a folder, as far as they are written."""
    jobs: dict[str, list[Job]] = {}
    for path in folder.glob("*.trace"):
        with suppress(TraceError):  # It has no header yet.
            trace = read_trace(path)
            for record in trace.records[trace.records["outcome"] == DONE]:
                times = (int(record[name]) for name in ("release_ns", "start_ns", "end_ns"))
                job = Job(*times, POLICIES[record["policy"]], int(record["priority"]))
                jobs.setdefault(trace.callbacks[int(record["callback"])].name, []).append(job)
    for of_one in jobs.values():
        of_one.sort(key=lambda job: job.start)
    return jobs


def run(
    command: Sequence[str | Path],
    wants: Mapping[str, int],
    traces: Path,
    environment: Mapping[str, str] | None = None,
) -> Run:
    """Run a command for two seconds, or longer until each callback has had so many jobs."""
    keep = os.environ.get("RCLRT_EXAMPLES_TRACES")  # For picture.py.
    if keep and not (kept := Path(keep) / Path(command[0]).name).exists():
        traces = kept
    with (
        tempfile.TemporaryFile("w+") as output,
        subprocess.Popen(
            [str(word) for word in command],
            stdout=output,
            stderr=subprocess.STDOUT,
            env={**(environment or clean_environment()), "RCLRT_TRACE": str(traces)},
            start_new_session=True,  # So that all of it gets the Ctrl-C.
        ) as child,
    ):
        done = Run()
        began = time.monotonic()
        while child.poll() is None and time.monotonic() < began + PATIENCE_S:
            time.sleep(0.5)
            done.jobs = jobs_in(traces)
            enough = all(len(done.jobs.get(name, ())) >= count for name, count in wants.items())
            if enough and time.monotonic() >= began + RUN_S:
                break
        with suppress(ProcessLookupError):  # It has ended.
            os.killpg(child.pid, signal.SIGINT)
        try:
            status = child.wait(PATIENCE_S)
        except subprocess.TimeoutExpired:
            os.killpg(child.pid, signal.SIGKILL)
            raise
        output.seek(0)
        done.printed = output.read()
        done.jobs = jobs_in(traces)
    assert status == 0, done.printed
    few = {name: len(done.jobs.get(name, ())) for name in wants}
    assert all(few[name] >= count for name, count in wants.items()), (few, done.printed)
    return done


def needs_real_time() -> None:
    """Skip the test where priorities are refused, and say so."""
    before = os.sched_getparam(0)
    try:
        os.sched_setscheduler(0, os.SCHED_FIFO, os.sched_param(1))
    except PermissionError:
        pytest.skip("real-time scheduling is refused: docs/how-to/real-time-permissions.md")
    os.sched_setscheduler(0, os.SCHED_OTHER, before)
