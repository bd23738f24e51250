# Copyright 2026 The rclrt Authors
# SPDX-License-Identifier: Apache-2.0

import json
import os
import subprocess
import sys
from dataclasses import replace
from html.parser import HTMLParser
from pathlib import Path

import pytest
from models import FOLDER, ROOT, model, shipped
from programs import rclrt
from rclrt_analysis import check
from rclrt_analysis.bounds import analyse as analysis
from rclrt_analysis.bounds.analyse import analyse
from rclrt_analysis.bounds.dag import Dag
from rclrt_analysis.bounds.threads import is_receiver, with_receivers
from rclrt_analysis.explanation import Explanation, explain
from rclrt_analysis.explanation import to_text as explanation_text
from rclrt_analysis.model import Policy, System
from rclrt_analysis.report import to_text
from rclrt_analysis.sensitivity import sensitivity
from rclrt_tools.cli import main


def test_a_reader_that_goes_early_is_no_error_and_costs_no_file(tmp_path: Path) -> None:
    model = FOLDER / "autoware_reference_system.yaml"
    page, rows = tmp_path / "page.html", tmp_path / "rows.json"
    files = ["--html", str(page), "--json", str(rows)]
    program = subprocess.Popen(
        [sys.executable, "-m", "rclrt_tools.cli", "analyze", str(model), *files],
        stdout=subprocess.PIPE,
        stderr=subprocess.PIPE,
        env={**os.environ, "RCLRT_SOURCE_DIR": str(ROOT), "PYTHONUNBUFFERED": "1"},
    )
    assert program.stdout is not None
    program.stdout.close()  # as `| head` does, at the latest before the second line
    _, errors = program.communicate(timeout=60)
    assert errors == b""
    assert program.returncode == 128 + 13
    assert page.stat().st_size > 0 and rows.stat().st_size > 0


def test_a_certificate_is_written_and_proved_by_the_checker(tmp_path: Path) -> None:
    path, written = FOLDER / "teper_seven_timers_80.yaml", tmp_path / "certificate.json"
    done = rclrt("analyze", path, "--certificate", written)
    assert done.returncode == 0, done.stderr
    checker = [sys.executable, check.__file__, path, written]  # As a file: it needs no package.
    proved = subprocess.run(checker, capture_output=True, text=True, check=True).stdout
    assert proved.startswith("PROVED: 7 bounds; without a proof: 0\n   69.071000 ms  Camera1\n")
    written.write_text(written.read_text().replace('"bound": 15833000', '"bound": 15832999'))
    refused = subprocess.run(checker, capture_output=True, text=True, check=False)
    assert refused.returncode == 1
    assert "REFUSED: 'Imu': bound is 15832999, and must be 15833000" in refused.stdout
    planned = rclrt("analyze", path, "--certificate", written, "--plan", "x.params.yaml")
    assert (planned.returncode, "leave out --plan" in planned.stderr) == (2, True)


def hot_path_first(tmp_path: Path) -> Path:
    """Return the reference system with the hot path above all else, and nothing else with it."""
    text = (FOLDER / "autoware_reference_system.yaml").read_text(encoding="utf-8")
    for name, before, after in (
        ("FrontLidarDriver", "priority: 40", "priority: 70"),
        ("RearLidarDriver", "priority: 40", "priority: 70"),
        ("VoxelGridDownsampler", "wcet_ms: 1.93", "wcet_ms: 1.93\n    priority: 40"),
    ):
        at = text.index(f"- name: {name}\n")
        text = text[:at] + text[at:].replace(before, after, 1)
    path = tmp_path / "model.yaml"
    path.write_text(text, encoding="utf-8")
    return path


def test_the_verdict_comes_first_and_is_the_exit_status(tmp_path: Path) -> None:
    met = rclrt("analyze", FOLDER / "teper_seven_timers_90.yaml")
    assert (met.returncode, met.stdout.splitlines()[0]) == (0, "MET: all 7 deadlines")
    missed = rclrt("analyze", FOLDER / "autoware_reference_system.yaml")
    assert missed.returncode == 1, missed.stderr
    assert missed.stdout.startswith("NOT MET: 2 of 9 deadlines not shown to be met\n")
    fixed = rclrt("analyze", hot_path_first(tmp_path))
    assert (fixed.returncode, fixed.stdout.splitlines()[0]) == (0, "MET: all 9 deadlines")


CHAINS = """
hot_path_front                       200.360   150.000   -50.360  latency  <- not met
    FrontLidarDriver               first     42.460
    PointsTransformerFront         triggered 1.930
    PointCloudFusion               joined    waits 100.000 + 46.320
    RayGroundFilter                triggered 5.790
    EuclideanClusterDetector       triggered 1.930
    ObjectCollisionEstimator       triggered 1.930
hot_path_front                       130.880   150.000    19.120  latency
hot_path_rear                        138.600   150.000    11.400  latency
"""


def test_a_chain_is_printed_hop_by_hop(tmp_path: Path) -> None:
    printed = rclrt("analyze", FOLDER / "autoware_reference_system.yaml").stdout
    printed += rclrt("analyze", hot_path_first(tmp_path)).stdout
    assert [line for line in CHAINS.split("\n")[1:-1] if line not in printed.splitlines()] == []


def test_the_example_of_the_models_is_one(tmp_path: Path) -> None:
    text = (FOLDER / "README.md").read_text(encoding="utf-8")
    path = tmp_path / "model.yaml"
    path.write_text(text.split("```yaml\n")[1].split("```")[0], encoding="utf-8")
    done = rclrt("analyze", path, "--slack")
    assert (done.returncode, done.stdout.splitlines()[0]) == (0, "MET: all 3 deadlines"), done


def test_a_model_that_is_wrong_exits_with_2_and_names_the_line(tmp_path: Path) -> None:
    path = tmp_path / "model.yaml"
    path.write_text("schema: 1\nname: x\nexecutors: []\n", encoding="utf-8")
    done = rclrt("analyze", path)
    assert done.returncode == 2
    assert f"{path}:3: executors" in done.stderr
    assert rclrt("analyze", tmp_path / "absent").returncode == 2
    assert rclrt("analyze").returncode == 2
    assert rclrt("analyze", "x", "--method", "guess").returncode == 2


@pytest.mark.parametrize(
    ("method", "imu", "name"),
    [("paper", 16.666, "Theorem 1"), ("exact", 15.833, "non-preemptive FP, all jobs")],
)
def test_the_file_holds_bounds_parts_and_assumptions(
    tmp_path: Path, method: str, imu: float, name: str
) -> None:
    out = tmp_path / "result.json"
    model = FOLDER / "teper_seven_timers_80.yaml"
    assert rclrt("analyze", model, "--method", method, "--json", out).returncode == 0
    result = json.loads(out.read_text(encoding="utf-8"))
    assert (result["schema"], result["met"]) == (1, True)
    callback = next(c for c in result["callbacks"] if c["name"] == "Imu")
    assert (callback["bound_ms"], callback["method"]) == (imu, name)
    assert callback["slack_ms"] == pytest.approx(30 - imu)
    assert sum(callback["parts_ms"].values()) == pytest.approx(imu)
    assert "wcet" in callback["assumptions"]
    assert {a["id"] for a in result["assumptions"]} >= set(callback["assumptions"])


class Loaded(HTMLParser):
    """Collects what a page would load from somewhere."""

    def __init__(self) -> None:
        super().__init__()
        self.found: list[str] = []

    def handle_starttag(self, tag: str, attrs: list[tuple[str, str | None]]) -> None:
        self.found += [value or "" for key, value in attrs if key in ("src", "href")]


def test_the_page_stands_alone_and_says_the_verdict(tmp_path: Path) -> None:
    out = tmp_path / "page.html"
    model = FOLDER / "autoware_reference_system.yaml"
    assert rclrt("analyze", model, "--html", out).returncode == 1
    html = out.read_text(encoding="utf-8")
    loaded = Loaded()
    loaded.feed(html)
    assert loaded.found == []
    assert '<h1 class="late">NOT MET: 2 of 9' in html
    assert "hot_path_front" in html
    assert "waits 100.000" in html


def test_margins_meet_every_deadline_and_a_little_more_does_not() -> None:
    system = shipped("teper_seven_timers_80")
    margins = sensitivity(system)
    assert margins.all_wcet == pytest.approx(1.20, abs=0.01)
    text = to_text(system, analyse(system), margins)
    assert "all execution times up to x 1.20" in text
    # One second release of the IMU and its overhead decide what a camera may take.
    assert margins.wcet["Imu"] is not None
    assert margins.wcet["Imu"] > 1_000_000
    assert margins.period["Imu"] == pytest.approx(15_833_000, rel=1e-3)


def test_margins_of_a_system_that_misses_say_by_how_much_all_must_shrink() -> None:
    margins = sensitivity(shipped("autoware_reference_system"))
    assert margins.all_wcet is not None
    assert 0.3 < margins.all_wcet < 1
    assert set(margins.wcet.values()) == {None}


@pytest.mark.parametrize(
    ("verb", "periods", "said"),
    [
        ("analyze", (0.02, 0.1, 1), "from 0.02 to 1: are these seconds"),
        ("analyze", (0.2, 0.5, 0.8), "from 0.2 to 0.8: are these seconds"),
        ("model simulate", (1e5, 2e5, 5e5), "from 100000 to 500000: are these microseconds"),
        ("analyze", (0.5, 1, 100), ""),
        ("model simulate", (20, 100, 1_000), ""),
    ],
)
def test_times_in_another_unit_are_noticed(
    verb: str, periods: tuple[float, ...], said: str, tmp_path: Path
) -> None:
    path = tmp_path / "robot.yaml"
    lines = [
        f"  - {{name: t{i}, kind: timer, executor: e, period_ms: {period}, wcet_ms: 0.001}}"
        for i, period in enumerate(periods)
    ]
    text = "schema: 1\nname: robot\nexecutors: [{name: e, kind: priority_events, policy: rm}]\n"
    path.write_text(text + "callbacks:\n" + "\n".join(lines) + "\n", encoding="utf-8")
    done = rclrt(*verb.split(), path)
    assert done.returncode == 0
    assert (f"{path}: warning: period_ms is {said}" in done.stderr) if said else not done.stderr


MIDDLEWARE = """overheads: {receive_ms: 0.2}
executors:
  - {name: a, kind: preemptive, policy: rm, cores: [0]}
  - {name: b, kind: preemptive, policy: rm, cores: [0]}
callbacks:
  - {name: t1, kind: timer, executor: a, period_ms: 5, wcet_ms: 0.3, publishes: [x]}
  - {name: t0, kind: timer, executor: a, period_ms: 10, wcet_ms: 0.7}
  - {name: s0, kind: subscription, executor: b, wcet_ms: 0.175, triggers: [x]}
"""
NO_WORK = """executors: [{name: e, kind: isolated, cores: [0, 1]}]
callbacks:
  - {name: a, kind: timer, executor: e, period_ms: 10, wcet_ms: 5, priority: 90}
  - {name: b, kind: timer, executor: e, period_ms: 10, wcet_ms: 5, priority: 80}
  - {name: c, kind: timer, executor: e, period_ms: 10, wcet_ms: 0, priority: 10}
"""


def receivers_under_rm(system: System) -> System:
    made = with_receivers(system)
    below = {callback.executor for callback in made.callbacks if is_receiver(callback)}
    return replace(
        made,
        executors=tuple(
            replace(e, policy=Policy.RM) if e.name in below else e for e in made.executors
        ),
    )


@pytest.mark.parametrize(
    ("text", "line", "where", "fault"),
    [
        (MIDDLEWARE, "t0 1.200 1.200 0", (analysis, "with_receivers"), receivers_under_rm),
        (NO_WORK, "c 5.000 5.000 0", (Dag, "with_work"), property(lambda self: self)),
    ],
)
def test_the_verb_finds_a_bound_that_is_too_low(
    text: str,
    line: str,
    where: tuple[object, str],
    fault: object,
    tmp_path: Path,
    monkeypatch: pytest.MonkeyPatch,
    capsys: pytest.CaptureFixture[str],
) -> None:
    monkeypatch.setenv("RCLRT_SOURCE_DIR", str(ROOT))
    path = tmp_path / "robot.yaml"
    path.write_text(f"schema: 1\nname: robot\n{text}", encoding="utf-8")
    said = []
    for _ in range(2):  # One seed gives the same phases.
        assert main(["model", "simulate", str(path)]) == 0
        said.append(capsys.readouterr().out)
    assert said[0] == said[1]
    assert "201 phases tried" in said[0]
    assert line in [" ".join(one.split()) for one in said[0].splitlines()]
    monkeypatch.setattr(*where, fault)
    assert main(["model", "simulate", str(path)]) == 1
    assert "EXCEEDED" in capsys.readouterr().out


@pytest.mark.parametrize(
    ("overruns", "line"), [("keep_latest", "b 16.000 - 571"), ("queue_all", "b 5716.000 - 0")]
)
def test_a_simulation_has_one_rule_for_a_release_that_finds_another_waiting(
    overruns: str, line: str, tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    path = tmp_path / "robot.yaml"
    path.write_text(
        "schema: 1\nname: robot\nexecutors: [{name: e, kind: priority_events}]\ncallbacks:\n"
        + "".join(
            f"  - {{name: {name}, kind: timer, executor: e, priority: {priority}, period_ms: 10,"
            " offset_ms: 0, wcet_ms: 7}\n"
            for name, priority in (("a", 2), ("b", 1))
        ),
        encoding="utf-8",
    )
    assert main(["model", "simulate", str(path), "--overruns", overruns]) == 0
    shown = capsys.readouterr().out
    assert line in [" ".join(one.split()) for one in shown.splitlines()], shown


MS = 1_000_000
ROBOT = """executors:
  - {name: main, kind: isolated, cores: [0]}
  - {name: old, kind: wait_set_single, cores: [1]}
callbacks:
  - {name: camera, kind: timer, executor: main, priority: 20, period_ms: 50, wcet_ms: 3, group: g, publishes: [image]}
  - {name: detect, kind: subscription, executor: main, priority: 20, wcet_ms: 12, triggers: [image], publishes: [objects]}
  - {name: steer, kind: timer, executor: main, priority: 10, period_ms: 20, wcet_ms: 2, reads: [objects], publishes: [cmd]}
  - {name: drive, kind: subscription, executor: old, wcet_ms: 1, triggers: [cmd]}
  - {name: urgent, kind: timer, executor: main, priority: 30, period_ms: 40, wcet_ms: 1}
  - {name: log, kind: timer, executor: main, priority: 1, period_ms: 200, wcet_ms: 9, group: g}
  - {name: show, kind: timer, executor: old, period_ms: 100, wcet_ms: 4}
  - {name: idle, kind: timer, executor: main, priority: 1, period_ms: 500, wcet_ms: 8}
chains:
  - {name: see, callbacks: [camera, detect, steer, drive], deadline_ms: 120}
"""  # noqa: E501


@pytest.fixture(scope="module")
def robot() -> tuple[System, Explanation]:
    system = model(ROBOT)
    return system, explain(system, "see")


def test_the_shares_of_the_hops_are_the_bound(robot: tuple[System, Explanation]) -> None:
    system, explained = robot
    total = sum(part.hop.waiting + part.hop.response for part in explained.hops)
    assert total == explained.bound.bound == analyse(system).chains[0].bound
    assert sum(part.share for part in explained.hops) == pytest.approx(1)
    waits = {part.callback.name: part.waits_for for part in explained.hops if part.waits_for}
    assert waits == {
        "camera": "its next job: the event comes just after it has looked, a period before",
        "steer": "its next release: nothing wakes it when the message comes",
    }


def test_what_is_waited_for_is_named_with_the_reason(robot: tuple[System, Explanation]) -> None:
    system, explained = robot
    whys = {rival.callback: rival.why for rival in explained.rivals}
    assert whys["urgent"] == "on CPU 0, more urgent: 30, the chain 10"
    assert whys["log"] == "in the group of 'camera': one at a time"
    assert whys["show"] == "in the same executor, which goes by no priority (wait_set_single)"
    assert "idle" not in whys, "less urgent, and preempted"
    for rival in explained.rivals:
        without = analyse(system.but(rival.callback, wcet=0, bcet=0)).chains[0].bound
        assert without is not None
        assert rival.less == (explained.bound.bound or 0) - without


def test_what_would_help_does_by_what_it_says(robot: tuple[System, Explanation]) -> None:
    _, explained = robot
    helps = {one.text: one for one in explained.helps}
    for one in explained.helps:
        assert analyse(one.system).chains[0].bound == one.bound
        assert one.bound < (explained.bound.bound or 0)
    assert "give 'camera' a callback group of its own" in helps
    assert "let the message on objects release 'steer', not a timer" in helps
    assert "release 'camera' twice as often" in helps
    assert "give the chain's threads a CPU of their own" in helps
    assert explained.late == 2
    bounds = [one.bound for one in explained.helps if not one.late]
    assert bounds == sorted(bounds)


def test_what_is_stated_longer_than_it_may_be_is_among_what_would_help() -> None:
    late = ROBOT.replace("priority: 30", "priority: 30, jitter_ms: 39")
    explained = explain(model(late + "overheads: {transport_ms: 2, wake_ms: 1}\n"), "see")
    helps = {one.text: one.bound for one in explained.helps}
    assert "release 'urgent' on time: jitter_ms 39.000" in helps
    assert "halve transport_ms, 2.000 in the model: is it so on this machine?" in helps
    assert "halve wake_ms, 1.000 in the model: is it so on this machine?" in helps
    assert "say publishes_after_ms and bcet_ms of 'camera': at best, all at its end" in helps, helps
    assert not any("late_ms" in text for text in helps), "it is not in the model"


def test_the_other_input_of_a_join_is_what_its_wait_is_about() -> None:
    system = shipped("autoware_reference_system")
    explained = explain(system, "hot_path_front")
    text = explanation_text(explained)
    assert "hot_path_front: latency 200.360 of 150.000 ms: not met" in text
    assert "until a message on PointsTransformerRear" in text
    assert any(one.text == "release 'RearLidarDriver' twice as often" for one in explained.helps)


def test_a_chain_without_a_bound_says_why() -> None:
    system = model(ROBOT.replace("wcet_ms: 4", "wcet_ms: 100"))
    assert "see: reaction has no bound: " in explanation_text(explain(system, "see"))


def test_the_command_explains_and_writes_json(tmp_path: Path) -> None:
    out = tmp_path / "why.json"
    path = FOLDER / "autoware_reference_system.yaml"
    done = rclrt("model", "explain", path, "hot_path_rear", "--json", out)
    assert done.returncode == 1
    content = json.loads(out.read_text(encoding="utf-8"))
    assert content["bound_ms"] == 211.94
    assert sum(hop["share"] for hop in content["hops"]) == pytest.approx(1, abs=1e-5)
    assert content["would_help"][0]["bound_ms"] < 211.94
    wrong = rclrt("model", "explain", path, "hot_path_fron")
    assert wrong.returncode == 2
    assert "there is no chain 'hot_path_fron' in this model. Did you mean" in wrong.stderr


def test_what_a_model_leaves_open_is_planned_first(tmp_path: Path) -> None:
    path = tmp_path / "robot.yaml"
    text = ROBOT.replace("kind: isolated, cores: [0]", "kind: open")
    path.write_text(f"schema: 1\nname: r\n{text}", encoding="utf-8")
    done = rclrt("model", "explain", path, "see")
    assert done.returncode == 1, "no priorities help against that group"
    assert "explained under a plan that is made now" in done.stderr
