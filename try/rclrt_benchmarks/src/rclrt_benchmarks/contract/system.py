# Copyright 2026 The rclrt Authors
# SPDX-License-Identifier: Apache-2.0
"""The reference system: what it misses under wait sets, and under the plan made from that.

And what `./rclrt trace advise` predicts of it, against a run with its file.
"""

from collections.abc import Sequence
from dataclasses import dataclass
from pathlib import Path

import yaml
from rclrt_analysis.model import model_schema
from rclrt_benchmarks.contract.judged import Judged
from rclrt_benchmarks.contract.models import MARGIN_NS, Chain, model_of, traces_of
from rclrt_benchmarks.contract.robot import (
    Outcome,
    Robot,
    Setting,
    beside_load,
    enforced,
    judged,
    plan,
)
from rclrt_benchmarks.harness.frame import source
from rclrt_tools.observe.advice import advise, parameters
from rclrt_tools.reference.environment import BackgroundLoad
from rclrt_tools.watch.sources import watch_files
from rclrt_tools.watch.watch import Watch

SCENARIO = Path("try/rclrt_scenarios") / "autoware_reference_system.yaml"


def _lidar(side: str) -> tuple[str, ...]:
    return (
        f"/{side}LidarDriver/timer/100ms",
        f"/PointsTransformer{side}/subscription/{side}LidarDriver",
        "/PointCloudFusion",
        "/RayGroundFilter/subscription/PointCloudFusion",
        "/EuclideanClusterDetector/subscription/RayGroundFilter",
        "/ObjectCollisionEstimator/subscription/EuclideanClusterDetector",
    )


CHAINS = (
    Chain("front_lidar", _lidar("Front"), 100),
    Chain("rear_lidar", _lidar("Rear"), 100),
    Chain(
        "settings",
        (
            "/EuclideanClusterSettings/timer/25ms",
            "/EuclideanClusterDetector/subscription/EuclideanClusterSettings",
            "/IntersectionOutput/subscription/EuclideanIntersection",
        ),
        25,
    ),
)
"""The LiDAR whose data come last counts, so the chain of the other one may never be seen."""


@dataclass
class Row:
    """What was seen of a chain or a timer in a run."""

    cpus: str
    run: str
    name: str
    deadline_ms: float
    bound_ms: float | None
    count: int
    misses: int
    worst_ms: float | None


def loop(setting: Setting, cpus: Sequence[int]) -> tuple[list[Row], Outcome]:
    """Observe the reference system, plan it, run it under the plan, and watch."""
    scenario = source() / SCENARIO
    robot, effort, folder = Robot(setting.interrupt, scenario, cpus), setting.effort, setting.folder
    executor = "wait_set_multi" if len(cpus) > 1 else "wait_set_single"
    traces = folder / f"observed-{len(cpus)}"
    with BackgroundLoad(set(cpus), effort.load):
        robot.observe(executor, effort.seconds, traces)
    nodes = yaml.safe_load(scenario.read_text(encoding="utf-8"))["nodes"]
    fusions = [node for node in nodes if node["kind"] == "fusion"]
    model, path = folder / f"robot-{len(cpus)}.yaml", folder / f"plan-{len(cpus)}.yaml"
    text = model_of(traces, CHAINS, setting.overheads, cpus, fusions=fusions)
    model.write_text(text, encoding="utf-8")
    plan(model, path, effort.plan_seconds, effort.quick)
    chosen = enforced(model, path)
    where = ",".join(map(str, cpus))
    before = Watch(chosen.system)
    watch_files(before, [traces])
    run = beside_load(robot, Judged(chosen.system), effort, chosen.executor, path)
    return [*_rows(before, where, executor), *_rows(run[0], where, "plan")], judged(*run)


def _rows(watch: Watch, cpus: str, run: str) -> list[Row]:
    content = watch.to_json()
    rows = []
    for one in content["chains"]:
        rows.append(
            Row(
                cpus, run, one["name"], one["deadline_ms"], one["bound_ms"], one["count"],
                one["misses"], one["worst_ms"],
            )
        )  # fmt: skip
    for one in content["callbacks"]:
        if one["deadline_ms"] is not None:
            rows.append(
                Row(
                    cpus, run, one["name"], one["deadline_ms"], one["bound_ms"],
                    one["jobs"] + one["not_run"], one["misses"] + one["not_run"], one["worst_ms"],
                )
            )  # fmt: skip
    return rows


KIND = "preemptive"
FACTOR = 1.2
"""Execution times grow so."""


@dataclass
class Trial:
    """The prediction and what came of it.

    unbounded: Callbacks without a bound.
    joins: Callbacks that were above: inputs of nodes that work when the last of several has come. A
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
    advice = advise(traces_of(traces), model_schema(), KIND, cpus[:1], costs, FACTOR, MARGIN_NS)
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
