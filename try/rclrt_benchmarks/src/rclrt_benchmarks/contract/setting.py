# Copyright 2026 The rclrt Authors
# SPDX-License-Identifier: Apache-2.0
"""What all parts of the experiment are given, and a run beside busy programs that is judged."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from rclrt_tools.reference.environment import BackgroundLoad
from rclrt_tools.reference.program import Interrupt

from rclrt_benchmarks.contract.judged import Judged, Verdict, judge
from rclrt_benchmarks.contract.machine import Stalls, Strangers
from rclrt_benchmarks.contract.robot import Robot


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


@dataclass(frozen=True)
class Setting:
    """What a part of the experiment is given.

    Attributes
    ----------
    overheads
        As in a model, times in ns: what was measured here.
    folder
        For traces, models and plans.
    """

    interrupt: Interrupt
    effort: Effort
    overheads: Mapping[str, Any]
    folder: Path


@dataclass
class Outcome:
    """What came of a run under a model.

    Attributes
    ----------
    broken
        What the watch has said of the model's assumptions.
    stall_ms
        For how long at most the machine itself was away.
    strangers
        Other programs in real time on these CPUs.
    """

    verdict: Verdict
    broken: list[str]
    stall_ms: float
    strangers: Strangers


def judged(watch: Judged, stalls: Stalls, strangers: Strangers) -> Outcome:
    """Return what a watch has seen beside these stalls and strangers."""
    said = watch.to_json()["broken_assumptions"]
    return Outcome(
        judge(watch, stalls, strangers),
        [f"'{one['callback']}' {one['text']}" for one in said],
        stalls.longest_ms,
        strangers,
    )


def beside_load(
    robot: Robot, watch: Judged, effort: Effort, executor: str, file: Path
) -> tuple[Judged, Stalls, Strangers]:
    """Run a robot with a parameters file beside busy programs, and watch it and the machine."""
    stalls, strangers = Stalls(robot.cpus), Strangers(robot.cpus)
    with stalls, strangers, BackgroundLoad(set(robot.cpus), effort.load):
        robot.watched(watch, executor, effort.seconds, "--config", str(file))
    return watch, stalls, strangers
