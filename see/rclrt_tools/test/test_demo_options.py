# Copyright 2026 The rclrt Authors
# SPDX-License-Identifier: Apache-2.0
"""The options of the verb `demo`, and what it says when it cannot do as told."""

import json
import re
import subprocess
from pathlib import Path

import pytest
from demo_runs import (
    SCENARIOS,
    SMALL,
    WITHOUT_PERMISSION,
    demo,
    needs_program,
    result_of,
    small_scenario,
)
from rclrt_tools.reference.program import DEMO_EXECUTORS, EXECUTORS, find_program, split_priority


@pytest.fixture
def small(tmp_path: Path) -> str:
    return small_scenario(tmp_path)


@needs_program
def test_timers_alone_are_reported_by_their_response_times(tmp_path: Path) -> None:
    path = str(SCENARIOS / "teper_seven_timers_60.yaml")
    arguments = ["--duration", "3", "--scenario", path, "--executors", "preemptive", "--cpus", "0"]
    result = result_of(*arguments, tmp_path=tmp_path)
    [run] = result["runs"]
    # 1 s: 33 of the IMU, 12 of each camera, 5 of each LiDAR.
    assert 60 < run["hot_path_ms"]["n"] + run["dropped"] < 120
    assert run["hot_path_ms"]["ideal"] is None


@needs_program
def test_work_can_be_set(small: str, tmp_path: Path) -> None:
    arguments = ["--duration", "3", "--scenario", small, "--executors", "preemptive"]
    light = result_of(*arguments, "--work", "0", tmp_path=tmp_path)
    heavy = result_of(*arguments, "--work", "9", tmp_path=tmp_path)
    assert light["environment"]["critical_path_work_ms"] == 0
    assert heavy["environment"]["critical_path_work_ms"] == 9
    assert heavy["runs"][0]["hot_path_ms"]["p50"] >= 9


@needs_program
def test_without_permission_it_says_so_and_names_the_remedy(small: str, tmp_path: Path) -> None:
    path = tmp_path / "result.json"
    done = demo(
        *["--duration", "3", "--scenario", small],
        *["--executors", "events_fifo,events_fifo_fifo50,isolated"],
        *["--json", str(path)],
        before=WITHOUT_PERMISSION,
    )
    assert done.returncode == 0, done.stderr
    assert re.search(r"^isolated .* REFUSED$", done.stdout, re.MULTILINE), done.stdout
    assert not re.search(r"^events_fifo .* REFUSED$", done.stdout, re.MULTILINE)
    assert "rtprio 99" in done.stdout
    assert "Left out: events_fifo_fifo50. SCHED_FIFO is not permitted here" in done.stdout
    none = demo("--executors", "static_fifo50", before=WITHOUT_PERMISSION)
    assert none.returncode == 1
    assert "static_fifo50: SCHED_FIFO is not permitted here" in none.stderr
    result = json.loads(path.read_text(encoding="utf-8"))
    assert [run["attributes_in_force"] for run in result["runs"]] == [True, False]


@needs_program
def test_a_scenario_that_cannot_run_is_refused_with_line_and_column(tmp_path: Path) -> None:
    path = tmp_path / "bad.yaml"
    for text, place in (
        (SMALL.replace("period_ms: 50", "period_ms: -50"), ":6:41: "),
        (SMALL.replace("inputs: [left, right]", "inputs: [left, right"), ":8:"),
        (SMALL.replace("input: fused", "input: fusd"), ":9:38: "),
    ):
        path.write_text(text, encoding="utf-8")
        done = demo("--duration", "3", "--scenario", str(path))
        assert done.returncode == 2, done.stderr
        assert str(path) + place in done.stderr
        assert "Traceback" not in done.stderr


@pytest.mark.parametrize(
    ("arguments", "said"),
    [
        (["--executors", "preemtive"], "unknown executor 'preemtive'. Use any of: wait_set_single"),
        (["--executors", ","], "name one executor at least"),
        (["--work", "-1"], "'-1' is not a number from 0 to 10000"),
        (["--work", "nan"], "'nan' is not a number"),
        (["--duration", "0"], "'0' is not a number from 1 to 86400"),
        (["--load", "some"], "'some' is none of both, quiet, background"),
        (["--cpus", "4096"], "'4096' is not a CPU of this machine"),
        (["--cpus", "0,,"], "'' is not a CPU of this machine"),
        (["--scenario", "/does/not/exist"], "/does/not/exist: No such file"),
        (["--json", "/does/not/exist/x.json"], "no file can be written there"),
        (["--fast"], "unrecognized arguments: --fast"),
        (["--dur", "3"], "unrecognized arguments: --dur 3"),
    ],
)
def test_wrong_arguments_are_refused_with_usage_and_status_2(
    arguments: list[str], said: str
) -> None:
    done = demo(*arguments)
    assert done.returncode == 2
    assert "usage: ./rclrt" in done.stderr
    assert said in done.stderr


@needs_program
def test_the_program_has_the_executors_that_the_demo_offers() -> None:
    program = [str(find_program()), "--scenario", "x", "--executor", "none"]
    done = subprocess.run(program, capture_output=True, text=True, check=False, timeout=30)
    assert done.returncode == 2
    names = dict.fromkeys(split_priority(name)[0] for name in EXECUTORS)
    assert done.stderr.strip().endswith("Use one of: " + ", ".join(names))
    assert set(DEMO_EXECUTORS) <= set(EXECUTORS)
