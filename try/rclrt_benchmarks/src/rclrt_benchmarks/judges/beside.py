# Copyright 2026 The rclrt Authors
# SPDX-License-Identifier: Apache-2.0
"""What the papers leave out: other work beside a loop or a chain."""

from __future__ import annotations

import math
from collections.abc import Mapping
from typing import Any

from rclrt_analysis.evaluation.experiment import Judged, Machine
from rclrt_analysis.evaluation.row import FAILS, Plot, Row, at_most, stated

NOWHERE = "not in a paper"
FLOOR, POOL, USUAL, PROCESS = "by_hand", "pool_beat", "waitset_multi", "process_fifo"
BEST = "events_re"
# The thread that waits for timers runs all of them there, one after the other. Beside these kinds
# the loop is the only timer.
LONE_TIMER = ("flood", "parameters", "discovery")
MOST_MORE = 0.001
# One-sided, 5 %: a difference of fewer standard deviations is chance.
SURE = 1.645
MOST_LOST = 0.05
PLOTTED = "background"
HOPELESS = "memory"


def judge_control(result: Mapping[str, Any], _: Machine) -> Judged:
    """Judge a control loop of 1 kHz beside each disturbance."""
    cases: dict[tuple[str, str], dict[str, Mapping[str, Any]]] = {}
    for row in result["rows"]:
        cases.setdefault((row["beside"], row["load"]), {})[row["way"]] = row
    found: list[Row] = []
    plots = []
    for (kind, load), ways in cases.items():
        for mine, prefix in ((POOL, ""), (BEST, "ours at its best: release-and-execute, ")):
            if mine not in ways or (mine == BEST and kind not in LONE_TIMER):
                continue
            name = f"{prefix}control loop beside {kind}, {load}: cycles missed"
            found.append(_missed(name, mine, ways))
            if kind == HOPELESS:
                found[-1].refuse(
                    "no loop keeps its time without its code; locked memory is the cure"
                )
        if load == PLOTTED or len({load for _, load in cases}) == 1:
            curves = {way: row["quantiles_us"] for way, row in ways.items()}
            plots.append(Plot(f"control loop beside {kind}, {load}: jitter", "us", curves))
    return Judged(found, plots)


def _missed(name: str, way: str, ways: Mapping[str, Mapping[str, Any]]) -> Row:
    mine, floor = ways[way], ways[FLOOR]
    others = ", ".join(
        f"{other} {100 * ways[other]['missed_share']:.2f} %"
        for other in (FLOOR, PROCESS, USUAL)
        if other in ways
    )
    excess = mine["missed_share"] - floor["missed_share"] - MOST_MORE
    row = stated(
        name, NOWHERE, f"{100 * mine['missed_share']:.2f} % of {mine['cycles']} ({others})",
        "at most one in a thousand more than a thread that only runs the loop", excess <= 0,
    )  # fmt: skip
    chance = math.hypot(*(math.sqrt(one["missed"]) / one["cycles"] for one in (mine, floor)))
    if 0 < excess < SURE * chance:
        row.refuse(f"{100 * excess:.2f} % too many are within chance; --full runs more cycles")
    elif row.verdict == FAILS:
        row.why = _reason(way, ways)
    return row


def _reason(way: str, ways: Mapping[str, Mapping[str, Any]]) -> str:
    """Return what the loop's jitter says of its misses."""
    return "half, 99 % and all of its jitters are within " + ", ".join(
        f"{_us(ways[other]['p50_us'])}, {_us(ways[other]['p99_us'])} and "
        f"{_us(ways[other]['max_us'])} us ({other})"
        for other in (way, FLOOR)
    )


def _us(value: float | None) -> str:
    return "-" if value is None else f"{value:.0f}"


def judge_chain(result: Mapping[str, Any], _: Machine) -> Judged:
    """Judge a chain of 60 ms beside best effort, and beside a callback that runs away."""
    found = []
    for cpus in sorted({row["cpus"] for row in result["rows"]}):
        ways = {row["way"]: row for row in result["rows"] if row["cpus"] == cpus}
        late = {way: f"{row['misses']} of {row['instances']}" for way, row in ways.items()}
        where = f"60 ms chain, {cpus} CPU{'s' * (cpus > 1)},"
        others = ", ".join(f"{way} {late[way]}" for way in (PROCESS, USUAL, "waitset_single"))
        found += [
            stated(
                f"{where} with priorities, beside best effort: instances late", NOWHERE,
                f"{late['fifo']} ({others})", "none", ways["fifo"]["misses"] == 0,
            ),
            stated(
                f"{where} beside a callback that runs away, which has a budget: instances late",
                NOWHERE, f"{late['budget']} (without: {late['runaway']})", "none",
                ways["budget"]["misses"] == 0,
            ),
            at_most(
                f"{where} best effort that its priorities cost, %", 100 * ways["fifo"]["lost"],
                100 * MOST_LOST, shape="at most 5 % of its work", paper=NOWHERE,
            ),
        ]  # fmt: skip
    return Judged(found)
