# Copyright 2026 The rclrt Authors
# SPDX-License-Identifier: Apache-2.0
"""What is computed, not timed: bounds [Teper25 Table I, Fig. 8] and PoDS in virtual time."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from typing import Any

from rclrt_analysis.evaluation.experiment import Judged, Machine
from rclrt_analysis.evaluation.row import Plot, Row, open_row, stated

PAPER_REDUCTION = {60: 20.0, 80: 23.5, 90: 23.5}
ENOUGH_SETS = 1000
REDUCTION_NEAR = 1.0
LARGEST = (85.0, 90.0)


def table_1(result: Mapping[str, Any], _: Machine) -> Judged:
    """Nine bounds as printed; ours that are tighter."""
    rows = result["rows"]
    same = sum(row["paper_ms"] == row["printed_ms"] for row in rows)
    below = sum(float(row["exact_ms"]) < float(row["printed_ms"]) for row in rows)
    above = sum(float(row["exact_ms"]) > float(row["printed_ms"]) for row in rows)
    found = [
        stated(
            "Theorem 1", "nine bounds", f"{same} of {len(rows)} as printed",
            "the nine numbers", same == len(rows), timed=False,
        ),
        stated(
            "exact bounds", "-", f"{below} of {len(rows)} below the printed ones, {above} above",
            "ours at its best: all jobs of the busy window, releases counted once",
            above == 0 and below > 0, timed=False,
        ),
    ]  # fmt: skip
    xs = sorted({float(row["utilization_percent"]) for row in rows})
    curves = {
        f"{task}, {name}": [float(row[key]) for row in rows if row["task"] == task]
        for task in ("Imu", "Camera", "Lidar")
        for name, key in (("printed", "printed_ms"), ("exact", "exact_ms"))
    }
    return Judged(found, [Plot("bounds of response times", "ms", curves, xs=xs, x_name="load, %")])


def waters(result: Mapping[str, Any], _: Machine) -> Judged:
    """Reductions of end-to-end bounds."""
    found = []
    rows = result["rows"]
    for row in rows:
        level, mean = row["utilization_percent"], row["reduction_mean"]
        paper = PAPER_REDUCTION[level]
        name, shape = f"mean reduction at {level} %", "within 1 % of the paper"
        if row["sets"] < ENOUGH_SETS:
            why = f"{row['sets']} sets are too few: {ENOUGH_SETS}"
            found.append(open_row(name, f"{paper:g} %", shape, why, f"{mean:.2f} %"))
            continue
        exact = row["exact_reduction_mean"]
        found.append(
            stated(
                name, f"{paper:g} %", f"{mean:.2f} %; exact bounds {exact:.2f} %", shape,
                abs(mean - paper) <= REDUCTION_NEAR, timed=False,
            )
        )  # fmt: skip
    largest = max(row["reduction_max"] for row in rows)
    enough = all(row["sets"] >= ENOUGH_SETS for row in rows)
    name, shape, printed = "largest reduction", "85 to 90 %", "almost 90 %"
    found.append(
        stated(
            name, printed, f"{largest:.1f} %", shape, LARGEST[0] <= largest <= LARGEST[1],
            timed=False,
        )
        if enough
        else open_row(name, printed, shape, f"below {ENOUGH_SETS} sets", f"{largest:.1f} %")
    )  # fmt: skip
    plots = [
        Plot(
            "reduction of end-to-end bounds", "%",
            {f"{row['utilization_percent']} %": row["quantiles"] for row in rows},
            {f"paper's mean, {level} %": mean for level, mean in PAPER_REDUCTION.items()},
        )
    ]  # fmt: skip
    return Judged(found, plots)


TITLES = {
    "pods-chains": ("worst latency of the first chain", "chains"),
    "pods-packet-size": ("worst latency of the first chain", "bytes of a message"),
    "pods-execution-time": ("worst latency of the first chain", "execution time, ms"),
    "pods-reliable": ("mean latency of the first chain", "success of the first transmission, %"),
}
WHO = {
    "batch": "batch executor",
    "paper": "PoDS as published",
    "own": "rclrt_micro",
    "levels": "rclrt_micro, levels",
}


def pods(name: str) -> Callable[[Mapping[str, Any], Machine], Judged]:
    """Return the judge of one of the experiments of PoDS."""

    def judge(result: Mapping[str, Any], _: Machine) -> Judged:
        problems = [text for text in result["problems"] if text.startswith(name)]
        rows = [row for row in result["rows"] if row["experiment"] == name and row["chain"] == 0]
        key = "mean_ms" if name == "pods-reliable" else "max_ms"
        points = sorted({row["point"] for row in rows})
        of = {(row["who"], row["point"]): float(row[key]) for row in rows}
        curves = {text: [of[who, at] for at in points] for who, text in WHO.items()}
        curves |= {f"paper, {WHO[who]}": y for who, y in result["stated"].get(name, {}).items()}
        title, unit = TITLES[name]
        found = [
            stated(
                "as the paper states", f"{len(points)} points, two executors",
                "all as stated" if not problems else f"{len(problems)} of what is stated is not so",
                "within 1 % of the model; its shapes", not problems,
                why="; ".join(problems[:3]), timed=False,
            ),
            _best(of, points),
        ]  # fmt: skip
        if name == "pods-reliable":
            found += _spread(result)
        plot = Plot(f"{name}: {title}", "ms", curves, xs=points, x_name=unit)
        return Judged(found, [plot])

    return judge


def _best(of: Mapping[tuple[str, float], float], points: list[float]) -> Row:
    ratios = [of["levels", at] / of["paper", at] for at in points]
    row = stated(
        "rclrt_micro with levels / PoDS as published", "1",
        f"{min(ratios):.2f} to {max(ratios):.2f}",
        "ours at its best: urgent chains interrupt others", max(ratios) <= 1.001, timed=False,
    )  # fmt: skip
    row.margin = 1 / min(ratios)
    return row


def _spread(result: Mapping[str, Any]) -> list[Row]:
    """Return what explains the standard deviations of Table 1."""
    return [
        stated(
            f"standard deviation at {row['success']} %, {WHO[row['who']]}",
            f"{row['printed']:.2f} ms",
            f"{row['apart']:.2f} ms, losses drawn for each message; {row['together']:.2f} ms, one "
            "draw for all messages of an instance",
            "the paper's is between the two", row["holds"], timed=False,
        )
        for row in result["spread"]
    ]  # fmt: skip
