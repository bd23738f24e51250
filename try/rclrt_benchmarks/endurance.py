# Copyright 2026 The rclrt Authors
# SPDX-License-Identifier: Apache-2.0
"""One hour at 70 % of a CPU: what an executor does at its end that it did not at first.

The Autoware Reference System runs under each executor in turn, in one process each, on one CPU,
with so much work in each callback that the pool uses 70 % of it. They share the hour.

latency     of the hot path, from the reception of its data to the start of the sink, ms
first, last the median of it in the first and in the last tenth of the turn
drift       of the timer whose releases have moved most against its period since the first tenth, ms
dropped     timer releases that were left out, and messages lost, of all jobs
RSS         memory that became resident during the turn, MiB
once a day  what the latency exceeds once in 24 hours, if its largest 5 % are of one distribution
            [Coles01]: an estimate with its interval of 95 %, never a bound. "poor fit": they are
            not

Exits with 1 when it fails, with 2 for wrong arguments or without permission for SCHED_FIFO.
"""

from __future__ import annotations

import argparse
import json
import math
import os
import statistics
import sys
from collections.abc import Sequence
from itertools import pairwise
from pathlib import Path
from typing import Any

from rclrt_analysis.arguments import number_from, some_of, writable_file
from rclrt_analysis.statistics import percentile, quantiles

EXECUTORS = (
    "waitset_single", "waitset_multi", "waitset_multi_fifo50", "events_fifo", "priority_events",
    "isolated", "preemptive",
)  # fmt: skip
SCENARIO = "autoware_reference_system.yaml"
CALIBRATED = "preemptive"
# Two times of work of a callback tell what the load is without any; each for so many seconds.
CALIBRATION_MS, CALIBRATION_S = (1.0, 3.0), 1.8
LOAD = 0.7
TENTHS = 10
PRIORITY = 50
CPU = "0"
MS = 1e6
DAY_S = 86_400.0
POOR_FIT = 0.05


def add_arguments(parser: argparse.ArgumentParser) -> None:
    """Declare the options."""
    parser.add_argument("--json", type=writable_file, metavar="FILE", help="write the rows there")
    parser.add_argument(
        "--minutes",
        type=number_from(0.05, 10_000, "minutes"),
        default=60.0,
        help="for all (%(default)g)",
    )
    parser.add_argument(
        "--executors",
        type=some_of(EXECUTORS),
        default=EXECUTORS,
        metavar="A,B",
        help=",".join(EXECUTORS),
    )


def run(arguments: argparse.Namespace) -> int:
    """Run the experiment."""
    from rclrt_analysis.reference.environment import may_use_realtime
    from rclrt_analysis.reference.program import Interrupt, Program, ProgramError, find_program

    if not may_use_realtime(PRIORITY):
        print("SCHED_FIFO is not permitted: docs/how-to/real-time-permissions.md", file=sys.stderr)
        return 2
    if not find_program().exists():
        print(f"{find_program()} is not built. Run ./rclrt build", file=sys.stderr)
        return 1
    scenario = Path(os.environ.get("RCLRT_SOURCE_DIR", ".")) / "try/rclrt_scenarios" / SCENARIO
    program = Program(find_program(), scenario, cpus=CPU)
    seconds = 60 * arguments.minutes / len(arguments.executors)
    rows = []
    with Interrupt() as interrupt:
        try:
            program.calibrate()
            loads = [
                _load(program.run(interrupt, CALIBRATED, CALIBRATION_S, work_ms)[0])
                for work_ms in CALIBRATION_MS
            ]
            program.work_ms = _work(*loads)
            print(f"{program.work_ms:.2f} ms of work a callback", file=sys.stderr)
            for name in arguments.executors:
                if interrupt.requested:
                    raise ProgramError(1, "interrupted")
                (report,) = program.run(interrupt, name, seconds)
                rows.append(_row(name, report))
                _print(rows[-1:], with_title=len(rows) == 1)
        except ProgramError as error:
            print(error, file=sys.stderr)
            return 1
    if arguments.json:
        text = json.dumps({"schema": 1, "work_ms": program.work_ms, "rows": rows}, indent=1)
        arguments.json.write_text(text + "\n", encoding="utf-8")
    return 0


def _load(report: dict[str, Any]) -> float:
    """Return the share of a CPU that a run has used."""
    seconds = (report["measured_to_ns"] - report["measured_from_ns"]) / 1e9
    return float(report["cpu_s"] / seconds)


def _work(with_little: float, with_much: float) -> float:
    """Return the work of a callback, ms, with which the load is `LOAD`."""
    little, much = CALIBRATION_MS
    each = (with_much - with_little) / (much - little)
    return max(0.1, little + (LOAD - with_little) / max(each, 0.01))


def _row(name: str, report: dict[str, Any]) -> dict[str, Any]:
    from rclrt_analysis.extremes import fit_tail

    seconds = (report["measured_to_ns"] - report["measured_from_ns"]) / 1e9
    samples = sorted(report["hot_path"]["samples"])
    latency = [(start - received) / MS for received, start, *_ in samples]
    jobs = sum(len(one["jobs"]) for one in report["callbacks"])
    dropped = sum(one["lost"] for one in report["callbacks"])
    tail = fit_tail(latency, len(latency) * max(2.0, DAY_S / seconds))
    ordered = sorted(latency)
    first, last = (_median(_tenth(latency, number)) for number in (0, TENTHS - 1))
    return {
        "executor": name,
        "minutes": seconds / 60,
        "load": _load(report),
        "n": len(latency),
        "p50_ms": percentile(ordered, 0.5),
        "p99_ms": percentile(ordered, 0.99),
        "max_ms": ordered[-1] if ordered else None,
        "first_ms": first,
        "last_ms": last,
        "tenths_max_ms": [max(part) for part in _tenths(latency) if part],
        "drift_ms": _drift(report["callbacks"]),
        "jobs": jobs + dropped,
        "dropped": dropped,
        "late": sum(one["deadline_misses"] for one in report["callbacks"]),
        "grown_mib": report["rss_mib"] - report["rss_mib_before"],
        "in_force": report["attributes_in_force"],
        "tail": vars(tail) if tail else None,
        "quantiles_ms": [round(ms, 4) for ms in quantiles(ordered)],
    }


def _tenth(values: Sequence[Any], number: int) -> Sequence[Any]:
    edge = [round(i * len(values) / TENTHS) for i in (number, number + 1)]
    return values[edge[0] : edge[1]]


def _tenths(values: Sequence[Any]) -> list[Sequence[Any]]:
    return [_tenth(values, number) for number in range(TENTHS)]


def _median(values: Sequence[float]) -> float | None:
    return statistics.median(values) if values else None


def _drift(callbacks: Sequence[dict[str, Any]]) -> float:
    """Return the shift of a timer's releases against its period, the largest of all, ms."""
    largest = 0.0
    for one in callbacks:
        if one["kind"] != "timer" or not one["period_ms"] or len(one["jobs"]) < 2 * TENTHS:
            continue
        offsets = [0.0]
        for before, after in pairwise(release / MS for release, *_ in one["jobs"]):
            # Releases may be left out, so whole periods count for nothing.
            periods = round((after - before) / one["period_ms"])
            offsets.append(offsets[-1] + after - before - periods * one["period_ms"])
        first, last = (statistics.median(_tenth(offsets, i)) for i in (0, TENTHS - 1))
        if abs(last - first) > abs(largest):
            largest = last - first
    return largest


def _print(rows: list[dict[str, Any]], *, with_title: bool) -> None:
    if with_title:
        print(
            f"  {'executor':21} {'load':>5} {'n':>7} {'p50':>7} {'p99':>8} {'max':>8} {'first':>7}"
            f" {'last':>7} {'drift':>7} {'dropped':>14} {'RSS':>6}  once a day"
        )
    for row in rows:
        cells = [_ms(row[f"{key}_ms"]) for key in ("p50", "p99", "max", "first", "last")]
        dropped = f"{row['dropped']} of {row['jobs']}"
        print(
            f"  {row['executor']:21} {100 * row['load']:4.0f}% {row['n']:7} {cells[0]:>7}"
            f" {cells[1]:>8} {cells[2]:>8} {cells[3]:>7} {cells[4]:>7} {row['drift_ms']:7.3f}"
            f" {dropped:>14} {row['grown_mib']:6.2f}  {_daily(row['tail'])}"
            + ("" if row["in_force"] else "  REFUSED: without its priorities"),
            flush=True,
        )


def _daily(tail: dict[str, Any] | None) -> str:
    if tail is None:
        return "too few samples"
    if not math.isfinite(tail["high"]):
        return "no estimate"
    poor = f", poor fit (p={tail['fits']:.2f})" if tail["fits"] < POOR_FIT else ""
    return f"{tail['level']:.1f} ({tail['low']:.1f} to {tail['high']:.1f}){poor}"


def _ms(value: float | None) -> str:
    return "-" if value is None else f"{value:.2f}"
