# Copyright 2026 The rclrt Authors
# SPDX-License-Identifier: Apache-2.0
"""The reference system: what it misses under wait sets, and what under the plan made from that."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import yaml

from rclrt_analysis.contract.judged import Judged, Verdict, judge
from rclrt_analysis.contract.machine import Stalls
from rclrt_analysis.contract.models import Chain, model_of
from rclrt_analysis.contract.robot import Robot, enforced, plan, source
from rclrt_analysis.reference.load import BackgroundLoad
from rclrt_analysis.reference.program import Interrupt
from rclrt_analysis.watch.sources import watch_files
from rclrt_analysis.watch.watch import Watch

SCENARIO = Path("rclrt_scenarios") / "autoware_reference_system.yaml"


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
"""Of the LiDARs the one whose data come last counts, so one of the two may never be seen."""


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


@dataclass
class Loop:
    """The loop on some CPUs.

    Attributes
    ----------
    broken
        What the watch has said of the plan's assumptions.
    stall_ms
        For how long at most the machine itself was away.
    """

    rows: list[Row]
    verdict: Verdict
    broken: list[str]
    stall_ms: float


@dataclass(frozen=True)
class Effort:
    """How long runs are, in s, and how many busy programs there are on each CPU beside them.

    Attributes
    ----------
    quick
        A plan that is not proved will do.
    """

    seconds: float
    load: int
    quick: bool = False
    plan_seconds: int = 20


def loop(
    interrupt: Interrupt,
    cpus: Sequence[int],
    effort: Effort,
    overheads: Mapping[str, Any],
    folder: Path,
) -> Loop:
    """Observe the reference system, plan it, run it under the plan, and watch."""
    scenario = source() / SCENARIO
    robot = Robot(interrupt, scenario, cpus)
    executor = "waitset_multi" if len(cpus) > 1 else "waitset_single"
    traces = folder / f"observed-{len(cpus)}"
    with BackgroundLoad(set(cpus), effort.load):
        robot.observe(executor, effort.seconds, traces)
    nodes = yaml.safe_load(scenario.read_text(encoding="utf-8"))["nodes"]
    fusions = [node for node in nodes if node["kind"] == "fusion"]
    model, path = folder / f"robot-{len(cpus)}.yaml", folder / f"plan-{len(cpus)}.yaml"
    model.write_text(model_of(traces, CHAINS, overheads, cpus, fusions=fusions), encoding="utf-8")
    plan(model, path, effort.plan_seconds, effort.quick)
    chosen = enforced(model, path)
    where = ",".join(map(str, cpus))
    before = Watch(chosen.system)
    watch_files(before, [traces])
    after, stalls = Judged(chosen.system), Stalls(cpus)
    with stalls, BackgroundLoad(set(cpus), effort.load):
        robot.watched(after, chosen.executor, effort.seconds, "--config", str(path))
    said = after.to_json()["broken_assumptions"]
    return Loop(
        [*_rows(before, where, executor), *_rows(after, where, "plan")],
        judge(after, stalls),
        [f"'{one['callback']}' {one['text']}" for one in said],
        stalls.longest_ms,
    )


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
