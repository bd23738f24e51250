# Copyright 2026 The rclrt Authors
# SPDX-License-Identifier: Apache-2.0
"""The verb `demo` on real nodes over real DDS. Nothing is asserted on speed."""

import signal
import subprocess
from collections.abc import Sequence
from pathlib import Path

import pytest
from demo_runs import AS_BUILT, command, needs_program, result_of, small_scenario
from rclrt_tools.reference.environment import may_use_realtime
from rclrt_tools.reference.program import DEMO_EXECUTORS, EXECUTORS, WHOLE_PROCESS


@pytest.fixture
def small(tmp_path: Path) -> str:
    return small_scenario(tmp_path)


def that_may_run(executors: Sequence[str]) -> list[str]:
    """Leave out those whose whole process would have a priority, if the demo may not give it."""
    may = may_use_realtime() and not AS_BUILT
    return [name for name in executors if may or not name.endswith(WHOLE_PROCESS)]


@needs_program
def test_the_autoware_reference_system_runs_and_is_reported(tmp_path: Path) -> None:
    result = result_of("--duration", "24", tmp_path=tmp_path)
    assert [run["executor"] for run in result["runs"]] == that_may_run(DEMO_EXECUTORS)
    for run in result["runs"]:
        ms = run["hot_path_ms"]
        assert ms["n"] > 0
        # With a sanitizer and other load a wait set may end a single instance.
        p50 = ms["max"] if ms["p50"] is None else ms["p50"]
        assert ms["max"] >= p50 >= 7.72, "work is work"
        assert run["hot_path_ms"]["ideal"] > 7.72
        assert run["cpu_s"] > 0
        assert run["rss_mib"] > 1
    assert result["environment"]["critical_path_work_ms"] == pytest.approx(7.72)


@needs_program
def test_the_other_executors_run_real_nodes_too(small: str, tmp_path: Path) -> None:
    others = [name for name in EXECUTORS if name not in DEMO_EXECUTORS]
    result = result_of(
        "--duration", "5", "--scenario", small, "--executors", ",".join(others), tmp_path=tmp_path
    )
    assert [run["executor"] for run in result["runs"]] == that_may_run(others)
    for run in result["runs"]:
        # The sink works 1 ms after the fusion has worked 1 ms.
        assert run["hot_path_ms"]["n"] > 0, run
        assert run["hot_path_ms"]["p50"] >= 1.0, run
        assert not [text for text in run["findings"] if "not kept" in text]


@needs_program
def test_ctrl_c_stops_and_reports_what_was_measured(small: str) -> None:
    running = subprocess.Popen(
        command("--duration", "30", "--scenario", small, "--executors", "preemptive,isolated"),
        stdout=subprocess.PIPE,
        stderr=subprocess.PIPE,
        text=True,
    )
    assert running.stderr is not None
    for line in running.stderr:
        if "2/" in line:  # so the first executor has been measured
            break
    running.send_signal(signal.SIGINT)
    out, err = running.communicate(timeout=60)
    assert running.returncode == 0, err
    assert "Interrupted" in out
    row = next(line for line in out.splitlines() if line.startswith("preemptive "))
    assert int(row.split()[2]) > 0, out
