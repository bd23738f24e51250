# Copyright 2026 The rclrt Authors
# SPDX-License-Identifier: Apache-2.0
"""The scenarios of rclrt_core, ordered by FIFO bands on this machine, leave proof of order."""

import os
import subprocess
from pathlib import Path

import pytest
from rclrt_tools.order import check_order
from rclrt_tools.trace import read_trace

# Far above what a dispatch takes; a wrong order lasts for milliseconds.
BOUND_NS = 2_000_000

# A virtual CPU that its host takes away for milliseconds looks like a wrong order for as long. That
# is elsewhere the next time; a wrong order is not.
ATTEMPTS = 5

# By what a scenario's name says.
CPUS = {"two_cpus": 2, "four_cpus": 4}


def records_of_a_run(folder: Path) -> list[Path]:
    """Run the program; return the trace of every scenario it could run."""
    program = Path(os.environ.get("RCLRT_BUILD_DIR", "/")) / "rclrt_core" / "test_edf_on_threads"
    if not program.exists():
        pytest.skip(f"{program} has not been built")
    folder.mkdir()
    done = subprocess.run(
        [str(program)],
        env={**os.environ, "RCLRT_EDF_TRACES": str(folder)},
        capture_output=True,
        text=True,
        timeout=120,
    )
    assert done.returncode == 0, done.stdout
    traces = sorted(folder.glob("*.trace"))
    if not traces:
        pytest.skip("the program skipped its tests: " + done.stdout[-1000:])
    return traces


def test_real_threads_run_in_order(tmp_path: Path) -> None:
    """Each scenario is in order in one of a few runs."""
    wrong: dict[str, list[object]] = {}
    for attempt in range(ATTEMPTS):
        for path in records_of_a_run(tmp_path / str(attempt)):
            cpus = next((n for name, n in CPUS.items() if name in path.name), 1)
            groups = {"owner": "g", "urgent": "g"}
            violations = check_order([read_trace(path)], cpus, BOUND_NS, groups)
            if attempt == 0 or path.name in wrong:
                wrong[path.name] = [*violations]
        wrong = {name: violations for name, violations in wrong.items() if violations}
        if not wrong:
            return
    pytest.fail(f"out of order in each of {ATTEMPTS} runs: {wrong}")
