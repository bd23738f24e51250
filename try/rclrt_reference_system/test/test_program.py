# Copyright 2026 The rclrt Authors
# SPDX-License-Identifier: Apache-2.0
"""The program on real nodes: what its options do, and what it says about jobs it could not run."""

import itertools
import json
import os
import signal
import subprocess
import time
from pathlib import Path
from typing import Any

import pytest

BUILD = Path(os.environ["RCLRT_BUILD_DIR"])
PROGRAM = str(BUILD / "rclrt_reference_system" / "rclrt_reference_system")

SYSTEM = """
schema: 1
name: system
work_ms: 1
nodes:
- {name: Camera, kind: sensor, period_ms: 20, output: image}
- {name: Detector, kind: transform, input: image, output: objects}
- {name: Driver, kind: command, input: objects}
hot_path: {roots: [Camera], through: [Detector], sink: Driver}
"""


def may_be_realtime() -> bool:
    """Tried in a process of its own."""
    code = "import os; os.sched_setscheduler(0, os.SCHED_FIFO, os.sched_param(1))"
    return subprocess.run(["python3", "-c", code], capture_output=True, check=False).returncode == 0


needs_realtime = pytest.mark.skipif(
    not may_be_realtime(), reason="no permission for real-time scheduling (RLIMIT_RTPRIO)"
)


STUB_RMW = BUILD / "rclrt_rcl" / "libstub_rmw.so"


def call(*arguments: str, **variables: str) -> subprocess.CompletedProcess[str]:
    return subprocess.run(
        [PROGRAM, *arguments], capture_output=True, text=True, check=False, timeout=100,
        env={**os.environ, **variables},
    )  # fmt: skip


@pytest.fixture
def scenario(tmp_path: Path) -> Path:
    path = tmp_path / "system.yaml"
    path.write_text(SYSTEM, encoding="utf-8")
    return path


def report(path: Path, *arguments: str, seconds: int = 1, **variables: str) -> dict[str, Any]:
    done = call("--scenario", str(path), "--duration", str(seconds), *arguments, **variables)
    assert done.returncode == 0, done.stderr
    result: dict[str, Any] = json.loads(done.stdout)
    return result


def report_of_all(path: Path, *arguments: str) -> dict[str, Any]:
    """Return the report of a run in which each callback had its turn, on a machine that is busy."""
    for seconds in (1, 3, 9):
        result = report(path, *arguments, seconds=seconds)
        if all(callback["in_force"] for callback in result["callbacks"]):
            break
    return result


def by_name(result: dict[str, Any]) -> dict[str, dict[str, Any]]:
    return {callback["name"]: callback for callback in result["callbacks"]}


@pytest.mark.skipif(
    not STUB_RMW.exists() or bool(os.environ.get("RCLRT_SANITIZE")),
    reason="libstub_rmw.so is not there, or the sanitizer wants to be loaded first",
)
@pytest.mark.parametrize(
    ("name", "stamp"), [("rmw_cyclonedds_cpp", "take"), ("rmw_stranger_cpp", "unknown")]
)
def test_the_report_names_the_rmw_and_what_its_stamps_are(
    scenario: Path, name: str, stamp: str
) -> None:
    variables = {"LD_PRELOAD": str(STUB_RMW), "RCLRT_STUB_RMW": name}
    result = report(scenario, "--executor", "preemptive", **variables)
    assert (result["rmw"], result["reception_stamp"]) == (name, stamp)
    assert result["hot_path"]["samples"]


def test_every_sample_of_every_callback_is_there(scenario: Path) -> None:
    result = report(scenario, "--executor", "preemptive")
    callbacks = by_name(result)
    assert list(callbacks) == ["Camera", "Detector<image", "Driver<objects"]
    for callback in callbacks.values():
        assert len(callback["jobs"]) + callback["lost"] > 30
        assert callback["jobs_without_room"] == 0
        for release, start, end, sent, number_in, _, away in callback["jobs"]:
            assert release <= start <= end
            assert 0 <= away <= end - start
            assert sent <= release
            assert (number_in == 0) == (callback["kind"] == "timer")
    work = [end - start for _, start, end, *_ in callbacks["Detector<image"]["jobs"]]
    assert min(work) >= 1_000_000
    assert not result["interrupted"]
    assert result["cpu_s"] > 0.02
    samples = result["hot_path"]["samples"]
    assert len(samples) > 30
    assert all(start - received >= 1_000_000 for received, start, *_ in samples)


def test_a_report_of_counts_has_no_samples(scenario: Path) -> None:
    result = report(scenario, "--executor", "preemptive", "--counts")
    assert "samples" not in result["hot_path"]
    assert result["hot_path"]["latencies"]["count"] > 30
    assert result["hot_path"]["latencies"]["median_ms"] >= 1
    for callback in result["callbacks"]:
        assert "jobs" not in callback
        assert callback["responses"]["count"] + callback["lost"] > 30
        assert callback["responses"]["longest_ms"] >= callback["responses"]["median_ms"]


def test_hot_path_samples_and_jobs_tell_the_same_story(scenario: Path) -> None:
    result = report(scenario, "--executor", "isolated")
    jobs = {job[1]: job for job in by_name(result)["Driver<objects"]["jobs"]}
    first_hop = {job[4]: job[0] for job in by_name(result)["Detector<image"]["jobs"]}
    for received, start, end, [sequence] in result["hot_path"]["samples"]:
        if start in jobs:
            assert jobs[start][2] == end
        if sequence in first_hop:
            assert first_hop[sequence] == received, "the clock starts at the first hop's reception"


@needs_realtime
@pytest.mark.parametrize("executor", ["preemptive", "isolated"])
def test_priorities_of_the_policy_are_in_force_inside_callbacks(
    scenario: Path, executor: str
) -> None:
    result = report_of_all(scenario, "--executor", executor, "--policy", "hot")
    assert result["attributes_in_force"] is True
    for callback in result["callbacks"]:
        assert callback["in_force"]["policy"] == "fifo"
        assert callback["in_force"]["priority"] == callback["priority"] == 80


@needs_realtime
def test_a_node_may_have_its_own_priority_and_cpu(tmp_path: Path) -> None:
    path = tmp_path / "system.yaml"
    own = "kind: transform, priority: 42, cpu_affinity: [0]"
    path.write_text(SYSTEM.replace("kind: transform", own), encoding="utf-8")
    callbacks = by_name(report_of_all(path, "--executor", "preemptive"))
    assert callbacks["Detector<image"]["in_force"] == {
        "policy": "fifo",
        "priority": 42,
        "cpu_affinity": "0",
    }
    assert callbacks["Driver<objects"]["in_force"]["priority"] == 42, "inherited downstream"
    assert callbacks["Camera"]["in_force"]["priority"] != 42


@needs_realtime
def test_a_configuration_file_goes_before_the_policy(scenario: Path, tmp_path: Path) -> None:
    config = tmp_path / "config.yaml"
    entry = "/Detector/subscription/image: {scheduling_policy: rr, priority: 33}"
    config.write_text(
        f"/**:\n  ros__parameters:\n    rclrt:\n      callbacks:\n        {entry}\n",
        encoding="utf-8",
    )
    result = report_of_all(scenario, "--executor", "preemptive", "--config", str(config))
    in_force = by_name(result)["Detector<image"]["in_force"]
    assert (in_force["policy"], in_force["priority"]) == ("rr", 33)


def test_all_threads_stay_on_the_cpus_given(scenario: Path) -> None:
    for callback in report_of_all(scenario, "--executor", "isolated", "--cpus", "0")["callbacks"]:
        assert callback["in_force"]["cpu_affinity"] == "0"


def test_jobs_that_could_not_run_are_counted(tmp_path: Path) -> None:
    path = tmp_path / "overload.yaml"
    # The detector takes two and a half periods: of 50 images a second it can see 20.
    path.write_text(SYSTEM.replace("work_ms: 1", "work_ms: 50"), encoding="utf-8")
    arguments = ["--executor", "preemptive", "--policy", "fifo", "--cpus", "0"]
    result = report(path, *arguments, seconds=3)  # some jobs even where others use the CPU as well
    detector = by_name(result)["Detector<image"]
    assert detector["lost"] > len(detector["jobs"]) / 2
    numbers = [job[4] for job in detector["jobs"]]
    gaps = sum(b - a - 1 for a, b in itertools.pairwise(numbers))
    assert detector["lost"] >= gaps > 0


def test_a_timer_that_cannot_keep_up_counts_the_releases_it_lost(tmp_path: Path) -> None:
    path = tmp_path / "timer.yaml"
    node = "{name: Slow, kind: timer, period_ms: 10, work_ms: 35}"
    path.write_text(f"schema: 1\nname: x\nnodes: [{node}]\n", encoding="utf-8")
    for executor in ("preemptive", "wait_set_single", "events_fifo"):
        slow = by_name(report(path, "--executor", executor))["Slow"]
        assert slow["lost"] + slow["deadline_misses"] > 20, executor


def test_ctrl_c_writes_what_was_measured(scenario: Path, tmp_path: Path) -> None:
    out = tmp_path / "out.json"
    command = [PROGRAM, "--scenario", str(scenario), "--duration", "600", "--out", str(out)]
    running = subprocess.Popen(command)
    time.sleep(4)  # so that something has been measured
    running.send_signal(signal.SIGINT)
    assert running.wait(timeout=60) == 0
    result = json.loads(out.read_text(encoding="utf-8"))
    assert result["interrupted"] is True
    assert result["measured_to_ns"] - result["measured_from_ns"] < 60 * 10**9


def test_calibration_prints_a_speed() -> None:
    assert float(call("--calibrate").stdout) > 1000


@pytest.mark.parametrize(
    ("arguments", "said"),
    [
        (["--executor", "none"], "unknown executor 'none'. Use one of: wait_set_single, "),
        (["--node", "Nobody"], "scenario 'system' has no node 'Nobody'"),
        (["--cpus", "4000"], "there is no CPU 4000"),
        (["--duration", "-1"], "--duration"),
        (["--work-ms", "-1"], "--work-ms"),
        (["--bogus"], "--bogus"),
        (["--config", "/does/not/exist"], "/does/not/exist"),
    ],
)
def test_what_cannot_be_is_refused_with_status_2(
    arguments: list[str], said: str, scenario: Path
) -> None:
    done = call("--scenario", str(scenario), *arguments)
    assert done.returncode == 2, done.stderr
    assert said in done.stderr
    assert done.stdout == ""


def test_a_missing_scenario_is_refused_with_status_2() -> None:
    assert call().returncode == 2
    assert "--scenario FILE is missing" in call().stderr


def test_a_report_that_cannot_be_written_is_an_error(scenario: Path) -> None:
    done = call("--scenario", str(scenario), "--duration", "0.1", "--out", "/does/not/exist")
    assert done.returncode == 1
    assert "/does/not/exist: cannot be written" in done.stderr
