# Copyright 2026 The rclrt Authors
# SPDX-License-Identifier: Apache-2.0
"""What the papers leave out: other work beside a loop or a chain, long runs, high rates."""

from __future__ import annotations

import math
from collections.abc import Mapping
from typing import Any

from rclrt_analysis.evaluation.experiment import Judged, Machine
from rclrt_analysis.evaluation.row import FAILS, Plot, Row, at_most, open_row, ratio_of, stated

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
OURS = ("preemptive", "isolated")
TENTHS = 10
MOST_DRIFT_MS, MOST_GROWN_MIB, MOST_SLOWER = 1.0, 1.0, 1.1
# A rate is found by halving three times, and differs by so much from one round to the next.
NO_LOWER = 1.25
DEPTH = 10


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


def judge_endurance(result: Mapping[str, Any], _: Machine) -> Judged:
    """Judge what changes while a system runs for long at 70 % of a CPU."""
    ways = {row["executor"]: row for row in result["rows"]}
    found: list[Row] = []
    for name in OURS:
        row = ways[name]
        about = f"{name}, {row['minutes']:.1f} min at {100 * row['load']:.0f} %"
        found += [
            stated(
                f"{about}: jobs dropped", NOWHERE, f"{row['dropped']} of {row['jobs']}", "none",
                row["dropped"] == 0,
            ),
            at_most(
                f"{about}: median of the last tenth / of the first",
                ratio_of(row["last_ms"], row["first_ms"]), MOST_SLOWER, paper=NOWHERE,
                shape="does not grow",
            ),
            stated(
                f"{about}: timers drift", NOWHERE, f"{row['drift_ms']:.3f} ms",
                "less than 1 ms", abs(row["drift_ms"]) < MOST_DRIFT_MS,
            ),
            stated(
                f"{about}: memory", NOWHERE, f"{row['grown_mib']:+.2f} MiB", "less than 1 MiB more",
                row["grown_mib"] < MOST_GROWN_MIB,
            ),
        ]  # fmt: skip
        for one in found[-4:]:
            if not row["in_force"]:
                one.refuse("its real-time priorities were refused")
    mine, theirs = ways[OURS[0]]["max_ms"], ways[USUAL]["max_ms"]
    found.append(
        at_most(
            f"longest latency: {OURS[0]} / {USUAL}", ratio_of(mine, theirs), 1.0, paper=NOWHERE,
            shape="not longer",
        )
        if mine and theirs
        else open_row("longest latency", NOWHERE, "not longer", "the path has no sample")
    )  # fmt: skip
    tenths = {
        name: row["tenths_max_ms"]
        for name, row in ways.items()
        if len(row["tenths_max_ms"]) == TENTHS
    }
    plots = [
        Plot("latency in the long run", "ms", {n: row["quantiles_ms"] for n, row in ways.items()}),
        Plot(
            "longest latency as time goes on",
            "ms",
            tenths,
            {},
            range(1, TENTHS + 1),
            "tenth of the run",
        ),
    ]
    return Judged(found, plots if tenths else plots[:1])


def judge_throughput(result: Mapping[str, Any], _: Machine) -> Judged:
    """Judge the rate at which the first message is lost."""
    cases: dict[tuple[str, int], dict[str, Mapping[str, Any]]] = {}
    for row in result["rows"]:
        cases.setdefault((row["size"], row["subscriptions"]), {})[row["executor"]] = row
    found = []
    for (size, subscriptions), ways in cases.items():
        mine = max((ways[name] for name in ("pool", "events")), key=lambda row: row["rate"])
        usual = max(
            (row for name, row in ways.items() if name.startswith("waitset")),
            key=lambda row: row["rate"],
        )
        ratios = _rounds_of_rates(ways)
        row = at_most(
            f"{size} to {subscriptions}: rate of wait sets / ours",
            ratio_of(usual["rate"], mine["rate"]), NO_LOWER, paper=NOWHERE,
            shape="no lower than theirs",
            ours=f"{usual['rate']:.0f} / {mine['rate']:.0f} a second ({mine['executor']}, "
            f"ends by {mine['ends_by']})",
            rounds=ratios,
        )  # fmt: skip
        if row.verdict == FAILS and min(ratios, default=math.inf) <= 1.0:
            rounds = ", ".join(f"{ratio:.2f}" for ratio in ratios)
            row.refuse(f"the rounds contradict each other: {rounds}")
        elif row.verdict == FAILS:
            costs = (f"{one['executor']} {one['cpu_us']:.1f} us" for one in (mine, usual))
            row.why = (
                f"a pause of {1000 * DEPTH / mine['rate']:.1f} ms loses one; CPU time for each "
                f"message and subscription: {', '.join(costs)}"
            )
        found.append(row)
    return Judged(found)


def _rounds_of_rates(ways: Mapping[str, Mapping[str, Any]]) -> tuple[float, ...]:
    """Return the best rate of wait sets / the best of ours, of each round."""
    wait_sets = [row["rates"] for name, row in ways.items() if name.startswith("waitset")]
    ours = [ways[name]["rates"] for name in ("pool", "events")]
    best = [[max(rates) for rates in zip(*of, strict=True)] for of in (wait_sets, ours)]
    return tuple(theirs / mine for theirs, mine in zip(*best, strict=True) if mine > 0)
