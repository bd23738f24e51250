# Copyright 2026 The rclrt Authors
# SPDX-License-Identifier: Apache-2.0
"""Jobs dropped and response times of seven timers on one CPU [Teper25 Figs. 4 to 7].

Four cameras, two LiDARs and an IMU at 60, 80 and 90 % of CPU 0. Executors of today (all of the
process at SCHED_FIFO 50), the events executor by rate (RM) and by deadline (EDF), and rclrt's pool
and isolated executor take turns. Each response is held against its bound: that of Theorem 1, which
the paper prints, and the exact one of rclrt_analysis, both for the RM events executor. Its jobs
notice when their thread does not run, since the host of a virtual machine may take the CPU, or
another program: `away_ms` is that for the longest response (pauses of more than 0.1 ms),
`net_max_ms` the longest response without it.
"""

import argparse
import bisect
from collections.abc import Mapping
from itertools import product
from typing import Any

from rclrt_analysis.plots import Plot
from rclrt_benchmarks.experiments.table_1 import PRINTED, bounds_of
from rclrt_benchmarks.harness.frame import (
    Result,
    needs_fifo,
    options,
    path_of,
    perform,
    source,
    summary,
    table,
    turns,
)
from rclrt_benchmarks.harness.row import Judged, Machine, Row, at_most, open_row, stated
from rclrt_tools.arguments import number_from

LEVELS = (60, 80, 90)
TASKS = ("Imu", "Camera", "Lidar")
EXECUTORS = {
    "default": "wait_set_single_fifo50",
    "static": "static_fifo50",
    "events_fifo": "events_fifo_fifo50",
    "priority_events": "priority_events",
    "priority_events_edf": "priority_events --policy edf",
    "preemptive": "preemptive",
    "isolated": "isolated",
}
BOUNDED = "priority_events"
PRIORITY = 50
CPU = "0"
PAUSE_NS = 100_000
"""From job to job it takes less."""

TODAY = ("default", "static", "events_fifo")
NAMES = {
    "default": "default executor",
    "static": "static executor",
    "events_fifo": "events executor, FIFO",
    "priority_events": "RM events",
    "priority_events_edf": "EDF events",
    "preemptive": "preemptive, RM (ours at its best)",
    "isolated": "a thread for each, RM",
}
BELOW = "every measured response below its bound"


def add_arguments(parser: argparse.ArgumentParser) -> None:
    """Declare the options."""
    options(parser, rounds=2)
    parser.add_argument(
        "--seconds", type=number_from(0.5, 3600, "s"), default=13.0, help="of a turn (%(default)g)"
    )


def run(arguments: argparse.Namespace) -> int:
    """Run the experiment."""
    return perform(arguments, _measure, _show, judge_drops, judge_responses)


def _measure(arguments: argparse.Namespace) -> Result:
    from rclrt_tools.reference.program import Interrupt, ProgramError

    needs_fifo(PRIORITY)
    bounds = {level: bounds_of(level) for level in LEVELS}
    programs = {level: _program(level) for level in LEVELS}
    programs[LEVELS[0]].calibrate()
    found: dict[tuple[int, str], list[Any]] = {}
    with Interrupt() as interrupt:
        for order in turns(tuple(EXECUTORS), arguments.rounds):
            for level, program in programs.items():
                program.iterations_per_ms = programs[LEVELS[0]].iterations_per_ms
                for name in order:
                    if interrupt.requested:
                        raise ProgramError(1, "interrupted")
                    report = program.run(interrupt, EXECUTORS[name], arguments.seconds)
                    found.setdefault((level, name), []).append(report)
    rows = [
        _row(level, name, task, found[level, name], bounds[level][task])
        | (_net(task, found[level, name]) if name == BOUNDED else {})
        for level in LEVELS
        for name in EXECUTORS
        for task in TASKS
    ]
    return {"rows": rows}


def _program(level: int) -> Any:
    """Return what runs the scenario; after an executor's name there may be options."""
    from rclrt_tools.reference.program import Program

    class WithOptions(Program):
        def command(self, executor: str, seconds: float, work_ms: float | None = None) -> list[str]:
            name, *more = executor.split()
            return [*super().command(name, seconds, work_ms), *more]

    scenario = source() / "try/rclrt_scenarios" / f"teper_seven_timers_{level}.yaml"
    path = path_of("rclrt_reference_system", "rclrt_reference_system")
    return WithOptions(path, scenario, cpus=CPU)


def _row(
    level: int, name: str, task: str, reports: list[Any], bounds: Mapping[str, int | None]
) -> Result:
    callbacks = [
        callback
        for report in reports
        for callback in report["callbacks"]
        if callback["node"].startswith(task)
    ]
    response = [(end - release) / 1e6 for one in callbacks for release, _, end, *_ in one["jobs"]]
    return {
        "level": level,
        "executor": name,
        "task": task,
        "dropped": sum(one["lost"] for one in callbacks),
        "misses": sum(one["deadline_misses"] for one in callbacks),
        "deadline_ms": callbacks[0]["deadline_ms"] or callbacks[0]["period_ms"],
        **{f"bound_{way}_ms": None if ns is None else ns / 1e6 for way, ns in bounds.items()},
        "in_force": all(report["attributes_in_force"] for report in reports),
        **summary(response, "ms", 4),
    }


def _net(task: str, reports: list[Any]) -> dict[str, float]:
    """Return how long the thread was away in the longest response, and the longest without.

    What it was away since it last had nothing to do is what the response is longer by.
    """
    found = []
    for report in reports:
        jobs = sorted((s, e, a) for one in report["callbacks"] for _, s, e, *_, a in one["jobs"])
        every = [(start, end) for start, end, _ in jobs]
        for callback in report["callbacks"]:
            if callback["node"].startswith(task):
                for release, _, end, *_ in callback["jobs"]:
                    first = bisect.bisect_left(every, (_busy_since(release, every), 0))
                    last = bisect.bisect_left(every, (end, 0))
                    part = sum(away for *_, away in jobs[first:last])
                    found.append(((end - release) / 1e6, part / 1e6))
    return {"away_ms": max(found)[1], "net_max_ms": max(whole - part for whole, part in found)}


def _busy_since(time: int, jobs: list[tuple[int, int]]) -> int:
    """Return when the thread began the first of the jobs that it ran without a pause until then."""
    place = bisect.bisect_left(jobs, (time, 0))
    while place > 0 and jobs[place - 1][1] >= time - PAUSE_NS:
        place -= 1
        time = min(time, jobs[place][0])
    return time


def _show(result: Result) -> None:
    table(
        result["rows"], ("U %", "level", "d"), ("executor", "executor", ""), ("task", "task", ""),
        ("n", "n", "d"), ("dropped", "dropped", "d"), ("misses", "misses", "d"),
        ("p50", "p50_ms", ".2f"), ("max", "max_ms", ".2f"), ("Theorem 1", "bound_paper_ms", ".2f"),
        ("exact", "bound_exact_ms", ".2f"),
        ("", lambda row: "" if row["in_force"] else "REFUSED: without its priorities", ""),
        title="response times, ms; bounds are of the RM events executor",
    )  # fmt: skip


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
    for task, level in product(TASKS, LEVELS):
        printed = float(PRINTED[level][task])
        mine = of["priority_events", task, level]
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
        of["preemptive", "Imu", level]["max_ms"] / of["priority_events", "Imu", level]["max_ms"]
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
            {"paper's bound": float(PRINTED[90][task])},
        )
        for task in ("Camera", "Lidar", "Imu")
    ]  # fmt: skip
    return Judged(found, plots)
