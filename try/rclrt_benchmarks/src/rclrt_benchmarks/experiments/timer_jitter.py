# Copyright 2026 The rclrt Authors
# SPDX-License-Identifier: Apache-2.0
"""Jitter of timers: start of a callback minus the start before, minus the period.

One timer with periods from 0.1 to 100 ms [ROSRT Table III], or --timers 10 of them [ROSRT Fig. 9];
all at SCHED_FIFO 50. Executors take turns in rounds, and so does cyclictest of rt-tests, if it is
installed (apt: rt-tests): it is the yardstick, since it does nothing but sleep until the next
period. It is told not to keep CPUs from sleeping, as no executor does that. "priority_events_re" is
the events executor with release-and-execute: the thread that waits for timers runs them, and hands
over to no other one.
"""

import argparse
import math
import re
import shutil
from collections.abc import Mapping
from itertools import pairwise
from typing import Any

from rclrt_analysis.plots import Plot
from rclrt_benchmarks.harness.frame import (
    FailedError,
    Result,
    needs_fifo,
    options,
    output,
    parsed,
    path_of,
    perform,
    summary,
    table,
    turns,
)
from rclrt_benchmarks.harness.row import (
    FAILS,
    TOO_FEW,
    Judged,
    Machine,
    Row,
    at_most,
    open_row,
    ratio_of,
    stated,
)
from rclrt_tools.arguments import positive
from rclrt_tools.statistics import percentile

EXECUTORS = (
    "preemptive", "priority_events", "priority_events_re", "isolated", "wait_set_single",
    "wait_set_multi", "events_fifo",
)  # fmt: skip
YARDSTICK = "cyclictest"
PRIORITY = 50
PERIODS_MS = (0.1, 0.5, 1.0, 10.0, 50.0, 100.0)
WARM_UP = 10
SPARE = 30
LEAST_SAMPLES = 5
SAMPLE = re.compile(r"^ *(\d+): *\d+: *(-?\d+)$", re.MULTILINE)

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
NATIVE = "wait_set_multi"
BEST = "priority_events_re"
TEN_WAKE_UPS = "a second thread comes, in case that the first job blocks; a wait set runs all due"
NO_YARDSTICK = "no cyclictest: apt-get install rt-tests"
LEAST_US = 0.1
PLOTTED_MS = (0.1, 1.0, 10.0, 100.0)


def _periods(text: str) -> tuple[float, ...]:
    found = tuple(float(word) for word in text.split(","))
    if any(not 0.1 <= ms <= 10_000 for ms in found):
        raise argparse.ArgumentTypeError(f"{text}: periods are from 0.1 to 10000 ms")
    return found


def _timers(text: str) -> int:
    value = positive(text)
    if value > 100:
        raise argparse.ArgumentTypeError(f"{value} is more than 100")
    return value


def add_arguments(parser: argparse.ArgumentParser) -> None:
    """Declare the options."""
    options(parser, rounds=5)
    parser.add_argument(
        "--samples", type=positive, default=1000, help="of a timer, a turn (%(default)s)"
    )
    parser.add_argument(
        "--turn-s", type=positive, default=2, metavar="S",
        help="a turn with a long period has fewer samples, to take no longer (%(default)s)",
    )  # fmt: skip
    parser.add_argument(
        "--periods-ms", type=_periods, default=PERIODS_MS, metavar="A,B",
        help="(" + ",".join(f"{ms:g}" for ms in PERIODS_MS) + ")",
    )  # fmt: skip
    parser.add_argument("--timers", type=_timers, default=1, help="at once (%(default)s)")


def run(arguments: argparse.Namespace) -> int:
    """Run the experiment."""
    return perform(arguments, _measure, _show, judge if arguments.timers == 1 else judge_ten)


def _measure(arguments: argparse.Namespace) -> Result:
    needs_fifo(PRIORITY)
    has_yardstick = shutil.which(YARDSTICK) is not None
    if not has_yardstick:
        print("no cyclictest: install the package rt-tests (apt-get install rt-tests)")
    names = [*([YARDSTICK] if has_yardstick else []), *EXECUTORS]
    jitters: dict[tuple[float, str], list[list[float]]] = {}
    in_force: dict[str, set[str]] = {YARDSTICK: {f"fifo {PRIORITY}"}}
    for order in turns(names, arguments.rounds):
        for period_ms in arguments.periods_ms:
            for name in order:
                found = _turn(name, period_ms, arguments, in_force)
                jitters.setdefault((period_ms, name), []).append(found)
    rows = [
        _row(name, period_ms, arguments.timers, jitters[period_ms, name], in_force[name])
        for period_ms in arguments.periods_ms
        for name in names
    ]
    return {"rows": rows}


def _turn(
    name: str, period_ms: float, arguments: argparse.Namespace, in_force: dict[str, set[str]]
) -> list[float]:
    """Return the jitters of one turn, us, of all timers."""
    fit = max(LEAST_SAMPLES, round(arguments.turn_s * 1000 / period_ms))
    samples = min(arguments.samples, fit) + 1
    period_us = round(period_ms * 1000)
    if name == YARDSTICK:
        starts = _cyclictest(period_us, samples, arguments.timers)
    else:
        result = parsed(
            path_of("timer_jitter"), "--executor", name, "--timers", arguments.timers,
            "--period-us", period_us, "--samples", samples, "--warm-up", WARM_UP,
        )  # fmt: skip
        starts = result["starts_ns"]
        in_force.setdefault(name, set()).update(result["in_force"])
    return [
        (after - before) / 1000 - period_us
        for series in starts
        for before, after in pairwise(series)
    ]


def _cyclictest(period_us: int, samples: int, threads: int) -> list[list[int]]:
    """Return when each of its threads has run, ns, from its own first period on."""
    # It ends when the first thread has had all of its cycles; others may have left some out.
    cycles = samples + WARM_UP + SPARE
    said = output(
        YARDSTICK, "--default-system", "-v", "-N", "-d", 0, "-p", PRIORITY, "-t", threads,
        "-i", period_us, "-l", cycles,
    )  # fmt: skip
    return cyclictest_starts(said, period_us, samples, threads)


def cyclictest_starts(text: str, period_us: int, samples: int, threads: int) -> list[list[int]]:
    """Return what its lines `thread: cycle: latency` say: when each cycle was due, and how late.

    After a cycle that is late by more than a period it leaves out those that are over.

    Raises FailedError: They are not as many as were asked for.
    """
    late: dict[int, list[int]] = {number: [] for number in range(threads)}
    for thread, latency in SAMPLE.findall(text):
        late.setdefault(int(thread), []).append(int(latency))
    if len(late) != threads or any(len(values) < samples for values in late.values()):
        raise FailedError(f"{YARDSTICK} does not print {samples} samples of {threads} threads")
    return [_starts(values[-samples:], period_us * 1000) for values in late.values()]


def _starts(late: list[int], period_ns: int) -> list[int]:
    found, due = [], 0
    for latency in late:
        found.append(due + latency)
        due += period_ns * max(1, math.ceil(latency / period_ns))
    return found


def _row(
    name: str, period_ms: float, timers: int, rounds: list[list[float]], policies: set[str]
) -> Result:
    every = [us for one in rounds for us in one]
    period_us = period_ms * 1000
    skipped = sum(round(us / period_us) for us in every)
    low = percentile(sorted(-us for us in every), 0.99)
    return {
        "executor": name,
        "timers": timers,
        "period_ms": period_ms,
        "p1_us": None if low is None else -low,
        "skipped": skipped,
        "drift_us": (sum(every) - skipped * period_us) / len(every),
        "turns": len(rounds) * timers,
        "in_force": sorted(policies),
        "rounds_p90_us": [percentile(sorted(one), 0.9) for one in rounds],
        **summary(every, "us"),
    }


def _show(result: Result) -> None:
    table(
        result["rows"], ("period ms", "period_ms", "g"), ("", "executor", ""), ("n", "n", "d"),
        ("1 %", "p1_us", ".1f"), ("99 %", "p99_us", ".1f"), ("max", "max_us", ".1f"),
        ("skipped", "skipped", "d"), ("drift", "drift_us", ".3f"),
        ("", lambda row: ", ".join(row["in_force"]), ""), title="jitter, us",
    )  # fmt: skip


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
        for name, printed in (("preemptive", ours), ("priority_events", events)):
            found.append(_against_yardstick(rows, period, name, printed))
            if name == "preemptive" and ours and native:
                found.append(
                    _beside_best(
                        at_most(
                            f"preemptive / wait set, {period:g} ms: p99",
                            _ratio(rows, period, name, NATIVE),
                            1.0,
                            shape="the wait set significantly worse in almost all cases",
                            paper=f"{ours / native:.2f} ({ours:g} / {native:g} us)",
                            printed=ours / native,
                            ours=_both(rows, period, name, NATIVE),
                        ),
                        _ratio(rows, period, BEST, NATIVE),
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
        ours=_both(rows, period, name, YARDSTICK),
    )  # fmt: skip
    if name != BEST:
        return _beside_best(row, _ratio(rows, period, BEST, YARDSTICK))
    if row.verdict == FAILS:
        rounds = ", ".join(f"{ratio:.2f}" for ratio in _rounds(rows, period, name, YARDSTICK))
        row.why = f"90th percentiles of its rounds / those of cyclictest: {rounds}"
    return row


def _beside_best(row: Row, ratio: float | None, why: str = "") -> Row:
    """Return the row. If it does not hold: why, and what the best of ours comes to."""
    if row.verdict == FAILS:
        best = "" if ratio is None else f"with release-and-execute {ratio:.2f}"
        row.why = "; ".join(part for part in (why, best) if part)
    return row


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
        for name in ("preemptive", "isolated", "priority_events"):
            ratio = ratio_of(mine.get(name), mine.get(NATIVE))
            best = " (ours: a thread a group)" if name == "isolated" else ""
            row = at_most(
                f"{name}{best} / wait set with ten threads: p1 to p99", ratio, 1.0,
                shape="tighter than the multi-threaded wait set", paper="a figure",
            )  # fmt: skip
            best_of_ours = ratio_of(mine.get(BEST), mine.get(NATIVE))
            found.append(_beside_best(row, best_of_ours, TEN_WAKE_UPS))
        if BEST in mine:
            found.append(
                at_most(
                    "ours at its best: release-and-execute / wait set with ten threads: p1 to p99",
                    ratio_of(mine[BEST], mine.get(NATIVE)), 1.0,
                    shape="tighter, since the thread that waits for timers runs them",
                )
            )  # fmt: skip
        if YARDSTICK in mine:
            row = at_most(
                "preemptive / cyclictest with ten threads: p1 to p99",
                ratio_of(mine.get("preemptive"), mine[YARDSTICK]), 2.0,
                shape="ours: at most twice what ten threads that only sleep have",
            )  # fmt: skip
            best_of_ours = ratio_of(mine.get(BEST), mine[YARDSTICK])
            found.append(_beside_best(row, best_of_ours, TEN_WAKE_UPS))
        curves = _without_sign(rows, period)
    return Judged(found, [Plot("ten timers, 10 ms: jitter without its sign", "us", curves)])
