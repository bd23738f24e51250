# Copyright 2026 The rclrt Authors
# SPDX-License-Identifier: Apache-2.0
"""`./rclrt top` beside programs that know nothing of it."""

import json
import os
import signal
import subprocess
import sys
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest
from models import ROOT
from programs import rclrt

BUILD = Path(os.environ.get("RCLRT_BUILD_DIR", "/"))
PROGRAM = BUILD / "rclrt_reference_system" / "rclrt_reference_system"
PROBE = BUILD / "rclrt_probe" / "librclrt_run.so"
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
CHAIN = ("/Camera/timer/20ms", "/Detector/subscription/image", "/Driver/subscription/objects")


def top(*arguments: str) -> dict[str, Any]:
    done = rclrt("top", "--once", "--json", *arguments)
    assert done.returncode in (0, 1), done.stderr
    result: dict[str, Any] = json.loads(done.stdout)
    return result


@pytest.fixture
def running(tmp_path: Path) -> Iterator[subprocess.Popen[str]]:
    if not PROGRAM.exists():
        pytest.skip(f"{PROGRAM} has not been built")
    path = tmp_path / "system.yaml"
    path.write_text(SYSTEM, encoding="utf-8")
    command = [str(PROGRAM), "--scenario", str(path), "--executor", "preemptive"]
    with subprocess.Popen(
        [*command, "--duration", "300", "--out", str(tmp_path / "report.json")],
        stderr=subprocess.DEVNULL,
        text=True,
    ) as program:
        try:
            yield program
        finally:
            program.kill()


def _model(folder: Path, wcet_ms: float) -> Path:
    path = folder / "model.yaml"
    times = f"wcet_ms: {wcet_ms}, executor: e"
    path.write_text(
        "schema: 1\nname: robot\nexecutors: [{name: e, kind: preemptive}]\ncallbacks:\n"
        f"- {{name: {CHAIN[0]}, kind: timer, period_ms: 20, priority: 9, {times}, "
        "publishes: [i]}\n"
        f"- {{name: {CHAIN[1]}, kind: subscription, triggers: [i], {times}, publishes: [o]}}\n"
        f"- {{name: {CHAIN[2]}, kind: subscription, triggers: [o], {times}}}\n"
        f"chains: [{{name: see, callbacks: [{', '.join(CHAIN)}], deadline_ms: 50, "
        "semantics: latency}]\n",
        encoding="utf-8",
    )
    return path


def test_top_names_the_callbacks_with_their_rates_and_the_end_of_the_program(
    running: subprocess.Popen[str], tmp_path: Path
) -> None:
    wanted = str(running.pid)
    for _ in range(100):  # until its topics are connected
        result = top("--for", "0.5", wanted)
        jobs = {row["name"]: row["jobs"] for row in result["callbacks"]}
        if all(jobs.get(name) for name in CHAIN):
            break
    result = top("--for", "3", wanted)
    rows = {row["name"]: row for row in result["callbacks"]}
    camera, detector, driver = (rows[name] for name in CHAIN)
    assert camera["period_ms"] == 20
    # A busy machine may give up releases, and no more than the period allows can run.
    assert 25 <= camera["rate_hz"] <= 50 * 1.02
    # What the camera sends, the others get; some may be on their way.
    assert abs(detector["jobs"] - camera["jobs"]) <= 5 + camera["skipped"] + detector["dropped"]
    assert abs(driver["jobs"] - detector["jobs"]) <= 5 + driver["dropped"]
    assert detector["execution_ms"]["p50"] >= 1
    assert detector["response_ms"]["max"] >= detector["response_ms"]["p50"] >= 1
    (process,) = result["processes"]
    assert (process["program"], process["state"]) == ("rclrt_reference_system", "runs")
    threads = {one["thread"]: one for one in result["threads"]}
    ran = [one for one in threads.values() if one["jobs_per_s"]]
    assert ran
    for one in ran:
        path = Path(f"/proc/{wanted}/task/{one['thread']}/stat")
        assert one["name"] == path.read_text(encoding="utf-8").partition("(")[2].partition(")")[0]
    assert (detector["policy"], detector["cpus"]) != (None, None)
    assert result["chains"] == []
    held = top("--for", "3", wanted, "--model", str(_model(tmp_path, wcet_ms=0.01)))
    (chain,) = held["chains"]
    assert (chain["name"], chain["deadline_ms"]) == ("see", 50)
    assert chain["count"] > 25
    assert chain["bound_ms"] <= 1 < chain["worst_ms"]
    assert any(
        one["kind"] == "not_as_modelled"
        and one["callback"] == CHAIN[1]
        and "runs for" in one["text"]
        for one in held["findings"]
    ), held["findings"]
    running.kill()
    running.wait()
    after = top("--for", "0.1", wanted)
    assert [one["state"] for one in after["processes"]] == ["killed"]
    assert after["callbacks"] == after["threads"] == []
    assert [one["kind"] for one in after["findings"]] == ["killed"]
    (trace,) = (one["trace"] for one in after["executors"])
    Path(trace).unlink()


@pytest.mark.skipif(not PROBE.exists(), reason=f"{PROBE} has not been built")
def test_top_finds_plain_rclpy_under_the_probe(tmp_path: Path) -> None:
    try_it = [sys.executable, "-c", "import rclpy"]
    if subprocess.run(try_it, capture_output=True, check=False).returncode:
        pytest.skip("rclpy cannot be imported")
    node = ROOT / "see/rclrt_probe" / "test" / "plain_rclpy.py"
    observe = [sys.executable, "-m", "rclrt_tools.cli", "observe", "-o", str(tmp_path / "out")]
    with subprocess.Popen(
        [*observe, "--", sys.executable, str(node), "single", "1000000"],
        stdout=subprocess.DEVNULL,
        stderr=subprocess.DEVNULL,
        start_new_session=True,
    ) as observed:
        try:
            rows: dict[str, Any] = {}
            for _ in range(100):
                result = top("--for", "0.5")
                mine = [
                    one["process"]
                    for one in result["executors"]
                    if one["trace"].startswith(str(tmp_path))
                ]
                rows = {
                    row["name"]: row
                    for row in result["callbacks"]
                    if row["process"] in mine and row["jobs"]
                }
                if {"/snake/timer/10ms", "/snake/subscription/slither"} <= set(rows):
                    break
        finally:
            os.killpg(observed.pid, signal.SIGKILL)
    timer = rows["/snake/timer/10ms"]
    assert 0 < timer["rate_hz"] <= 110
    assert timer["period_ms"] == 10
    assert timer["process"] in [one["process"] for one in result["threads"]]
