# Copyright 2026 The rclrt Authors
# SPDX-License-Identifier: Apache-2.0
"""What the papers leave out: deadlines across hosts, whose clocks differ."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any

from rclrt_analysis.evaluation.experiment import Judged, Machine
from rclrt_analysis.evaluation.row import Plot, Row, stated

NOWHERE = "not in a paper"
MORE = 0.02
"""So much more of all instances may be missed before it is more than chance."""

Rows = Sequence[Mapping[str, Any]]


def judge(result: Mapping[str, Any], _: Machine) -> Judged:
    """Judge one graph on two and on four hosts."""
    rows = result["rows"]
    plots = []
    for hosts in sorted({row["hosts"] for row in rows}):
        curve = sorted(
            (row["offset_ms"], row["missed_share"], row["in_order_share"])
            for row in rows
            if (row["hosts"], row["way"], row["link"]) == (hosts, "header", "near")
            and row["error_ms"] < 10
        )
        if len(curve) > 1:
            xs = [x for x, _, _ in curve]
            curves = {
                "instances missed": [100 * missed for _, missed, _ in curve],
                "jobs out of order": [100 * (1 - share) for _, _, share in curve],
            }
            title = f"header stamps on {hosts} hosts"
            plots.append(Plot(title, "%", curves, xs=xs, x_name="clocks apart, ms"))
    return Judged(statements(rows), plots)


def statements(rows: Rows) -> list[Row]:
    """Return what must hold for each number of hosts."""
    found = []
    for hosts in sorted({row["hosts"] for row in rows}):
        mine = {
            (row["link"], row["way"], row["offset_ms"]): row
            for row in rows
            if row["hosts"] == hosts and row["error_ms"] < 10
        }
        exact = mine["near", "header", 0.0]
        arrival = mine["near", "arrival", 0.0]
        found.append(
            _more(
                f"{hosts} hosts, exact clocks: instances missed by header stamps",
                exact, arrival, "counted from arrival", 0.0,
            )
        )  # fmt: skip
        found += [
            _more(
                f"{hosts} hosts, clocks {offset:g} ms apart: instances missed by header stamps",
                row, exact if offset <= row["error_ms"] else arrival,
                "exact clocks" if offset <= row["error_ms"] else "counted from arrival", MORE,
            )
            for (link, way, offset), row in mine.items()
            if (link, way) == ("near", "header") and offset > 0
        ]  # fmt: skip
    return found


def _more(
    name: str, mine: Mapping[str, Any], other: Mapping[str, Any], what: str, more: float
) -> Row:
    """Return a statement that not many more are missed than in another case."""
    at_most = other["missed_share"] + more
    return stated(
        name, NOWHERE,
        f"{100 * mine['missed_share']:.2f} % of {mine['instances']}, in order "
        f"{100 * mine['in_order_share']:.2f} % ({what}: {100 * other['missed_share']:.2f} %, "
        f"{100 * other['in_order_share']:.2f} %)",
        f"at most {100 * more:g} % more than {what}", mine["missed_share"] <= at_most,
    )  # fmt: skip
