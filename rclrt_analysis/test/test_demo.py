# Copyright 2026 The rclrt Authors
# SPDX-License-Identifier: Apache-2.0
"""The verb `demo` as a user types it, on real nodes over real DDS. Nothing is asserted on speed."""

from __future__ import annotations

import json
import os
import re
import shutil
import signal
import subprocess
import sys
import time
from collections.abc import Sequence
from pathlib import Path
from typing import Any

import jsonschema
import pytest
import yaml
from rclrt_analysis.reference.executors import DEMO_EXECUTORS, EXECUTORS
from rclrt_analysis.reference.program import find_program

SOURCE = Path(os.environ.get("RCLRT_SOURCE_DIR", "."))
SCENARIOS = SOURCE / "rclrt_scenarios"

SMALL = """
schema: 1
name: small
work_ms: 1
nodes:
- {name: Left, kind: sensor, period_ms: 50, output: left}
- {name: Right, kind: sensor, period_ms: 50, output: right}
- {name: Fusion, kind: fusion, inputs: [left, right], output: fused}
- {name: Sink, kind: command, input: fused, work_ms: 1}
hot_path: {roots: [Left, Right], through: [Fusion], sink: Sink}
"""

needs_program = pytest.mark.skipif(
    not find_program().exists(), reason=f"{find_program()} is not built"
)


def command(*arguments: str) -> list[str]:
    return [sys.executable, "-m", "rclrt_analysis.cli", "demo", *arguments]


def demo(*arguments: str, before: Sequence[str] = ()) -> subprocess.CompletedProcess[str]:
    return subprocess.run(
        [*before, *command(*arguments)], capture_output=True, text=True, check=False, timeout=100
    )


@pytest.fixture
def small(tmp_path: Path) -> str:
    path = tmp_path / "small.yaml"
    path.write_text(SMALL, encoding="utf-8")
    return str(path)


def result_of(*arguments: str, tmp_path: Path) -> dict[str, Any]:
    path = tmp_path / "result.json"
    done = demo(*arguments, "--json", str(path))
    assert done.returncode == 0, done.stderr + done.stdout
    result: dict[str, Any] = json.loads(path.read_text(encoding="utf-8"))
    return result


@needs_program
def test_the_autoware_reference_system_runs_and_is_reported(tmp_path: Path) -> None:
    page = tmp_path / "page.html"
    result = result_of(
        *["--duration", "8", "--executors", "waitset_single,preemptive_hot", "--html", str(page)],
        tmp_path=tmp_path,
    )
    assert [run["executor"] for run in result["runs"]] == ["waitset_single", "preemptive_hot"]
    assert [run["policy"] for run in result["runs"]] == ["fifo", "hot"]
    for run in result["runs"]:
        assert run["hot_path_ms"]["n"] > 0
        assert run["hot_path_ms"]["max"] >= run["hot_path_ms"]["p50"] >= 7.72, "work is work"
        assert run["hot_path_ms"]["ideal"] > 7.72
        assert run["cpu_s"] > 0
        assert run["rss_mib"] > 1
    assert result["environment"]["critical_path_work_ms"] == pytest.approx(7.72)
    assert "preemptive_hot (" in page.read_text(encoding="utf-8")


@needs_program
def test_every_executor_runs_real_nodes_and_carries_the_data(small: str, tmp_path: Path) -> None:
    names = ",".join(EXECUTORS)
    result = result_of(
        "--duration", "5", "--scenario", small, "--executors", names, tmp_path=tmp_path
    )
    assert [run["executor"] for run in result["runs"]] == list(EXECUTORS)
    for run in result["runs"]:
        # The sink works 1 ms after the fusion has worked 1 ms.
        assert run["hot_path_ms"]["n"] > 0, run
        assert run["hot_path_ms"]["p50"] >= 1.0, run
        assert not [text for text in run["findings"] if "not kept" in text]


@needs_program
def test_each_node_may_be_a_process_of_its_own(small: str, tmp_path: Path) -> None:
    result = result_of(
        *["--duration", "5", "--scenario", small, "--executors", "preemptive"],
        "--one-process-per-node",
        tmp_path=tmp_path,
    )
    [run] = result["runs"]
    assert run["hot_path_ms"]["n"] > 0
    assert result["environment"]["one_process_per_node"] is True


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
def test_ctrl_c_stops_and_reports_what_was_measured(small: str) -> None:
    running = subprocess.Popen(
        command("--duration", "600", "--scenario", small, "--executors", "preemptive,isolated"),
        stdout=subprocess.PIPE,
        stderr=subprocess.PIPE,
        text=True,
    )
    assert running.stderr is not None
    for line in running.stderr:
        if "1/" in line:
            break
    time.sleep(4)  # so that something has been measured
    running.send_signal(signal.SIGINT)
    out, err = running.communicate(timeout=60)
    assert running.returncode == 0, err
    assert "Interrupted" in out
    row = next(line for line in out.splitlines() if line.startswith("preemptive "))
    assert int(row.split()[2]) > 0, out


@needs_program
def test_without_permission_it_says_so_and_names_the_remedy(small: str, tmp_path: Path) -> None:
    drop = ["setpriv", "--bounding-set=-sys_nice", "--inh-caps=-sys_nice", "--ambient-caps=-all"]
    if os.geteuid() != 0 or shutil.which("setpriv") is None:
        pytest.skip("needs root and setpriv, to give the permission up")
    path = tmp_path / "result.json"
    done = demo(
        *["--duration", "3", "--scenario", small, "--executors", "events_fifo,isolated"],
        *["--json", str(path)],
        before=[*drop, "prlimit", "--rtprio=0:0"],
    )
    assert done.returncode == 0, done.stderr
    assert re.search(r"^isolated .* REFUSED$", done.stdout, re.MULTILINE), done.stdout
    assert not re.search(r"^events_fifo .* REFUSED$", done.stdout, re.MULTILINE)
    assert "rtprio 99" in done.stdout
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
        (["--executors", "preemtive"], "unknown executor 'preemtive'. Use any of: waitset_single"),
        (["--executors", ","], "name one executor at least"),
        (["--work", "-1"], "'-1' is not a number from 0 to 10000"),
        (["--work", "nan"], "'nan' is not a number"),
        (["--duration", "0"], "'0' is not a number from 1 to 86400"),
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
    assert done.stderr.strip().endswith("Use one of: " + ", ".join(EXECUTORS))
    assert set(DEMO_EXECUTORS) <= set(EXECUTORS)


def test_shipped_scenarios_satisfy_the_schema_and_the_schema_itself() -> None:
    schema = json.loads((SCENARIOS / "scenario.schema.json").read_text(encoding="utf-8"))
    jsonschema.Draft202012Validator.check_schema(schema)
    files = sorted(SCENARIOS.glob("*.yaml"))
    assert files
    for path in files:
        jsonschema.validate(yaml.safe_load(path.read_text(encoding="utf-8")), schema)
    jsonschema.validate(yaml.safe_load(SMALL), schema)


@pytest.mark.parametrize(
    "node",
    [
        "{name: A, kind: sensr, period_ms: 5, output: a}",
        "{name: A, kind: sensor, perod_ms: 5, output: a}",
        "{name: A, kind: command, input: a, output: b}",
        "{name: A, kind: timer, period_ms: 5}",
        "{name: A, kind: timer, period_ms: -5, work_ms: 1}",
        "{name: A, kind: timer, period_ms: 5, work_ms: 1, priority: 100}",
        "{name: A, kind: fusion, inputs: [a], output: b}",
        "{name: 1st, kind: timer, period_ms: 5, work_ms: 1}",
    ],
)
def test_the_schema_refuses_what_the_program_refuses(node: str, tmp_path: Path) -> None:
    schema = json.loads((SCENARIOS / "scenario.schema.json").read_text(encoding="utf-8"))
    text = f"schema: 1\nname: x\nnodes: [{node}]\n"
    with pytest.raises(jsonschema.ValidationError):
        jsonschema.validate(yaml.safe_load(text), schema)
    if find_program().exists():
        path = tmp_path / "bad.yaml"
        path.write_text(text, encoding="utf-8")
        program = [str(find_program()), "--scenario", str(path), "--check"]
        assert subprocess.run(program, capture_output=True, check=False).returncode == 2
