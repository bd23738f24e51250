# Copyright 2026 The rclrt Authors
# SPDX-License-Identifier: Apache-2.0
"""An experiment of the list, what it gives when it has run, and the rows of the report.

A row: the paper's figure, ours, the shape that must hold, and whether it does.
"""

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, field
from typing import Any

from rclrt_analysis.plots import Plot

HOLDS = "holds"
FAILS = "does not hold"
OPEN = "not judged"

TOO_FEW = "too few samples"
AHEAD_BY = 1.05
"""A paper counts as ahead if its ratio is better than ours by more than this factor."""


@dataclass(frozen=True)
class Machine:
    """What an experiment may need."""

    cpus: int
    realtime: bool
    rclcpp: bool
    cyclictest: bool
    why_no_vm: str


@dataclass
class Row:
    """One statement.

    margin: How many times better than it must be; below 1 it does not hold. None if it has no size.
    timed: Whether it depends on what else the machine does.
    ahead: The paper's own figure, if that is better than ours.
    """

    name: str
    paper: str
    ours: str
    shape: str
    verdict: str
    why: str = ""
    margin: float | None = None
    timed: bool = True
    ahead: str = ""
    experiment: str = ""
    source: str = ""

    def refuse(self, why: str) -> None:
        """Take its verdict away."""
        self.verdict, self.why, self.margin, self.ahead = OPEN, why, None, ""

    def as_json(self) -> dict[str, Any]:
        """Return what is written."""
        return {key: value for key, value in vars(self).items() if value not in (None, "", ())}


@dataclass(frozen=True)
class Judged:
    """What comes of one experiment."""

    rows: Sequence[Row]
    plots: Sequence[Plot] = ()


Judge = Callable[[Mapping[str, Any], Machine], Judged]
"""Given what an experiment wrote and the machine."""


def open_row(name: str, paper: str, shape: str, why: str, ours: str = "-") -> Row:
    """Return a statement that cannot be judged here."""
    return Row(name, paper, ours, shape, OPEN, why)


def stated(name: str, paper: str, ours: str, shape: str, holds: bool, **more: Any) -> Row:
    """Return a statement that is true or not."""
    return Row(name, paper, ours, shape, HOLDS if holds else FAILS, **more)


def at_most(
    name: str, ratio: float | None, limit: float, *, shape: str, paper: str = "not printed",
    printed: float | None = None, ours: str = "", **more: Any,
) -> Row:  # fmt: skip
    """Return a statement about a ratio that must not be above `limit`.

    printed: The paper's own ratio: the paper is ahead if ours is not as good.
    """
    if ratio is None:
        return open_row(name, paper, shape, TOO_FEW, ours or "-")
    row = stated(name, paper, ours or f"{ratio:.2f}", shape, ratio <= limit, **more)
    row.margin = limit / max(ratio, 1e-9)
    if printed is not None and ratio > AHEAD_BY * printed:
        row.ahead = f"{printed:.2f} in the paper, {ratio:.2f} here"
    return row


def ratio_of(mine: float | None, other: float | None) -> float | None:
    """Return a ratio, if both are known and the other one is not 0."""
    return None if mine is None or not other else mine / other


TRY = "try"
QUICK = "quick"
SHORT = "short"
FULL = "full"
EFFORTS = (TRY, QUICK, SHORT, FULL)


@dataclass(frozen=True)
class Experiment:
    """One line of the list.

    commands: By effort the words after `./rclrt`; where to write JSON comes after them.
    limit_s: By effort when it is ended at the latest.
    judge: Given what it wrote and the machine.
    why_not: Why it cannot run on a machine, or nothing.
    is_realtime: All that it compares has real-time priorities: what holds does so beside ordinary
        programs.
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
