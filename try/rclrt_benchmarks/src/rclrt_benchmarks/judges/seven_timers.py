# Copyright 2026 The rclrt Authors
# SPDX-License-Identifier: Apache-2.0
"""Seven timers on one CPU: dropped jobs and response times [Teper25 Figs. 4 to 7]."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

from rclrt_analysis.evaluation.experiment import Judged, Machine
from rclrt_analysis.evaluation.row import Plot, Row, at_most, open_row, stated

TODAY = ("default", "static", "events")
NAMES = {
    "default": "default executor",
    "static": "static executor",
    "events": "events executor, FIFO",
    "events_rm": "RM events",
    "events_edf": "EDF events",
    "pool": "pool, RM (ours at its best)",
    "isolated": "a thread for each, RM",
}
BELOW = "every measured response below its bound"
# Bounds that Table I prints, ms.
TABLE_1 = {
    ("Imu", 60): 12.67, ("Imu", 80): 16.67, ("Imu", 90): 18.67,
    ("Camera", 60): 57.83, ("Camera", 80): 75.66, ("Camera", 90): 83.66,
    ("Lidar", 60): 70.50, ("Lidar", 80): 149.50, ("Lidar", 90): 167.33,
}  # fmt: skip


def judge_drops(result: Mapping[str, Any], _: Machine) -> Judged:
    """Judge what was dropped."""
    rows = result["rows"]
    found: list[Row] = []
    for name, text in NAMES.items():
        mine = [row for row in rows if row["executor"] == name]
        dropped, misses = (sum(row[key] for row in mine) for key in ("dropped", "misses"))
        jobs = dropped + sum(row["n"] for row in mine)
        ours = f"{dropped} of {jobs} dropped, {misses} late"
        if name in TODAY:
            found.append(
                stated(
                    text, "dropped, up to 10 %", ours, "drops or delays jobs",
                    dropped + misses > 0,
                )
            )  # fmt: skip
        else:
            found.append(stated(text, "none dropped", ours, "drops none", dropped == 0))
        if not all(row["in_force"] for row in mine):
            found[-1].refuse("its real-time priorities were refused")
    levels = sorted({row["level"] for row in rows})
    curves = {text: [_share(rows, name, level) for level in levels] for name, text in NAMES.items()}
    plot = Plot("jobs that were dropped", "%", curves, {"paper, most": 10.0}, levels, "load, %")
    return Judged(found, [plot])


def _share(rows: list[Mapping[str, Any]], name: str, level: int) -> float:
    mine = [row for row in rows if (row["executor"], row["level"]) == (name, level)]
    dropped = sum(row["dropped"] for row in mine)
    return float(100 * dropped / max(1, dropped + sum(row["n"] for row in mine)))


def judge_responses(result: Mapping[str, Any], _: Machine) -> Judged:
    """Judge response times against their bounds and deadlines."""
    rows = result["rows"]
    of = {(row["executor"], row["task"], row["level"]): row for row in rows}
    found: list[Row] = []
    for (task, level), printed in TABLE_1.items():
        mine = of["events_rm", task, level]
        bound = mine["bound_exact_ms"]
        name, shape = f"RM events, {task} at {level} %: longest response / exact bound", BELOW
        if bound is None:
            found.append(open_row(name, f"bound {printed:g} ms", shape, "there is no bound"))
            continue
        away = f", its thread away for {mine['away_ms']:.2f} ms of it" * (mine["max_ms"] > bound)
        found.append(
            at_most(
                name, mine["net_max_ms"] / bound, 1.0, shape=shape,
                paper=f"bound {printed:g} ms",
                ours=f"{mine['max_ms']:.2f} ms of {bound:.2f} ms, n={mine['n']}{away}",
                rounds=[ms / bound for ms in mine["rounds_max_ms"]],
            )
        )  # fmt: skip
        found[-1].margin = None  # A bound is good if it is near.
    late = {name: sum(of[name, "Imu", level]["misses"] for level in (60, 80, 90)) for name in NAMES}
    for name, text in NAMES.items():
        is_today = name in TODAY
        found.append(
            stated(
                f"IMU: {text}", "late" if is_today else "in time",
                f"{late[name]} deadlines missed",
                "the IMU is late under default, static and FIFO events alone",
                (late[name] > 0) == is_today,
            )
        )  # fmt: skip
    best = [
        of["pool", "Imu", level]["max_ms"] / of["events_rm", "Imu", level]["max_ms"]
        for level in (60, 80, 90)
    ]
    found.append(
        at_most(
            "ours at its best: IMU on the preemptive pool / RM events, longest response",
            max(best), 1.0, shape="nothing waits for a callback of lower rate",
            paper="not preemptive", ours=f"{min(best):.2f} to {max(best):.2f}",
        )
    )  # fmt: skip
    plots = [
        Plot(
            f"{task} at 90 %: response times", "ms",
            {NAMES[name]: of[name, task, 90]["quantiles_ms"] for name in NAMES},
            {"paper's bound": TABLE_1[task, 90]},
        )
        for task in ("Camera", "Lidar", "Imu")
    ]  # fmt: skip
    return Judged(found, plots)
