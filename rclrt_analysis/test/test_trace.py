# Copyright 2026 The rclrt Authors
# SPDX-License-Identifier: Apache-2.0
from __future__ import annotations

import os
import re
import subprocess
import sys
from pathlib import Path

import numpy as np
import pytest
from models import FOLDER, ROOT, SCHEMA, model, shipped
from rclrt_analysis.bounds.analyse import analyse
from rclrt_analysis.model import Kind, read_model
from rclrt_analysis.model.observe import observe, to_yaml
from rclrt_analysis.simulation import simulate
from rclrt_analysis.simulation.export import LATE, gantt, to_trace
from rclrt_analysis.trace import Trace, TraceError, read_trace, write_trace

S = 1_000_000_000


def example() -> bytes:
    """Return the example file of the specification."""
    text = (ROOT / "rclrt_trace" / "SPEC.md").read_text(encoding="utf-8")
    found = re.search(r"```hex\n(.*?)```", text, re.DOTALL)
    assert found is not None
    return bytes.fromhex(found[1].replace("\n", " "))


def test_the_example_of_the_specification_is_read_and_written_alike(tmp_path: Path) -> None:
    path = tmp_path / "example.trace"
    path.write_bytes(example())
    trace = read_trace(path)
    assert (trace.names, trace.dropped, len(trace.records)) == ({5: "/a/timer"}, 1, 1)
    record = trace.records[0]
    assert record["release_ns"] == S
    assert (record["ready_ns"] - S, record["start_ns"] - S) == (20_000, 35_000)
    assert (record["end_ns"] - S, record["deadline_ns"] - S) == (1_500_000, 10_000_000)
    assert (record["thread"], record["cpu"], record["preemptions"]) == (4242, 3, -1)
    write_trace(trace, tmp_path / "again.trace")
    assert (tmp_path / "again.trace").read_bytes() == example()


def test_a_record_cut_short_is_left_out_and_damage_is_refused(tmp_path: Path) -> None:
    path = tmp_path / "t"
    path.write_bytes(example() + b"\0" * 63)
    assert len(read_trace(path).records) == 1
    for data, message in (
        (example()[:20], "too few for a header"),
        (b"X" + example()[1:], "no trace file"),
        (example()[:8] + b"\x02" + example()[9:], "version 2"),
        (example()[:36], "names end early"),
        (example()[:45], "is damaged"),
    ):
        path.write_bytes(data)
        with pytest.raises(TraceError, match=message):
            read_trace(path)
    with pytest.raises(TraceError, match="No such file"):
        read_trace(tmp_path / "absent")


def test_what_programs_write_is_read_and_what_they_left_unfinished_is_refused(
    tmp_path: Path,
) -> None:
    program = Path(os.environ.get("RCLRT_BUILD_DIR", "/")) / "rclrt_core" / "test_trace_file"
    if not program.exists():
        pytest.skip(f"{program} has not been built")
    done = subprocess.run(
        [str(program)],
        env={**os.environ, "RCLRT_TRACES": str(tmp_path)},
        capture_output=True,
        text=True,
        timeout=60,
    )
    assert done.returncode == 0, done.stdout
    assert (tmp_path / "example.trace").read_bytes() == example()
    long = read_trace(tmp_path / "long.trace")
    assert (long.names[5], len(long.names[9]), long.dropped) == ("/a/timer", 100_000, 0)
    assert long.records["sequence"].tolist() == list(range(3001))
    for name in ("full", "no_room"):
        with pytest.raises(TraceError, match=f"{name}.trace: unfinished: its writer was killed"):
            read_trace(tmp_path / f"{name}.trace")


def test_a_simulated_run_keeps_the_order_of_times_the_format_asks_for(tmp_path: Path) -> None:
    run = simulate(shipped("autoware_reference_system"), S, seed=3)
    write_trace(to_trace(run), tmp_path / "t")
    records = read_trace(tmp_path / "t").records
    assert len(records) == len(run.jobs) > 100
    assert np.all(records["release_ns"] <= records["ready_ns"])
    assert np.all(records["ready_ns"] <= records["start_ns"])
    assert np.all(records["start_ns"] <= records["end_ns"])
    assert len(set(records["sequence"].tolist())) == len(records)


ALL_JOBS = """
import hashlib
from models import shipped
from rclrt_analysis.simulation import simulate
for name in ("autoware_reference_system", "pods_tide", "pods_micro_ros", "teper_seven_timers_80"):
    for seed in (1, 1, 2):
        jobs = simulate(shipped(name), 10**9, seed).jobs
        times = [(job.callback, job.release, job.start, job.end, job.core) for job in jobs]
        print(name, hashlib.sha256(repr(times).encode()).hexdigest())
"""


def test_the_same_seed_gives_the_same_run_in_every_process() -> None:
    runs = []
    for hashes in ("1", "2"):  # the order of sets of names differs by this
        folder = str(Path(__file__).parent)
        environment = {
            **os.environ,
            "PYTHONHASHSEED": hashes,
            "PYTHONPATH": f"{ROOT / 'rclrt_analysis' / 'src'}:{folder}",
        }
        done = subprocess.run(
            [sys.executable, "-c", ALL_JOBS],
            capture_output=True,
            text=True,
            check=True,
            timeout=100,
            env=environment,
        )
        runs.append(done.stdout.splitlines())
    assert runs[0] == runs[1]
    assert len(runs[0]) == 12
    for first, again, other in zip(runs[0][0::3], runs[0][1::3], runs[0][2::3], strict=True):
        assert first == again
        fixed = first.startswith("pods")  # Their phases are given, and nothing is lost.
        assert (first == other) == fixed


def test_a_running_system_becomes_the_model_that_it_was(tmp_path: Path) -> None:
    system = model(
        "executors: [{name: e, kind: priority_events, policy: rm}]\ncallbacks:\n"
        "  - {name: a, kind: timer, executor: e, period_ms: 10, wcet_ms: 2, publishes: [x]}\n"
        "  - {name: b, kind: subscription, executor: e, wcet_ms: 1, triggers: [x]}\n"
        "  - {name: c, kind: timer, executor: e, period_ms: 33, wcet_ms: 4}\n"
    )
    text = to_yaml(to_trace(simulate(system, S, seed=2)), "observed")
    assert text.startswith("# OBSERVED, NOT GUARANTEED: wcet_ms is the longest execution")
    assert "# Priorities, groups and CPUs are not in a trace" in text
    path = tmp_path / "model.yaml"
    path.write_text(text, encoding="utf-8")
    again = read_model(path, SCHEMA)
    assert [(c.name, c.kind, c.wcet) for c in again.callbacks] == [
        (c.name, c.kind, c.wcet) for c in system.callbacks
    ]
    assert [c.period for c in again.callbacks if c.kind is Kind.TIMER] == [10_000_000, 33_000_000]
    assert again.triggered_by(again.callback_of["b"]) == ["a"]
    assert [b.bound for b in analyse(system).callbacks] == [6_000_000, 7_000_000, 7_000_000]
    # Best cases are observed as well, but "a" may publish as soon as it begins.
    assert [b.bound for b in analyse(again).callbacks] == [6_000_000, 7_000_000, 7_000_000]


def test_a_timer_that_skipped_is_still_a_timer_and_arrivals_are_not() -> None:
    names = {0: "timer", 1: "messages", 2: "rare"}
    base = np.zeros(0, dtype=to_trace(simulate(shipped("teper_seven_timers_60"), S)).records.dtype)
    rows = []
    for i in (0, 1, 2, 4, 5, 9):
        rows.append((i * 100, 0, i * 100 + 1, i * 100 + 5, 0, 0, 0, 0, 0, 0, 0, 0))
    for i in (0, 107, 333, 500):
        rows.append((i + 60, 0, i + 61, i + 70, 0, 0, 1, 0, -1, 0, 0, 0))
    rows.append((7, 0, 8, 9, 0, 0, 2, 0, 0, 0, 0, 0))
    found = observe(Trace(names, np.array(rows, dtype=base.dtype)))
    assert [(o.name, o.timer, o.period) for o in found] == [
        ("timer", True, 100), ("messages", False, 107),
    ]  # fmt: skip
    assert found[1].preempted == 4
    assert found[1].cause == ""


def test_callbacks_of_one_name_are_told_apart_by_their_ids(tmp_path: Path) -> None:
    trace = to_trace(simulate(shipped("teper_seven_timers_60"), S))
    same = Trace(dict.fromkeys(trace.names, "node@Timer"), trace.records)
    path = tmp_path / "model.yaml"
    path.write_text(to_yaml(same, "same"), encoding="utf-8")
    assert [c.name for c in read_model(path, SCHEMA).callbacks] == [
        f"node@Timer #{i}" for i in range(7)
    ]


def test_the_picture_stands_alone() -> None:
    html = gantt(simulate(shipped("teper_seven_timers_90"), S // 4))
    assert "Imu" in html
    assert not re.search(r"<(script|link)[^>]* (src|href)=", html)


def command(*arguments: str) -> subprocess.CompletedProcess[str]:
    return subprocess.run(
        [sys.executable, "-m", "rclrt_analysis.cli", *arguments],
        capture_output=True,
        text=True,
        check=False,
        timeout=60,
        env={**os.environ, "RCLRT_SOURCE_DIR": str(ROOT)},
    )


def test_simulate_writes_a_trace_from_which_model_makes_a_model(tmp_path: Path) -> None:
    trace, page = tmp_path / "t", tmp_path / "p.html"
    done = command(
        "simulate", str(FOLDER / "teper_seven_timers_80.yaml"), "--duration", "2",
        "--trace", str(trace), "--html", str(page),
    )  # fmt: skip
    assert done.returncode == 0, done.stderr
    assert "Imu" in done.stdout
    assert "EXCEEDED" not in done.stdout
    made = command("model", str(trace))
    assert made.returncode == 0, made.stderr
    assert made.stdout.count("kind: timer") == 7
    assert command("model", str(page)).returncode == 2
    assert command("simulate", str(trace)).returncode == 2


def test_a_page_shows_as_late_only_what_has_a_deadline_of_its_own() -> None:
    for deadline, is_late in (("", False), (", deadline_ms: 4", True)):
        system = model(
            "executors: [{name: e, kind: isolated}]\n"
            "callbacks:\n"
            "  - {name: t, kind: timer, executor: e, period_ms: 20, wcet_ms: 3, deadline_ms: 6,"
            " publishes: [x], priority: 1}\n"
            "  - {name: s, kind: subscription, executor: e, wcet_ms: 5, triggers: [x],"
            f" priority: 1{deadline}}}\n"
        )
        run = simulate(system, S // 10)
        assert any(job.end > job.deadline for job in run.of("s")), "it inherits 6 ms from t"
        assert (LATE in gantt(run)) == is_late
