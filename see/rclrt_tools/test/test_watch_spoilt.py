# Copyright 2026 The rclrt Authors
# SPDX-License-Identifier: Apache-2.0
"""A live trace that somebody spoils or removes while it is watched: nothing of it stays proved."""

from __future__ import annotations

import os
import subprocess
import time
from collections.abc import Callable
from pathlib import Path

import pytest
from live_program import Program, born
from models import model
from rclrt_tools.live import files
from rclrt_tools.watch import sources
from rclrt_tools.watch.sources import Live
from rclrt_tools.watch.watch import Watch

SYSTEM = """executors: [{name: one, kind: isolated, policy: fixed_priority, cores: [0]}]
callbacks: [{name: tick, kind: timer, executor: one, period_ms: 10, wcet_ms: 2, priority: 3}]
chains: [{name: see, callbacks: [tick], semantics: latency, deadline_ms: 30}]
"""


def spoil(program: Program) -> None:
    os.pwrite(program.stream.fileno(), b"\1\2\3", 40)


def cut(program: Program) -> None:
    os.ftruncate(program.stream.fileno(), 100)


def remove(program: Program) -> None:
    program.path.unlink()


@pytest.fixture(autouse=True)
def looks_at_once(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(files, "LOOKS_S", 0)


def watched(folder: Path, process: int, change: Callable[[Program], None]) -> tuple[Watch, Live]:
    """Return a watch that has seen jobs of a process, and what becomes of it."""
    program = Program(folder / "live", born(process), process)
    program.callback(1, "tick", "", 10_000_000)
    program.ring()
    watch = Watch(model(SYSTEM))
    live = Live(watch, [], [folder / "live"])
    live.step()
    now = time.monotonic_ns() - 1_000_000_000
    for i in range(3):
        at = now + i * 10_000_000
        times = {"release_ns": at, "ready_ns": at, "start_ns": at, "end_ns": at + 1}
        program.job(0, i, callback=1, cause=1, policy=4, priority=3, **times)
    live.step()
    assert watch.lost_records == 0
    assert watch.chains[0].seen.count > 0
    change(program)
    live.step()
    return watch, live


@pytest.mark.parametrize(
    ("change", "says"), [(spoil, "its beginning has changed"), (cut, "cut it short")]
)
def test_of_a_file_that_was_spoilt_records_are_missing(
    change: Callable[[Program], None], says: str, tmp_path: Path
) -> None:
    watch, live = watched(tmp_path, os.getpid(), change)
    assert watch.lost_records == 1
    assert not watch.is_proved
    assert says in live.said[-1]
    live.close()


def test_a_program_that_goes_on_without_its_file_is_not_seen_any_more(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    watch, live = watched(tmp_path, os.getpid(), remove)
    assert watch.lost_records == 0, "it may be about to end"
    monkeypatch.setattr(sources, "ENDS_NS", 0)
    live.step()
    assert watch.lost_records == 1
    assert "goes on, but its live trace was removed" in live.said[-1]
    live.close()


def test_a_program_that_removes_its_file_and_ends_leaves_nothing_missing(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    with subprocess.Popen(["sleep", "60"]) as child:
        watch, live = watched(tmp_path, child.pid, remove)
        child.kill()
    monkeypatch.setattr(sources, "ENDS_NS", 0)
    live.step()
    assert watch.lost_records == 0
    assert "has ended" in live.said[-1]
    live.close()
