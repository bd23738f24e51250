# Copyright 2026 The rclrt Authors
# SPDX-License-Identifier: Apache-2.0
"""What `./rclrt trace advise` predicts of the reference system, against a run with its file."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

import yaml
from rclrt_tools.observe.advice import advise, parameters
from rclrt_tools.reference.environment import BackgroundLoad

from rclrt_benchmarks.contract.judged import Judged
from rclrt_benchmarks.contract.models import MARGIN_NS, traces_of
from rclrt_benchmarks.contract.robot import Robot, schema
from rclrt_benchmarks.contract.setting import Outcome, Setting, beside_load, judged
from rclrt_benchmarks.contract.system import SCENARIO
from rclrt_benchmarks.harness.frame import source

KIND = "preemptive"
FACTOR = 1.2
"""Of execution times."""


@dataclass
class Trial:
    """The prediction and what came of it.

    Attributes
    ----------
    unbounded
        Callbacks without a bound.
    joins
        Callbacks that were above: inputs of nodes that work when the last of several has come. A
        trace does not show that another one may be the last.
    """

    callbacks: int
    unbounded: list[str]
    joins: list[str]
    outcome: Outcome


def tried(setting: Setting, cpus: Sequence[int]) -> Trial:
    """Observe the reference system under a wait set, ask for advice, and take it."""
    scenario = source() / SCENARIO
    robot, effort = Robot(setting.interrupt, scenario, cpus), setting.effort
    traces = setting.folder / "advised"
    with BackgroundLoad(set(cpus), effort.load):
        robot.observe("wait_set_multi", effort.seconds, traces)
    costs = setting.overheads
    advice = advise(traces_of(traces), schema(), KIND, cpus[:1], costs, FACTOR, MARGIN_NS)
    file = traces / "rclrt.yaml"
    file.write_text(parameters(advice), encoding="utf-8")
    watch, stalls, strangers = beside_load(robot, Judged(advice.chosen.system), effort, KIND, file)
    nodes = yaml.safe_load(scenario.read_text(encoding="utf-8"))["nodes"]
    inputs = {
        f"/{node['name']}/subscription/{name}"
        for node in nodes
        if node["kind"] == "fusion"
        for name in node["inputs"]
    }
    late = watch.take_late(inputs)
    return Trial(
        len(advice.chosen.system.callbacks),
        [one.name for one in advice.chosen.result.callbacks if one.bound is None],
        sorted({one.name for one in late if one.is_above_bound()}),
        judged(watch, stalls, strangers),
    )
