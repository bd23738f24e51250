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

Exits with 1 when it fails, with 2 for wrong arguments or without permission for SCHED_FIFO.
"""

from __future__ import annotations

import argparse
import bisect
import json
import os
import sys
from pathlib import Path
from typing import Any

from rclrt_analysis.arguments import number_from, positive, writable_file
from rclrt_analysis.statistics import percentile, quantiles

LEVELS = (60, 80, 90)
TASKS = ("Imu", "Camera", "Lidar")
EXECUTORS = {
    "default": "waitset_single_fifo50",
    "static": "static_fifo50",
    "events": "events_fifo_fifo50",
    "events_rm": "priority_events",
    "events_edf": "priority_events --policy edf",
    "pool": "preemptive",
    "isolated": "isolated",
}
BOUNDED = "events_rm"
PRIORITY = 50
CPU = "0"
PAUSE_NS = 100_000
"""From job to job it takes less."""


def add_arguments(parser: argparse.ArgumentParser) -> None:
    """Declare the options."""
    parser.add_argument("--json", type=writable_file, metavar="FILE", help="write the rows there")
    parser.add_argument("--rounds", type=positive, default=2, help="turns of each (%(default)s)")
    parser.add_argument(
        "--seconds", type=number_from(0.5, 3600, "s"), default=13.0, help="of a turn (%(default)g)"
    )


def run(arguments: argparse.Namespace) -> int:
    """Run the experiment."""
    from rclrt_analysis.model import ModelError
    from rclrt_analysis.reference.environment import may_use_realtime
    from rclrt_analysis.reference.program import Interrupt, ProgramError, find_program

    if not may_use_realtime(PRIORITY):
        print("SCHED_FIFO is not permitted: docs/how-to/real-time-permissions.md", file=sys.stderr)
        return 2
    if not find_program().exists():
        print(f"{find_program()} is not built. Run ./rclrt build", file=sys.stderr)
        return 1
    found: dict[tuple[int, str], list[Any]] = {}
    with Interrupt() as interrupt:
        try:
            bounds = {level: _bounds(level) for level in LEVELS}
            programs = {level: _program(level) for level in LEVELS}
            programs[LEVELS[0]].calibrate()
            for number in range(arguments.rounds):
                for level, program in programs.items():
                    program.iterations_per_ms = programs[LEVELS[0]].iterations_per_ms
                    for name, executor in EXECUTORS.items():
                        if interrupt.requested:
                            raise ProgramError(1, "interrupted")
                        (report,) = program.run(interrupt, executor, arguments.seconds)
                        found.setdefault((level, name), []).append(report)
                print(f"round {number + 1} of {arguments.rounds}", file=sys.stderr)
        except (ProgramError, ModelError) as error:
            print(error, file=sys.stderr)
            return 1
    rows = [
        _row(level, name, task, found[level, name], bounds[level][task])
        | (_net(task, found[level, name]) if name == BOUNDED else {})
        for level in LEVELS
        for name in EXECUTORS
        for task in TASKS
    ]
    _print(rows)
    if arguments.json:
        text = json.dumps({"schema": 1, "rows": rows}, indent=1)
        arguments.json.write_text(text + "\n", encoding="utf-8")
    return 0


def _scenarios() -> Path:
    return Path(os.environ.get("RCLRT_SOURCE_DIR", ".")) / "try/rclrt_scenarios"


def _program(level: int) -> Any:
    """Return what runs the scenario; after an executor's name there may be options."""
    from rclrt_analysis.reference.program import Program, find_program

    class WithOptions(Program):
        def command(self, executor: str, seconds: float, work_ms: float | None = None) -> list[str]:
            name, *options = executor.split()
            return [*super().command(name, seconds, work_ms), *options]

    return WithOptions(find_program(), _scenarios() / f"teper_seven_timers_{level}.yaml", cpus=CPU)


def _bounds(level: int) -> dict[str, dict[str, float | None]]:
    """Return the bounds of each task under the RM events executor, ms, by method."""
    from rclrt_analysis.bounds.analyse import analyse
    from rclrt_analysis.model import read_model

    folder = _scenarios() / "models"
    system = read_model(folder / f"teper_seven_timers_{level}.yaml", folder / "model.schema.json")
    found: dict[str, dict[str, float | None]] = {task: {} for task in TASKS}
    for method in ("paper", "exact"):
        every = analyse(system, method).callbacks
        for task in TASKS:
            mine = [one.bound for one in every if one.name.startswith(task)]
            known = [bound for bound in mine if bound is not None]
            found[task][method] = max(known) / 1e6 if len(known) == len(mine) else None
    return found


def _row(
    level: int, name: str, task: str, reports: list[Any], bounds: dict[str, float | None]
) -> dict[str, Any]:
    callbacks = [
        callback
        for report in reports
        for callback in report["callbacks"]
        if callback["node"].startswith(task)
    ]
    response = sorted(
        (end - release) / 1e6 for one in callbacks for release, _, end, *_ in one["jobs"]
    )
    of_rounds = [
        max(
            (end - release) / 1e6
            for one in report["callbacks"]
            if one["node"].startswith(task)
            for release, _, end, *_ in one["jobs"]
        )
        for report in reports
    ]
    return {
        "level": level,
        "executor": name,
        "task": task,
        "n": len(response),
        "dropped": sum(one["lost"] for one in callbacks),
        "misses": sum(one["deadline_misses"] for one in callbacks),
        "deadline_ms": callbacks[0]["deadline_ms"] or callbacks[0]["period_ms"],
        "p50_ms": percentile(response, 0.5),
        "p99_ms": percentile(response, 0.99),
        "max_ms": response[-1],
        "rounds_max_ms": of_rounds,
        "bound_paper_ms": bounds["paper"],
        "bound_exact_ms": bounds["exact"],
        "in_force": all(report["attributes_in_force"] for report in reports),
        "quantiles_ms": [round(ms, 4) for ms in quantiles(response)],
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


def _print(rows: list[dict[str, Any]]) -> None:
    print("response times, ms; bounds are of the RM events executor: Theorem 1 / exact")
    print(
        f"  {'U %':>4} {'executor':12} {'task':7} {'n':>6} {'dropped':>7} {'misses':>6} {'p50':>8}"
        f" {'max':>8} {'bounds':>16}"
    )
    for row in rows:
        p50 = "-" if row["p50_ms"] is None else f"{row['p50_ms']:.2f}"
        two = [row[f"bound_{way}_ms"] for way in ("paper", "exact")]
        bounds = " / ".join("-" if ms is None else f"{ms:.2f}" for ms in two)
        print(
            f"  {row['level']:4} {row['executor']:12} {row['task']:7} {row['n']:6}"
            f" {row['dropped']:7} {row['misses']:6} {p50:>8} {row['max_ms']:8.2f} {bounds:>16}"
            + ("" if row["in_force"] else "  REFUSED: without its priorities")
        )
