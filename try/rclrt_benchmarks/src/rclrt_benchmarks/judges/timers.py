# Copyright 2026 The rclrt Authors
# SPDX-License-Identifier: Apache-2.0
"""Jitter of timers [ROSRT Table III, Fig. 9], and the cost of creating threads [ROSRT Fig. 5]."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

from rclrt_analysis.evaluation.experiment import Judged, Machine
from rclrt_analysis.evaluation.row import (
    FAILS,
    TOO_FEW,
    Plot,
    Row,
    at_most,
    open_row,
    ratio_of,
    stated,
)

# Period in ms: 99th percentiles of ROSRT, native, events executor, us.
TABLE_3 = {
    0.1: (1.8, 1.6, 1.5),
    0.5: (2.1, 7.3, 1.4),
    1.0: (10.4, 10.6, 10.4),
    10.0: (10.2, 19.9, 8.5),
    50.0: (11.0, 22.1, 12.8),
    100.0: (10.7, 24.1, 13.5),
}
NEAR = 1.2
YARDSTICK = "cyclictest"
NATIVE = "waitset_multi"
BEST = "events_re"
HANDS_OVER = "the thread that waits for timers wakes the one that runs the callback: two wake-ups"
NO_YARDSTICK = "no cyclictest: apt-get install rt-tests"
LEAST_US = 0.1
PLOTTED_MS = (0.1, 1.0, 10.0, 100.0)

Rows = Mapping[tuple[float, str], Mapping[str, Any]]


def _rows(result: Mapping[str, Any]) -> Rows:
    return {(row["period_ms"], row["executor"]): row for row in result["rows"]}


def _ratio(rows: Rows, period: float, name: str, other: str, key: str = "p99_us") -> float | None:
    mine, theirs = (rows.get((period, who), {}).get(key) for who in (name, other))
    return ratio_of(mine, theirs)


def _both(rows: Rows, period: float, name: str, other: str) -> str:
    cells = [rows[period, who]["p99_us"] for who in (name, other)]
    if None in cells:
        return "-"
    n = rows[period, name]["n"]
    return f"{cells[0] / cells[1]:.2f} ({cells[0]:.1f} / {cells[1]:.1f} us, n={n})"


def _rounds(rows: Rows, period: float, name: str, other: str) -> tuple[float, ...]:
    pair = [rows[period, who]["rounds_p90_us"] for who in (name, other)]
    return tuple(a / b for a, b in zip(*pair, strict=True) if a and b)


def _drift(row: Mapping[str, Any]) -> Row:
    """Judge the mean, but for periods that were skipped.

    The jitters of a turn add up to what its last start was off less its first one: twice what lies
    between the percentiles is far more than that, and a drift would soon be more.
    """
    name, paper = f"{row['executor']}, {row['period_ms']:g} ms: mean", "0.0 (-0.1) us"
    spread = _spread(row)
    if spread is None:
        return open_row(name, paper, "no drift", TOO_FEW)
    limit = 2 * spread * row["turns"] / row["n"] + 0.05
    skipped = f", {row['skipped']} periods skipped" if row["skipped"] else ""
    return stated(
        name, paper, f"{row['drift_us']:.3f} us{skipped}", "no drift",
        abs(row["drift_us"]) <= limit,
    )  # fmt: skip


def judge(result: Mapping[str, Any], _: Machine) -> Judged:
    """Judge one timer."""
    rows = _rows(result)
    periods = sorted({period for period, _ in rows})
    found: list[Row] = []
    for period in periods:
        ours, native, events = TABLE_3.get(period, (None, None, None))
        for name, printed in (("pool", ours), ("events", events)):
            found.append(_against_yardstick(rows, period, name, printed))
            if name == "pool" and ours and native:
                found.append(
                    _explained(
                        at_most(
                            f"pool / wait set, {period:g} ms: p99",
                            _ratio(rows, period, name, NATIVE),
                            1.0,
                            shape="the wait set significantly worse in almost all cases",
                            paper=f"{ours / native:.2f} ({ours:g} / {native:g} us)",
                            printed=ours / native,
                            ours=_both(rows, period, name, NATIVE),
                            rounds=_rounds(rows, period, name, NATIVE),
                        ),
                        _with_one(_ratio(rows, period, BEST, NATIVE)),
                    )
                )
            found.append(_drift(rows[period, name]))
        if (period, BEST) in rows:
            found.append(_against_yardstick(rows, period, BEST, None))
    plots = []
    for period in periods:
        if period not in PLOTTED_MS:
            continue
        curves = _without_sign(rows, period)
        marks = {}
        if period in TABLE_3:
            names = ("ROS^RT", "native", "events")
            marks = {
                f"paper's p99, {who}": us for who, us in zip(names, TABLE_3[period], strict=True)
            }
        plots.append(
            Plot(f"one timer, {period:g} ms: jitter without its sign", "us", curves, marks)
        )
    return Judged(found, plots)


def _against_yardstick(rows: Rows, period: float, name: str, printed: float | None) -> Row:
    title = f"{name} / cyclictest, {period:g} ms: p99"
    paper = "not printed" if printed is None else f"p99 {printed:g} us"
    shape = "no worse than cyclictest by more than 20 %"
    if (period, YARDSTICK) not in rows:
        return open_row(title, paper, shape, NO_YARDSTICK)
    if name == BEST:
        title = f"ours at its best: release-and-execute / cyclictest, {period:g} ms: p99"
        shape = "no hand-over: as near to cyclictest"
    row = at_most(
        title, _ratio(rows, period, name, YARDSTICK), NEAR, shape=shape, paper=paper,
        ours=_both(rows, period, name, YARDSTICK), rounds=_rounds(rows, period, name, YARDSTICK),
    )  # fmt: skip
    if name != BEST:
        return _explained(row, _with_one(_ratio(rows, period, BEST, YARDSTICK)))
    if row.verdict == FAILS:
        rounds = ", ".join(f"{ratio:.2f}" for ratio in row.rounds)
        row.why = f"90th percentiles of its rounds / those of cyclictest: {rounds}"
    return row


def _explained(row: Row, with_one: str) -> Row:
    """Return a row of an executor that hands over, and why it does not hold, if it does not."""
    if row.verdict == FAILS:
        row.why = HANDS_OVER + with_one
    return row


def _with_one(ratio: float | None) -> str:
    return "" if ratio is None else f"; with one (release-and-execute) {ratio:.2f}"


def _without_sign(rows: Rows, period: float) -> dict[str, list[float]]:
    """Return distributions for an axis of logarithms: early and late are much alike."""
    return {
        who: sorted(max(LEAST_US, abs(us)) for us in row["quantiles_us"])
        for (at, who), row in rows.items()
        if at == period
    }


def _spread(row: Mapping[str, Any]) -> float | None:
    low, high = row["p1_us"], row["p99_us"]
    return None if low is None or high is None else high - low


def judge_ten(result: Mapping[str, Any], _: Machine) -> Judged:
    """Judge ten timers at once."""
    rows = _rows(result)
    found = []
    curves = {}
    for period in sorted({period for period, _ in rows}):
        mine = {who: _spread(row) for (at, who), row in rows.items() if at == period}
        for name in ("pool", "isolated", "events"):
            ratio = ratio_of(mine.get(name), mine.get(NATIVE))
            best = " (ours: a thread a group)" if name == "isolated" else ""
            row = at_most(
                f"{name}{best} / wait set with ten threads: p1 to p99", ratio, 1.0,
                shape="tighter than the multi-threaded wait set", paper="a figure",
                rounds=_rounds(rows, period, name, NATIVE),
            )  # fmt: skip
            found.append(_explained(row, _with_one(ratio_of(mine.get(BEST), mine.get(NATIVE)))))
        if BEST in mine:
            found.append(
                at_most(
                    "ours at its best: release-and-execute / wait set with ten threads: p1 to p99",
                    ratio_of(mine[BEST], mine.get(NATIVE)), 1.0,
                    shape="tighter, since the thread that waits for timers runs them",
                    rounds=_rounds(rows, period, BEST, NATIVE),
                )
            )  # fmt: skip
        if YARDSTICK in mine:
            row = at_most(
                "pool / cyclictest with ten threads: p1 to p99",
                ratio_of(mine.get("pool"), mine[YARDSTICK]), 2.0,
                shape="ours: at most twice what ten threads that only sleep have",
            )  # fmt: skip
            found.append(_explained(row, _with_one(ratio_of(mine.get(BEST), mine[YARDSTICK]))))
        curves = _without_sign(rows, period)
    return Judged(found, [Plot("ten timers, 10 ms: jitter without its sign", "us", curves)])


FAR_UNDER_US = 100.0


def judge_threads(result: Mapping[str, Any], _: Machine) -> Judged:
    """Judge creating threads against releasing a job."""
    rows = {(row["way"], row["what"]): row for row in result["rows"]}
    found: list[Row] = []
    for way, name in (("joined", "one after the other"), ("not_joined", "without joining")):
        p50 = rows[way, "call"]["p50_us"]
        found.append(
            at_most(
                f"pthread_create(), {name}: median / 100 us", ratio_of(p50, FAR_UNDER_US), 1.0,
                shape="the median far under 100 us", paper="a figure",
                ours="-" if p50 is None else f"{p50:.1f} us",
            )
        )  # fmt: skip
    for what, text in (("call", "the call"), ("start", "until it begins")):
        mine, theirs = (rows[way, what]["p50_us"] for way in ("pool", "joined"))
        ratio = ratio_of(mine, theirs)
        found.append(
            at_most(
                f"release for the pool / creating a thread, {text}: median", ratio, 1.0,
                shape="giving a job to a thread that exists is cheaper", paper="the reason for it",
                ours="-" if ratio is None else f"{ratio:.2f} ({mine:.1f} / {theirs:.1f} us)",
                rounds=tuple(
                    a / b
                    for a, b in zip(
                        *(rows[way, what]["rounds_p50_us"] for way in ("pool", "joined")),
                        strict=True,
                    )
                    if a and b
                ),
            )
        )  # fmt: skip
    curves = {f"{way}, {what}": row["quantiles_us"] for (way, what), row in rows.items()}
    return Judged(found, [Plot("creating a thread, and a release for the pool", "us", curves)])
