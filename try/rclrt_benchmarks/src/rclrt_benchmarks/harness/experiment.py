# Copyright 2026 The rclrt Authors
# SPDX-License-Identifier: Apache-2.0
"""What an experiment of the list is, and what it gives when it has run."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, field
from typing import Any

from rclrt_analysis.plots import Plot

from rclrt_benchmarks.harness.row import Judge, Machine, Row

TRY = "try"
QUICK = "quick"
SHORT = "short"
FULL = "full"
EFFORTS = (TRY, QUICK, SHORT, FULL)


@dataclass(frozen=True)
class Experiment:
    """One line of the list.

    Attributes
    ----------
    commands
        By effort the words after `./rclrt`; where to write JSON comes after them.
    limit_s
        By effort when it is ended at the latest.
    judge
        Given what it wrote and the machine.
    why_not
        Why it cannot run on a machine, or nothing.
    is_realtime
        All that it compares has real-time priorities: what holds does so beside ordinary programs.
    """

    name: str
    source: str
    title: str
    commands: Mapping[str, Sequence[str]]
    limit_s: Mapping[str, float]
    judge: Judge
    why_not: Callable[[Machine], str] = lambda _: ""
    is_realtime: bool = False


@dataclass
class Run:
    """One experiment as it ran. Times in s."""

    experiment: Experiment
    command: Sequence[str] = ()
    began: str = ""
    took_s: float = 0.0
    load_before: float = 0.0
    load_after: float = 0.0
    others_cpus: float = 0.0
    status: int | None = None
    result: Mapping[str, Any] | None = None
    said: str = ""
    not_run: str = ""
    rows: list[Row] = field(default_factory=list)
    plots: list[Plot] = field(default_factory=list)

    def as_json(self) -> dict[str, Any]:
        """Return what is written of it."""
        left_out = ("experiment", "rows", "plots", "result")
        return {
            "experiment": self.experiment.name,
            **{key: value for key, value in vars(self).items() if key not in left_out},
            "rows": [row.as_json() for row in self.rows],
            "result": self.result,
        }


def needs_realtime(machine: Machine) -> str:
    """Return why it cannot run without real-time priorities."""
    if machine.realtime:
        return ""
    return "SCHED_FIFO is not permitted: docs/how-to/real-time-permissions.md"
