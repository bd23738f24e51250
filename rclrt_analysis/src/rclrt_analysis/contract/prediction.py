# Copyright 2026 The rclrt Authors
# SPDX-License-Identifier: Apache-2.0
"""What `./rclrt advise` predicts of the reference system, held against a run with its file."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import yaml

from rclrt_analysis.contract.judged import Judged, Verdict, judge
from rclrt_analysis.contract.machine import Stalls
from rclrt_analysis.contract.models import MARGIN_NS, traces_of
from rclrt_analysis.contract.robot import Robot, schema, source
from rclrt_analysis.contract.system import SCENARIO, Effort
from rclrt_analysis.observe.advice import advise, parameters
from rclrt_analysis.reference.load import BackgroundLoad
from rclrt_analysis.reference.program import Interrupt

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
    verdict: Verdict
    joins: list[str]
    broken: list[str]
    stall_ms: float


def tried(
    interrupt: Interrupt,
    cpus: Sequence[int],
    effort: Effort,
    overheads: Mapping[str, Any],
    folder: Path,
) -> Trial:
    """Observe the reference system under a wait set, ask for advice, and take it."""
    scenario = source() / SCENARIO
    robot = Robot(interrupt, scenario, cpus)
    traces = folder / "advised"
    with BackgroundLoad(set(cpus), effort.load):
        robot.observe("waitset_multi", effort.seconds, traces)
    advice = advise(traces_of(traces), schema(), KIND, None, overheads, FACTOR, MARGIN_NS)
    file = traces / "rclrt.yaml"
    file.write_text(parameters(advice), encoding="utf-8")
    watch, stalls = Judged(advice.system), Stalls(cpus)
    with stalls, BackgroundLoad(set(cpus), effort.load):
        robot.watched(watch, KIND, effort.seconds, "--config", str(file))
    nodes = yaml.safe_load(scenario.read_text(encoding="utf-8"))["nodes"]
    inputs = {
        f"/{node['name']}/subscription/{name}"
        for node in nodes
        if node["kind"] == "fusion"
        for name in node["inputs"]
    }
    late = watch.take_late(inputs)
    said = watch.to_json()["broken_assumptions"]
    return Trial(
        len(advice.system.callbacks),
        [one.name for one in advice.result.callbacks if one.bound is None],
        judge(watch, stalls),
        sorted({one.name for one in late if one.is_above_bound()}),
        [f"'{one['callback']}' {one['text']}" for one in said],
        stalls.longest_ms,
    )
