# Copyright 2026 The rclrt Authors
# SPDX-License-Identifier: Apache-2.0
"""The trace of a microcontroller is in one timeline with those of computers."""

from __future__ import annotations

import os
import subprocess
from pathlib import Path

import pytest
from perfetto_file import read_perfetto
from rclrt_tools.cli import main
from rclrt_tools.trace import Entry, Header, Trace, blank, layout, read_trace, write_trace

MS = 1_000_000


@pytest.fixture
def board(tmp_path: Path) -> Path:
    """Return what rclrt_micro's own test has traced on a simulated board."""
    program = Path(os.environ.get("RCLRT_BUILD_DIR", "/")) / "rclrt_micro" / "test_system"
    if not program.exists():
        pytest.skip(f"{program} has not been built")
    done = subprocess.run(
        [str(program), "--gtest_filter=*jobs_have_their_times*"],
        env={**os.environ, "RCLRT_TRACES": str(tmp_path)},
        capture_output=True,
        text=True,
        timeout=60,
    )
    assert done.returncode == 0, done.stdout
    return tmp_path / "micro.trace"


def test_what_a_board_writes_is_read(board: Path) -> None:
    trace = read_trace(board)
    assert trace.names == {0: "/imu/timer/10ms", 1: "/button", 2: "command"}
    assert trace.callbacks[0].kind == layout.KIND_TIMER
    assert trace.callbacks[0].period_ns == 10 * MS
    jobs = trace.jobs
    assert len(jobs) == 6
    timers = jobs[jobs["callback"] == 0]
    assert (timers["end_ns"] - timers["release_ns"] == 4 * MS).all()
    assert (timers["cpu_ns"] == 4 * MS).all()
    assert set(jobs["cause"].tolist()) == {0, layout.CAUSE_TIMER, layout.CAUSE_MESSAGE}
    assert (jobs["deadline_ns"] == layout.NO_DEADLINE).all()
    assert (jobs["by_callback"] == 2**32 - 1).all()
    assert (jobs["message"] == layout.NO_MESSAGE).all()


def test_a_board_and_a_computer_are_in_one_timeline_by_an_offset_or_by_the_clock_of_the_agent(
    board: Path, tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    first = int(read_trace(board).jobs["release_ns"].min())
    clock = read_trace(board).header.clock_offset_ns
    records = blank(1)
    for name in ("release_ns", "ready_ns", "start_ns"):
        records[name] = first + 12 * MS
    records["end_ns"] = first + 13 * MS
    computer = tmp_path / "computer.trace"
    header = Header(b"computer" * 2, clock, 4711, 1)
    write_trace(Trace({0: Entry("/planner")}, records, 0, header), computer)
    assert main(["trace", "print", str(computer), str(board)]) == 2
    assert "of another boot" in capsys.readouterr().err
    for how in (["--wall-clock"], ["--offset", f"{board}=0"]):
        assert main(["trace", "print", *how, str(computer), str(board)]) == 0
        lines = [line.split(" <")[0].split() for line in capsys.readouterr().out.splitlines()[1:]]
        names = [line[-2] for line in lines]
        assert names == [
            "/imu/timer/10ms", "/button", "/imu/timer/10ms", "/planner", "/imu/timer/10ms",
            "command", "/imu/timer/10ms",
        ]  # fmt: skip
    out = tmp_path / "both.pftrace"
    command = ["trace", "export", "--wall-clock", "--perfetto", str(out)]
    assert main([*command, str(computer), str(board)]) == 0
    seen = read_perfetto(out)
    (slice_,) = seen.on("/planner")
    assert slice_.begin == first + 12 * MS
    begins = [one.begin - first for one in seen.on("/imu/timer/10ms")]
    assert begins == [0, 10 * MS, 20 * MS, 30 * MS]
    assert len({t.process.pid for t in seen.tracks.values() if t.HasField("process")}) == 2
