# Copyright 2026 The rclrt Authors
# SPDX-License-Identifier: Apache-2.0
"""The hot path of the Autoware Reference System [ROSRT Figs. 10, 11; Teper25 Fig. 9]."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

from rclrt_analysis.plots import Plot

from rclrt_benchmarks.harness.row import FAILS, Judged, Machine, Row, at_most, open_row, ratio_of

NOT_PRINTED = "a figure without numbers"
EQUAL = 1.05
"""With the same priorities on a thread each or on a pool of them, no difference is to be seen."""
ORDER = (
    # Better, other, what it is called, the shape.
    ("preemptive_hot", "preemptive", "hot path highest / RM", "hot path highest is best"),
    ("preemptive", "isolated", "RM on the pool / a thread per node", "RM no worse than events"),
    ("preemptive", "wait_set_multi", "RM on the pool / wait set", "better than the wait set"),
    ("isolated", "wait_set_multi", "a thread per node / wait set", "better than the wait set"),
    ("preemptive_edf", "wait_set_multi", "EDF on the pool / wait set", "better than the wait set"),
    ("preemptive", "preemptive_edf", "RM / EDF on the pool", "EDF is the worst of the pool's"),
)  # fmt: skip
SLOWDOWN = 2.6
AT_LEAST = 2.0


def judge(result: Mapping[str, Any], machine: Machine) -> Judged:
    """Judge two CPUs, as far as there are."""
    runs = {run["executor"]: run for run in result["runs"]}
    refused = [name for name, run in runs.items() if not run["attributes_in_force"]]
    found: list[Row] = []
    for better, other, name, shape in ORDER:
        mine, theirs = (_figure(runs, who, "p99") for who in (better, other))
        row = at_most(
            f"{name}, p99", ratio_of(mine, theirs), EQUAL if other == "isolated" else 1.0,
            shape=shape, paper=NOT_PRINTED,
            ours=_both(mine, theirs, runs.get(better, {}).get("hot_path_ms", {}).get("n", 0)),
        )  # fmt: skip
        found.append(_explained(row, runs, better, other))
    default, events = (_figure(runs, who, "max") for who in ("wait_set_single", "priority_events"))
    row = at_most(
        "RM events / default executor, maximum", ratio_of(events, default), 1 / AT_LEAST,
        shape="the default executor at least 2x slower", paper=f"1 / {SLOWDOWN}",
        printed=1 / SLOWDOWN, ours=_both(events, default),
    )  # fmt: skip
    found.append(_explained(row, runs, "priority_events", "wait_set_single"))
    found.append(_ideal(runs))
    found.append(
        open_row(
            "hot path highest: the same on 2 and on 4 cores", NOT_PRINTED, "the same",
            f"this machine has {machine.cpus} CPUs"
            if machine.cpus < 4
            else "run ./rclrt demo --cpus 0,1,2,3 beside this",
        )
    )  # fmt: skip
    for row in found:
        if refused:
            row.refuse(f"real-time priorities were refused: {', '.join(refused)}")
    curves = {name: run["hot_path_ms"]["quantiles"] for name, run in runs.items()}
    return Judged(found, [Plot("hot path: data received to start of the sink", "ms", curves)])


def _explained(row: Row, runs: Mapping[str, Any], name: str, other: str) -> Row:
    """Return the row, and if it does not hold what the other percentiles say."""
    if row.verdict == FAILS:
        ratios = (
            ratio_of(*(_figure(runs, n, key) for n in (name, other))) for key in ("p50", "p99")
        )
        half, most = ("-" if ratio is None else f"{ratio:.2f}" for ratio in ratios)
        row.why = f"of the medians it is {half}, of the 99th percentiles {most}"
    return row


def _figure(runs: Mapping[str, Any], name: str, key: str) -> float | None:
    value = runs.get(name, {}).get("hot_path_ms", {}).get(key)
    return None if value is None else float(value)


def _both(mine: float | None, theirs: float | None, n: int = 0) -> str:
    if mine is None or theirs is None:
        return f"-, n={n}" if n else "-"
    count = f", n={n}" if n else ""
    return f"{mine / theirs:.2f} ({mine:.2f} / {theirs:.2f} ms{count})"


def _ideal(runs: Mapping[str, Any]) -> Row:
    mine, ideal = (_figure(runs, "preemptive_hot", key) for key in ("p99", "ideal"))
    return at_most(
        "ours at its best: hot path highest / work and transport alone, p99",
        ratio_of(mine, ideal), 1.25, shape="near the ideal", paper="-", ours=_both(mine, ideal),
    )  # fmt: skip
