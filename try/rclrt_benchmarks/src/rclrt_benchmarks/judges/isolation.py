# Copyright 2026 The rclrt Authors
# SPDX-License-Identifier: Apache-2.0
"""What a thread for each callback costs [CIE25 Fig. 5]."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

from rclrt_analysis.evaluation.experiment import Judged, Machine
from rclrt_analysis.evaluation.row import FAILS, Plot, Row, at_most, open_row, ratio_of

FIGURES = {
    "system_calls": ("mode switches", "a second"),
    "context_switches": ("context switches", "a second"),
    "pss_kib": ("memory (PSS)", "KiB"),
}
# Isolated / single-threaded, as the paper's text has it.
PAPER = {"one process": 5.0, "two processes": 1.4}
NOT_COUNTED = "system calls cannot be counted here: /sys/kernel/tracing (tracefs) and CAP_PERFMON"
IN_PHASE = "one process, in phase"
PAPER_THREADS = 16
ABOUT = 1.1
FLAT = 1.25
"""The ratio to single-threaded with the most callbacks, over that with the fewest above one."""

MESSAGES_A_SECOND = 100
"""Of each callback."""

Rows = Mapping[tuple[str, int, str], Mapping[str, Any]]


def judge(result: Mapping[str, Any], machine: Machine) -> Judged:
    """Judge every figure, in one process and in two."""
    rows: Rows = {(r["where"], r["callbacks"], r["executor"]): r for r in result["rows"]}
    found: list[Row] = []
    plots = []
    for where in PAPER:
        counts = sorted({count for place, count, _ in rows if place == where})
        for key, (name, unit) in FIGURES.items():
            title = f"{name}, {where}"
            if any(key not in row for row in rows.values()):
                found.append(open_row(title, "a figure", "isolated below multi", NOT_COUNTED))
                continue
            judged = _figure(rows, where, counts, key, title)
            for row in judged:
                if row.verdict == FAILS and key != "pss_kib":
                    row.why = f"for each message, {_for_each_message(rows, where, counts, key)}"
            if key == "pss_kib" and judged[0].verdict == FAILS:
                judged[0].why = (
                    f"the multi-threaded executor has a thread for each CPU: {machine.cpus} here, "
                    f"{PAPER_THREADS} in the paper; isolated has one for each callback"
                )
            found += judged
            curves = {
                who: [rows[where, count, who][key] for count in counts]
                for who in dict.fromkeys(executor for _, _, executor in rows)
            }
            plots.append(Plot(title, unit, curves, xs=counts, x_name="callbacks"))
    found += _in_phase(rows)
    return Judged(found, plots)


def _in_phase(rows: Rows) -> list[Row]:
    """Judge timers that are due at once: what the paper does not say of its own."""
    counts = sorted({count for place, count, _ in rows if place == IN_PHASE})
    if not counts:
        return []
    key = "context_switches"
    ratios = _ratios(rows, IN_PHASE, counts, key, "isolated", "single")
    row = at_most(
        "context switches, timers in phase: isolated / single, worst N",
        max(ratios, default=None), PAPER["one process"], shape="bounded", paper="not said",
        ours=_span(ratios), rounds=_rounds(rows, IN_PHASE, counts[-1], key, "single"),
    )  # fmt: skip
    if row.verdict == FAILS:
        row.why = (
            "one wake-up serves all timers that are due together; a thread for each needs one each"
        )
        row.ahead = f"one thread for all is ahead of a thread for each: {row.ours} times fewer"
    return [row]


def _ratios(
    rows: Rows, where: str, counts: list[int], key: str, name: str, other: str
) -> list[float]:
    pairs = (ratio_of(rows[where, n, name][key], rows[where, n, other][key]) for n in counts)
    return [ratio for ratio in pairs if ratio is not None]


def _rounds(rows: Rows, where: str, count: int, key: str, other: str) -> tuple[float, ...]:
    pair = [rows[where, count, who]["rounds"][key] for who in ("isolated", other)]
    return tuple(a / b for a, b in zip(*pair, strict=True) if b)


def _figure(rows: Rows, where: str, counts: list[int], key: str, title: str) -> list[Row]:
    found = []
    to_multi = _ratios(rows, where, counts, key, "isolated", "multi")
    is_exception = key == "system_calls" and where == "one process"
    row = at_most(
        f"{title}: isolated / multi, worst N", max(to_multi, default=None), 1.0,
        shape="isolated below multi everywhere but perhaps mode switches in one process",
        paper="a little above 1" if is_exception else "below 1",
        ours=_span(to_multi), rounds=_rounds(rows, where, counts[-1], key, "multi"),
    )  # fmt: skip
    if not is_exception:
        found.append(row)
    if key == "pss_kib":
        return found
    to_single = _ratios(rows, where, counts, key, "isolated", "single")
    limit = PAPER[where]
    found.append(
        at_most(
            f"{title}: isolated / single, worst N", max(to_single, default=None), limit,
            shape="bounded", paper=f"within about {limit:g}", printed=limit, ours=_span(to_single),
            rounds=_rounds(rows, where, counts[-1], key, "single"),
        )
    )  # fmt: skip
    several = to_single[1:] if counts[0] == 1 else to_single
    flat = several[-1] / several[0] if len(several) > 1 else None
    found.append(
        at_most(
            f"{title}: isolated / single with {counts[-1]} callbacks / with few", flat, FLAT,
            shape="the same for any number of callbacks", paper="a fixed ratio",
        )
    )  # fmt: skip
    pool = _ratios(rows, where, counts, key, "pool", "isolated")
    found.append(
        at_most(
            f"{title}: ours at its best: pool / isolated, worst N", max(pool, default=None), ABOUT,
            shape="a pool of threads costs about the same", paper="-",
            ours=_span(pool),
        )
    )  # fmt: skip
    return found


def _for_each_message(rows: Rows, where: str, counts: list[int], key: str) -> str:
    """Return what an executor needs for a message, with the fewest callbacks and with the most."""
    each = {
        who: [rows[where, n, who][key] / (MESSAGES_A_SECOND * n) for n in (counts[0], counts[-1])]
        for who in ("isolated", "single", "multi", "pool")
    }
    return "; ".join(f"{who} {few:.1f}, {many:.1f}" for who, (few, many) in each.items()) + (
        f" (with {counts[0]} and {counts[-1]} callbacks)"
    )


def _span(ratios: list[float]) -> str:
    return f"{min(ratios):.2f} to {max(ratios):.2f}" if ratios else "-"
