# Copyright 2026 The rclrt Authors
# SPDX-License-Identifier: Apache-2.0
"""Instructions per dispatched callback, counted by callgrind."""

import os
import platform
import re
import shutil
import subprocess
from pathlib import Path

import pytest
from firmware import FIGURES

pytestmark = pytest.mark.skipif(
    shutil.which("valgrind") is None, reason="no valgrind: apt-get install valgrind"
)


def _program(name: str) -> Path:
    found = sorted(Path(os.environ["RCLRT_BUILD_DIR"]).rglob(f"rclrt_micro_{name}"))
    return next(path for path in found if path.is_file() and os.access(path, os.X_OK))


def _instructions(executor: str, callbacks: int, folder: Path) -> float:
    program = [str(_program("dispatch")), executor, str(callbacks), "200"]
    return _count(program, ["dispatch"], folder) / 200


def _count(program: list[str], toggles: list[str], folder: Path) -> int:
    """Return the instructions in the first of these functions but not in the others."""
    command = ["valgrind", "--tool=callgrind", *(f"--toggle-collect={name}" for name in toggles)]
    command += [f"--callgrind-out-file={folder / 'out'}", *program]
    result = subprocess.run(command, capture_output=True, text=True, timeout=100)
    assert result.returncode == 0, result.stderr
    match = re.search(r"Collected : (\d+)", result.stderr)
    assert match is not None, result.stderr
    return int(match[1])


def _said() -> tuple[float, float]:
    """Return what FIGURES say: of the executor, of the batch executor."""
    match = re.search(
        r"takes about (\d+) instructions .*?batch executor about (\d+) ", " ".join(FIGURES.split())
    )
    assert match is not None
    return float(match[1]), float(match[2])


def _said_of_a_trip(line: str) -> float:
    text = " ".join(FIGURES.split())
    match = re.search(rf"([\d,]+) \({line}\)", text)
    assert match is not None
    return float(match[1].replace(",", ""))


def _built_as_said() -> bool:
    cache = (Path(os.environ["RCLRT_BUILD_DIR"]) / "CMakeCache.txt").read_text(encoding="utf-8")
    return "CMAKE_BUILD_TYPE:STRING=RelWithDebInfo" in cache and platform.machine() == "x86_64"


def test_a_callback_costs_the_same_however_many_there_are(tmp_path: Path) -> None:
    few = _instructions("tide", 1, tmp_path)
    many = _instructions("tide", 32, tmp_path)
    print(f"instructions a callback: {few:.0f} with 1 registered, {many:.0f} with 32")
    assert many <= few * 1.05


def test_a_timer_costs_little_more_among_four_thousand_than_among_sixteen(tmp_path: Path) -> None:
    few = _instructions("timers", 16, tmp_path)
    many = _instructions("timers", 4096, tmp_path)
    print(f"instructions a timer callback: {few:.0f} with 16 timers, {many:.0f} with 4096")
    # A heap three times as high; a list would be 256 times as long.
    assert many <= few * 1.5


def test_with_32_callbacks_it_costs_at_most_half_of_the_batch_executor(tmp_path: Path) -> None:
    tide = _instructions("tide", 32, tmp_path)
    batch = _instructions("batch", 32, tmp_path)
    print(f"instructions a callback with 32 registered: {tide:.0f}, batch executor {batch:.0f}")
    assert tide <= batch / 2
    if not _built_as_said():
        pytest.skip("FIGURES are those of RelWithDebInfo on x86-64")
    assert (tide, batch) == pytest.approx(_said(), rel=0.1)


@pytest.mark.parametrize("line", ["serial", "udp"])
def test_a_round_trip_costs_what_the_figures_say(line: str, tmp_path: Path) -> None:
    program = [str(_program("trips")), line]
    functions = ["trips", "peer_take", "peer_next", "peer_serve"]
    counts = [_count([*program, str(n)], functions, tmp_path) for n in (50, 250)]
    trip = (counts[1] - counts[0]) / 200
    print(f"instructions a round trip: {trip:.0f}")
    if not _built_as_said():
        pytest.skip("FIGURES are those of RelWithDebInfo on x86-64")
    assert trip == pytest.approx(_said_of_a_trip(line), rel=0.1)
