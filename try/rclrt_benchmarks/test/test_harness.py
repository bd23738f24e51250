# Copyright 2026 The rclrt Authors
# SPDX-License-Identifier: Apache-2.0
"""Experiments in turn: what is judged, refused and compared; the report of all, and its figures."""

import re
import sys
import time
from collections.abc import Mapping
from pathlib import Path
from typing import Any
from xml.etree import ElementTree

import pytest
from rclrt_analysis.plots import Plot, draw, picture
from rclrt_benchmarks.harness import run
from rclrt_benchmarks.harness.catalogue import experiments
from rclrt_benchmarks.harness.page import best, make_page, worst
from rclrt_benchmarks.harness.row import (
    EFFORTS,
    FAILS,
    HOLDS,
    OPEN,
    TRY,
    Experiment,
    Judged,
    Machine,
    Row,
    Run,
    at_most,
    open_row,
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
        assert one_of_them.commands[TRY][0] in ("bench", "demo")


def test_an_interrupt_leaves_out_the_rest(monkeypatch: pytest.MonkeyPatch) -> None:
    def interrupted(*_: object) -> None:
        raise KeyboardInterrupt

    monkeypatch.setattr(run, "_start", interrupted)
    runs = run.conduct(experiments()[-2:], "try", HERE, lambda _: None)
    assert [one_run.not_run for one_run in runs] == ["interrupted"] * 2
    assert all(row.why == "interrupted" for one_run in runs for row in one_run.rows)


HOSTILE = "</script><img src=x onerror=alert(1)>"


def experiment(name: str) -> Experiment:
    none = dict.fromkeys(EFFORTS, ())
    return Experiment(
        name, "[X Fig. 1]", "a title", none, dict.fromkeys(EFFORTS, 1.0), lambda *_: Judged([])
    )


def rows(name: str, *ratios: float) -> list[Row]:
    found = [
        at_most(f"r{i}", ratio, 1.0, shape="below 1", printed=0.5) for i, ratio in enumerate(ratios)
    ]
    for row in found:
        row.experiment = name
    return found


def runs() -> list[Run]:
    plots = [
        Plot(HOSTILE, "us", {HOSTILE: [1.0, 2.0, 50.0], "b": [3.0]}, {"paper's p99": 40.0}),
        Plot("growth", "ms", {"a": [1.0, 2.0]}, xs=[1.0, 5.0], x_name="chains"),
    ]
    found = []
    for name, ratios in {"a": (0.5, 0.9), "b": (0.25,), "c": (2.0,), "d": (0.99,)}.items():
        run = Run(experiment(name), ["./rclrt", "bench", name], said=HOSTILE, result={"x": HOSTILE})
        run.rows = rows(name, *ratios)
        run.plots = plots
        found.append(run)
    left = Run(experiment("e"), not_run="no SCHED_FIFO")
    left.rows = [open_row("e", "-", "-", "no SCHED_FIFO")]
    left.rows[0].experiment = "e"
    return [*found, left]


PAGE = make_page(runs(), {"CPU": HOSTILE, "load": "0.1"}, "./rclrt bench all")


def part(name: str) -> str:
    """Return the text of the element with that id, up to the next one with an id."""
    return PAGE.partition(f'id="{name}"')[2].partition(' id="')[0]


def test_the_widest_margins_and_what_fails_come_first_one_of_each_experiment() -> None:
    every = [row for run in runs() for row in run.rows]
    assert [row.experiment for row in best(every)] == ["b", "a", "d"]
    assert [row.experiment for row in worst(every)] == ["c", "a"]
    assert worst(every)[1].name == "r1", "what is among the best is not among the worst"


def test_the_page_begins_with_the_best_and_the_worst_and_says_where_a_paper_is_ahead() -> None:
    assert (part("best").count("<li"), part("worst").count("<li")) == (3, 2)
    assert PAGE.index('id="best"') < PAGE.index('id="worst"') < PAGE.index('id="a"')
    assert "4 hold, 1 do not, 1 could not be judged here" in PAGE
    assert "0.50 in the paper, 0.90 here" in part("ahead")
    assert "no SCHED_FIFO" in part("e")


def test_every_figure_is_drawn_and_nothing_that_programs_said_is_run() -> None:
    assert PAGE.count("<svg") == 8
    assert len(re.findall('<polyline class="curve"', part("a"))) == 3
    assert part("a").count('<line class="paper"') == 2, "in the figure and in its legend"
    assert HOSTILE not in PAGE
    assert "<img" not in PAGE
    assert "src=" not in re.sub("&lt;img src=x", "", PAGE), "nothing is loaded"
    assert "onerror" in part("a"), "it is shown, escaped"


@pytest.mark.parametrize(
    "values",
    [[], [0.0], [5.0, 5.0], [-3.0, 0.0, 4.0], [1e-9, 1e9], [0.0] * 300, [1.0, 31.0]],
)
def test_a_figure_of_any_values_lies_within_its_frame(values: list[float]) -> None:
    drawn = ElementTree.fromstring(draw(Plot("t", "us", {"a": values}, {"paper": 2.0})))
    for line in drawn.iter("{http://www.w3.org/2000/svg}polyline"):
        for pair in line.attrib["points"].split():
            x, y = map(float, pair.split(","))
            assert 0 <= x <= 660
            assert 0 <= y <= 300


def test_a_figure_as_a_file_is_whole_and_says_where_it_was_measured() -> None:
    plot = Plot(HOSTILE, "us", {HOSTILE: [1.0, 2.0]}, {"paper's p99": 1.5})
    drawn = ElementTree.fromstring(picture(plot, f"CPU {HOSTILE}"))
    texts = [element.text for element in drawn.iter("{http://www.w3.org/2000/svg}text")]
    assert f"CPU {HOSTILE}" in texts
    assert next(drawn.iter("{http://www.w3.org/2000/svg}style")).text
