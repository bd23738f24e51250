# Copyright 2026 The rclrt Authors
# SPDX-License-Identifier: Apache-2.0
"""Experiments in turn: what is judged, what is refused, what is compared."""

from __future__ import annotations

import sys
import time
from collections.abc import Mapping
from pathlib import Path
from typing import Any

import pytest
from rclrt_benchmarks.harness import experiment, run
from rclrt_benchmarks.harness.catalogue import experiments
from rclrt_benchmarks.harness.experiment import EFFORTS, Experiment, Run
from rclrt_benchmarks.harness.row import (
    FAILS,
    HOLDS,
    OPEN,
    Judged,
    Machine,
    Row,
    at_most,
    stated,
)

HERE = Machine(cpus=2, realtime=True, rclcpp=False, cyclictest=False, why_no_vm="no qemu")


def rows_of(result: Mapping[str, Any], _: Machine) -> Judged:
    return Judged([at_most("ratio", result["ratio"], 1.0, shape="below", printed=0.5)])


def one(
    program: str, monkeypatch: pytest.MonkeyPatch, limit_s: float = 30.0, judge: Any = rows_of,
) -> tuple[Experiment, list[Run]]:  # fmt: skip
    """Run an experiment whose command is this Python text; its last argument is the file."""
    monkeypatch.setattr(run.cli, "command", lambda *words: [sys.executable, "-c", program, *words])
    command = dict.fromkeys(EFFORTS, ("bench", "made-up"))
    made_up = Experiment(
        "made-up", "[X]", "an experiment", command, dict.fromkeys(EFFORTS, limit_s), judge
    )
    return made_up, run.conduct([made_up], "short", HERE, lambda _: None)


WRITES = "import sys, json; open(sys.argv[-1], 'w').write(json.dumps({'ratio': 0.8}))"


@pytest.fixture
def quiet(monkeypatch: pytest.MonkeyPatch) -> None:
    """Make others take nothing of the CPUs."""
    monkeypatch.setattr(run.environment, "busy_cpu_s", lambda: 0.0)
    monkeypatch.setattr(run.environment, "own_cpu_s", lambda: 0.0)


@pytest.mark.usefixtures("quiet")
def test_a_result_is_judged_and_a_paper_that_is_ahead_is_said(
    monkeypatch: pytest.MonkeyPatch, tmp_path: Path
) -> None:
    _, (done,) = one(WRITES, monkeypatch)
    (row,) = done.rows
    assert (row.verdict, row.experiment, row.source) == (HOLDS, "made-up", "[X]")
    assert row.margin == pytest.approx(1.25)
    assert row.ahead == "0.50 in the paper, 0.80 here"
    assert done.command == ["./rclrt", "bench", "made-up"]


@pytest.mark.usefixtures("quiet")
def test_an_experiment_that_misses_its_own_target_is_judged_all_the_same(
    monkeypatch: pytest.MonkeyPatch, tmp_path: Path
) -> None:
    _, (done,) = one(f"{WRITES}; sys.exit(1)", monkeypatch)
    assert [row.verdict for row in done.rows] == [HOLDS]


@pytest.mark.parametrize(
    ("program", "said"),
    [
        ("raise SystemExit('no such thing')", "failed with status 1: no such thing"),
        ("import sys; open(sys.argv[-1], 'w').write('no JSON')", "failed with status 0"),
        (WRITES.replace("ratio", "other"), "not as expected: KeyError"),
        (WRITES.replace("0.8", "None"), "too few samples"),
    ],
)
@pytest.mark.usefixtures("quiet")
def test_what_cannot_be_judged_says_why(
    program: str, said: str, monkeypatch: pytest.MonkeyPatch, tmp_path: Path
) -> None:
    _, (done,) = one(program, monkeypatch)
    assert [row.verdict for row in done.rows] == [OPEN]
    assert said in done.rows[0].why


def test_one_that_does_not_end_is_ended_with_all_that_it_has_started(
    monkeypatch: pytest.MonkeyPatch, tmp_path: Path
) -> None:
    child = tmp_path / "child"
    program = (
        "import subprocess, time, sys, signal; signal.signal(signal.SIGTERM, signal.SIG_IGN)\n"
        f"one = subprocess.Popen(['sleep', '600']); open({str(child)!r}, 'w').write(str(one.pid))\n"
        "time.sleep(600)"
    )
    monkeypatch.setattr(run, "PATIENCE_S", 0.2)
    _, (done,) = one(program, monkeypatch, limit_s=2.0)
    assert done.rows[0].why == "ended after 2 s"
    pid = int(child.read_text(encoding="utf-8"))
    end = time.monotonic() + 20
    while Path(f"/proc/{pid}").exists() and time.monotonic() < end:
        if "Z" in Path(f"/proc/{pid}/stat").read_text(encoding="utf-8").split()[2:3]:
            break
        time.sleep(0.05)
    else:
        assert not Path(f"/proc/{pid}").exists()


def judged_row(
    effort: str, others: float, *, timed: bool = True, holds: bool = True, realtime: bool = False
) -> Row:
    def judge(_: Mapping[str, Any], __: Machine) -> Judged:
        return Judged([stated("a", "b", "c", "d", holds, timed=timed, margin=2.0)])

    none = dict.fromkeys(EFFORTS, ())
    limits = dict.fromkeys(EFFORTS, 1.0)
    made_up = Experiment("made-up", "", "", none, limits, judge, is_realtime=realtime)
    ran = Run(made_up, result={}, others_cpus=others)
    run.judge(ran, effort, HERE)
    return ran.rows[0]


def test_nothing_timed_is_judged_beside_other_programs_or_when_only_tried() -> None:
    assert judged_row("short", 0.19).verdict == HOLDS
    busy = judged_row("short", 0.21)
    assert busy.verdict == OPEN
    assert busy.margin is None
    assert busy.why == "other programs kept 0.2 of 2 CPUs busy meanwhile; by itself it holds"
    assert judged_row("try", 0.0).verdict == OPEN
    assert judged_row("try", 2.0, timed=False).verdict == HOLDS


def test_what_holds_in_real_time_holds_beside_ordinary_programs_and_a_failure_may_be_theirs() -> (
    None
):
    assert judged_row("short", 2.0, realtime=True).verdict == HOLDS
    assert judged_row("short", 2.0, realtime=True, holds=False).verdict == OPEN
    assert judged_row("short", 0.0, realtime=True, holds=False).verdict == FAILS
    assert judged_row("try", 0.0, realtime=True).verdict == OPEN


def test_two_experiments_with_one_command_run_once(monkeypatch: pytest.MonkeyPatch) -> None:
    started = []

    def start(one_run: Run, _: str) -> None:
        started.append(one_run.experiment.name)
        one_run.result = {"ratio": 0.8}

    monkeypatch.setattr(run, "_start", start)
    same = dict.fromkeys(EFFORTS, ("bench", "same"))
    limits = dict.fromkeys(EFFORTS, 1.0)
    both = [Experiment(name, "", "", same, limits, rows_of) for name in ("a", "b")]
    runs = run.conduct(both, "short", HERE, lambda _: None)
    assert started == ["a"]
    assert [[row.experiment for row in one_run.rows] for one_run in runs] == [["a"], ["b"]]


def test_what_a_machine_lacks_is_the_reason_of_each_that_needs_it() -> None:
    bare = Machine(cpus=1, realtime=False, rclcpp=False, cyclictest=False, why_no_vm="no qemu")
    left_out = {one.name: one.why_not(bare) for one in experiments() if one.why_not(bare)}
    assert "SCHED_FIFO is not permitted" in left_out["dispatch"]
    assert "waters" not in left_out
    one_cpu = Machine(1, True, False, False, "no qemu")
    found = {one.name: one.why_not(one_cpu) for one in experiments()}
    assert found["autoware"] == "there is one CPU; it needs two"
    ran = Run(experiments()[0], not_run="there is no such thing")
    run.judge(ran, "short", bare)
    assert [(row.verdict, row.why) for row in ran.rows] == [(OPEN, "there is no such thing")]


def test_every_experiment_has_a_command_and_a_limit_for_every_effort() -> None:
    for one_of_them in experiments():
        assert set(one_of_them.commands) == set(one_of_them.limit_s) == set(EFFORTS)
        assert one_of_them.commands[experiment.TRY][0] in ("bench", "demo")


def test_an_interrupt_leaves_out_the_rest(monkeypatch: pytest.MonkeyPatch) -> None:
    def interrupted(*_: object) -> None:
        raise KeyboardInterrupt

    monkeypatch.setattr(run, "_start", interrupted)
    runs = run.conduct(experiments()[-2:], "try", HERE, lambda _: None)
    assert [one_run.not_run for one_run in runs] == ["interrupted"] * 2
    assert all(row.why == "interrupted" for one_run in runs for row in one_run.rows)
