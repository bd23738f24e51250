# Copyright 2026 The rclrt Authors
# SPDX-License-Identifier: Apache-2.0
"""From publication to start of the callback [ROSRT Figs. 7, 8]."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

from rclrt_analysis.evaluation.experiment import Judged, Machine
from rclrt_analysis.evaluation.row import FAILS, Plot, Row, at_most, ratio_of

ONE, IDLE, FAN_OUT = "1 subscription", "1 + 100 idle", "10 subscriptions"
WAIT_SETS = ("waitset_single", "waitset_multi")
FLOOR = "floor_handover"
# 99th percentiles that the paper prints, us.
PAPER_P99 = {
    ONE: {"pool": 47.0, "events": 45.0, "waitset_single": 55.0, "waitset_multi": 61.0},
    IDLE: {"waitset_multi": 88.0},
    FAN_OUT: {"pool": 69.0, "events": 67.0, "waitset_single": 104.0, "waitset_multi": 174.0},
}
MUCH_SMALLER = 0.75
UNCHANGED = 1.15

Rows = Mapping[tuple[str, str], Mapping[str, Any]]


def _rows(result: Mapping[str, Any]) -> Rows:
    return {(row["case"], row["executor"]): row for row in result["rows"]}


def _figure(rows: Rows, case: str, name: str, key: str) -> float | None:
    value = rows.get((case, name), {}).get(key)
    return None if value is None else float(value)


def _both(value: float | None, other: float | None) -> str:
    return " / ".join("-" if v is None else f"{v:.1f}" for v in (value, other)) + " us"


def plot(rows: Rows, case: str) -> Plot:
    """Return the distributions of one case, with what the paper says of the pool."""
    curves = {
        name: row["quantiles_us"]
        for (where, name), row in rows.items()
        if where == case and not name.endswith("_default")
    }
    marks = {f"paper's p99, {name}": us for name, us in PAPER_P99[case].items()}
    return Plot(f"{case}: from publication to start", "us", curves, marks)


def judge(result: Mapping[str, Any], _: Machine) -> Judged:
    """Judge one subscription alone."""
    rows = _rows(result)
    paper = PAPER_P99[ONE]
    least = min(paper[name] for name in WAIT_SETS)
    found = []
    for name in ("pool", "events", "pool_inline"):
        p99 = _figure(rows, ONE, name, "p99_us")
        theirs = [_figure(rows, ONE, other, "p99_us") for other in WAIT_SETS]
        known = [value for value in theirs if value is not None]
        other = min(known) if len(known) == len(WAIT_SETS) else None
        best = name == "pool_inline"
        row = at_most(
            f"{name}, p99 / that of the better wait set",
            ratio_of(p99, other), 1.0,
            shape="pool and events below both wait-set executors"
            if not best
            else "ours at its best: the middleware's thread runs the callback, no hand-over",
            paper=f"{paper[name] / least:.2f} ({paper[name]:g} / {least:g} us)"
            if not best
            else f"{paper['events'] / least:.2f}, the events executor",
            printed=paper["events" if best else name] / least,
            ours=f"{_text(ratio_of(p99, other))} ({_both(p99, other)}, n={_count(rows, name)})",
            rounds=_rounds(rows, name, min(WAIT_SETS, key=lambda w: paper[w])),
        )  # fmt: skip
        if row.verdict == FAILS:
            row.why = f"the tail alone: {_medians(rows, name)}"
        found.append(row)
    p50, floor = (_figure(rows, ONE, name, "p50_us") for name in ("pool", FLOOR))
    found.append(
        at_most(
            "pool, p50 / a bare hand-over to a thread",
            ratio_of(p50, floor), 1.3,
            shape="near the least that a thread of its own can cost",
            ours=f"{_text(ratio_of(p50, floor))} ({_both(p50, floor)})",
        )
    )  # fmt: skip
    return Judged(found, [plot(rows, ONE)])


def _medians(rows: Rows, name: str) -> str:
    found = (ratio_of(*(_figure(rows, ONE, n, "p50_us") for n in (name, w))) for w in WAIT_SETS)
    return "the medians are " + " and ".join(_text(ratio) for ratio in found) + " of the wait sets'"


def _count(rows: Rows, name: str, case: str = ONE) -> int:
    return int(rows.get((case, name), {}).get("n", 0))


def _text(value: float | None) -> str:
    return "-" if value is None else f"{value:.2f}"


def _rounds(rows: Rows, name: str, other: str, case: str = ONE) -> tuple[float, ...]:
    """Return the ratio of medians of each round."""
    pair = [rows.get((case, n), {}).get("rounds_p50_us", []) for n in (name, other)]
    return tuple(a / b for a, b in zip(*pair, strict=False) if a and b)


def _growth(rows: Rows, case: str, name: str, key: str) -> float | None:
    return ratio_of(_figure(rows, case, name, key), _figure(rows, ONE, name, key))


def judge_idle(result: Mapping[str, Any], _: Machine) -> Judged:
    """Judge subscriptions that nobody publishes to."""
    rows = _rows(result)
    case = IDLE
    multi = _growth(rows, case, "waitset_multi", "p50_us")
    found: list[Row] = []
    for name in ("pool", "events"):
        growth = _growth(rows, case, name, "p50_us")
        found.append(_unchanged(rows, case, name, 100, paper="almost unchanged"))
        ratio = ratio_of(growth, multi)
        found.append(
            at_most(
                f"growth of {name} / growth of the multi-threaded wait set, medians",
                ratio, 1.0,
                shape="wait-set executors grow, event-driven ones do not",
                paper="below 1 (the wait set's p99 grows by 1.44, 61 to 88 us)",
                ours=f"{_text(ratio)} ({_text(growth)} / {_text(multi)})",
            )
        )  # fmt: skip
    found.append(
        _unchanged(rows, "1 + 1000 idle", "pool", 1000, "ours: the same with ten times as many")
    )
    return Judged(found, [plot(rows, case)])


def _unchanged(
    rows: Rows, case: str, name: str, idle: int,
    shape: str = "event-driven executors do not grow", paper: str = "not printed",
) -> Row:  # fmt: skip
    """Judge a median, less what a thread that is woken by hand has grown by meanwhile.

    The cases are measured minutes apart, and the machine is not the same then.
    """
    growth, floor = (_growth(rows, case, who, "p50_us") for who in (name, FLOOR))
    return at_most(
        f"{name}: median beside {idle} idle subscriptions / alone, relative to a bare hand-over",
        ratio_of(growth, floor), UNCHANGED, shape=shape, paper=paper,
        ours=f"{_text(ratio_of(growth, floor))} ({_text(growth)} / {_text(floor)})",
        rounds=_rounds_between(rows, case, name),
    )  # fmt: skip


def _rounds_between(rows: Rows, case: str, name: str) -> tuple[float, ...]:
    mine, alone = (_rounds(rows, name, FLOOR, where) for where in (case, ONE))
    return tuple(a / b for a, b in zip(mine, alone, strict=False))


def judge_fan_out(result: Mapping[str, Any], _: Machine) -> Judged:
    """Judge ten subscriptions to one topic."""
    rows = _rows(result)
    paper = {name: PAPER_P99[FAN_OUT][name] / PAPER_P99[ONE][name] for name in PAPER_P99[ONE]}
    multi = _growth(rows, FAN_OUT, "waitset_multi", "p99_us")
    found = []
    for name in ("pool", "events"):
        growth = _growth(rows, FAN_OUT, name, "p99_us")
        ratio = ratio_of(growth, multi)
        printed = paper[name] / paper["waitset_multi"]
        row = at_most(
            f"growth of {name} / growth of the multi-threaded wait set, p99, 1 to 10",
            ratio, MUCH_SMALLER,
            shape="much smaller growth than the multi-threaded wait set's",
            paper=f"{printed:.2f} ({paper[name]:.2f} / {paper['waitset_multi']:.2f})",
            printed=printed,
            ours=f"{_text(ratio)} ({_text(growth)} / {_text(multi)})",
        )  # fmt: skip
        if row.verdict == FAILS and multi is not None and multi < paper["waitset_multi"]:
            row.why = f"here the wait set grows by {multi:.2f} only"
        found.append(row)
        p50 = ratio_of(
            _figure(rows, FAN_OUT, name, "p50_us"),
            _figure(rows, FAN_OUT, "waitset_multi", "p50_us"),
        )
        found.append(
            at_most(
                f"{name}, median of ten / that of the multi-threaded wait set", p50, 1.0,
                shape="below the wait set with ten subscriptions as well",
                rounds=_rounds(rows, name, "waitset_multi", FAN_OUT),
            )
        )  # fmt: skip
    return Judged(found, [plot(rows, FAN_OUT)])
