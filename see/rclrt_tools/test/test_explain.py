# Copyright 2026 The rclrt Authors
# SPDX-License-Identifier: Apache-2.0
"""./rclrt model explain: every number is a difference of bounds."""

from __future__ import annotations

import json
import subprocess
import sys
from dataclasses import replace
from pathlib import Path

import pytest
from models import FOLDER, model, shipped
from rclrt_analysis.bounds.analyse import analyse
from rclrt_analysis.explanation import Explanation, explain
from rclrt_analysis.explanation_text import to_text
from rclrt_analysis.model import System

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
        callbacks = tuple(
            replace(c, wcet=0, bcet=0) if c.name == rival.callback else c for c in system.callbacks
        )
        without = analyse(replace(system, callbacks=callbacks)).chains[0].bound
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


def test_the_other_input_of_a_join_is_what_its_wait_is_about() -> None:
    system = shipped("autoware_reference_system")
    explained = explain(system, "hot_path_front")
    text = to_text(explained)
    assert "hot_path_front: latency 200.360 of 150.000 ms: not met" in text
    assert "until a message on PointsTransformerRear" in text
    assert any(one.text == "release 'RearLidarDriver' twice as often" for one in explained.helps)


def test_a_chain_without_a_bound_says_why() -> None:
    system = model(ROBOT.replace("wcet_ms: 4", "wcet_ms: 100"))
    assert "see: reaction has no bound: " in to_text(explain(system, "see"))


def command(*arguments: str | Path) -> subprocess.CompletedProcess[str]:
    whole = [sys.executable, "-m", "rclrt_tools.cli", "model", "explain", *map(str, arguments)]
    return subprocess.run(whole, capture_output=True, text=True, check=False, timeout=120)


def test_the_command_explains_and_writes_json(tmp_path: Path) -> None:
    out = tmp_path / "why.json"
    path = FOLDER / "autoware_reference_system.yaml"
    done = command(path, "hot_path_rear", "--json", out)
    assert done.returncode == 1
    content = json.loads(out.read_text(encoding="utf-8"))
    assert content["bound_ms"] == 211.94
    assert sum(hop["share"] for hop in content["hops"]) == pytest.approx(1, abs=1e-5)
    assert content["would_help"][0]["bound_ms"] < 211.94
    wrong = command(path, "hot_path_fron")
    assert wrong.returncode == 2
    assert "there is no chain 'hot_path_fron' in this model. Did you mean" in wrong.stderr


def test_what_a_model_leaves_open_is_planned_first(tmp_path: Path) -> None:
    path = tmp_path / "robot.yaml"
    text = ROBOT.replace("kind: isolated, cores: [0]", "kind: open")
    path.write_text(f"schema: 1\nname: r\n{text}", encoding="utf-8")
    done = command(path, "see")
    assert done.returncode == 1, "no priorities help against that group"
    assert "explained under a plan that is made now" in done.stderr
