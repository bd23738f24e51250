# Copyright 2026 The rclrt Authors
# SPDX-License-Identifier: Apache-2.0
"""What the papers leave out: a control loop, and a chain, beside other work of their process."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

from rclrt_analysis.evaluation.experiment import Judged, Machine
from rclrt_analysis.evaluation.row import Plot, Row, at_most, stated

NOWHERE = "not in a paper"
FLOOR, BEST, USUAL, PROCESS = "by_hand", "pool_beat", "waitset_multi", "process_fifo"
MOST_MORE = 0.001
MOST_LOST = 0.05
PLOTTED = "background"


def judge_control(result: Mapping[str, Any], _: Machine) -> Judged:
    """Judge a control loop of 1 kHz beside each disturbance."""
    cases: dict[tuple[str, str], dict[str, Mapping[str, Any]]] = {}
    for row in result["rows"]:
        cases.setdefault((row["beside"], row["load"]), {})[row["way"]] = row
    found: list[Row] = []
    plots = []
    for (kind, load), ways in cases.items():
        if BEST in ways:
            found.append(_missed(f"control loop beside {kind}, {load}: cycles missed", ways))
        if load == PLOTTED or len({load for _, load in cases}) == 1:
            curves = {way: row["quantiles_us"] for way, row in ways.items()}
            plots.append(Plot(f"control loop beside {kind}, {load}: jitter", "us", curves))
    return Judged(found, plots)


def _missed(name: str, ways: Mapping[str, Mapping[str, Any]]) -> Row:
    mine, floor = (ways[way]["missed_share"] for way in (BEST, FLOOR))
    others = ", ".join(
        f"{way} {100 * ways[way]['missed_share']:.2f} %"
        for way in (FLOOR, PROCESS, USUAL)
        if way in ways
    )
    return stated(
        name, NOWHERE, f"{100 * mine:.2f} % of {ways[BEST]['cycles']} ({others})",
        "at most one in a thousand more than a thread that only runs the loop",
        mine <= floor + MOST_MORE,
    )  # fmt: skip


def judge_chain(result: Mapping[str, Any], _: Machine) -> Judged:
    """Judge a chain of 60 ms beside best effort, and beside a callback that runs away."""
    ways = {row["way"]: row for row in result["rows"]}
    found = [
        stated(
            f"60 ms chain {what}: instances late", NOWHERE,
            f"{ways[way]['misses']} of {ways[way]['instances']} "
            f"(without: {ways[other]['misses']} of {ways[other]['instances']})",
            "none", ways[way]["misses"] == 0,
        )
        for way, other, what in (
            ("fifo", "shared", "with priorities, beside best effort"),
            ("budget", "runaway", "beside a callback that runs away, which has a budget"),
        )
    ]  # fmt: skip
    found.append(
        at_most(
            "best effort that priorities of the chain cost, %", 100 * ways["fifo"]["lost"],
            100 * MOST_LOST, shape="at most 5 % of its work", paper=NOWHERE,
        )
    )  # fmt: skip
    return Judged(found)
