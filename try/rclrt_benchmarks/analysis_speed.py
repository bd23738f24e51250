# Copyright 2026 The rclrt Authors
# SPDX-License-Identifier: Apache-2.0
"""How fast the analysis and its simulator are, on one core.

Task sets after WATERS: Theorem 1, exact response times and all chains under both executors. Large
systems: 1000 callbacks and 200 chains on eight executors of one kind that send to each other, under
fixed priorities, wait sets, FIFO or EDF.
10 times as many under fixed priorities. Margins (analyze --slack) of a tenth and of a fifth as many
callbacks on one core, and Audsley's search for 300 and for 1000 timers, no two alike.
Plans: one of those systems with everything open, on four CPUs, and the reference system on two.
Simulator: jobs of the seven-timer set, many runs as arrays, and one run event by event. Times are
those of the processor, the worst of all seeds. Exits with 1 if a target is missed.
"""

from __future__ import annotations

import argparse
import json
import random
import sys
import time
from collections.abc import Callable
from pathlib import Path
from typing import Any

from rclrt_analysis.arguments import positive, writable_file

LEAST_SETS = 300.0
MOST_S = 2.0
MOST_PLAN_S = 30.0
MOST_REFERENCE_PLAN_S = 2.0
MOST_TEN_TIMES_S = 30.0
MOST_SLACK_S = 5.0
MOST_SLACK_DOUBLE_S = 30.0
MOST_SEARCH_S = 1.0
MOST_LARGE_SEARCH_S = 5.0
LEAST_JOBS = 1e6
KINDS = ("priority_events", "isolated", "wait_set_single", "events_fifo", "EDF")


NEEDS = ()  # It runs nothing that is built.


def add_arguments(parser: argparse.ArgumentParser) -> None:
    """Declare the options."""
    parser.add_argument("--json", type=writable_file, metavar="FILE", help="write the rows there")
    parser.add_argument("--seeds", type=positive, default=10, help="of each kind (%(default)s)")
    parser.add_argument("--sets", type=positive, default=300, help="after WATERS (%(default)s)")
    parser.add_argument(
        "--callbacks", type=positive, default=1000, help="of a large system (%(default)s)"
    )


def run(arguments: argparse.Namespace) -> int:
    """Measure, print, judge."""
    rows = [_waters(arguments.sets)]
    rows += [_large(kind, arguments.callbacks, arguments.seeds) for kind in KINDS]
    rows += [_ten_times(arguments.callbacks)]
    rows += [_slack(arguments.callbacks // 10, MOST_SLACK_S)]
    rows += [_slack(arguments.callbacks // 5, MOST_SLACK_DOUBLE_S)]
    rows += [_search(arguments.callbacks * 3 // 10, MOST_SEARCH_S)]
    rows += [_search(arguments.callbacks, MOST_LARGE_SEARCH_S)]
    rows += [_plan_large(arguments.callbacks), _plan_reference(), _arrays(), _events()]
    missed = [row["what"] for row in rows if row["met"] is False]
    for row in rows:
        target = "" if row["target"] is None else f"  target {row['target']:,.0f}"
        print(f"{row['what']:34} {row['value']:14,.2f} {row['unit']:8}{target}")
    for what in missed:
        print(f"MISSED: {what}", file=sys.stderr)
    if arguments.json:
        arguments.json.write_text(json.dumps({"schema": 1, "rows": rows}, indent=1) + "\n", "utf-8")
    return 1 if missed else 0


def _row(what: str, value: float, unit: str, target: float | None, more: bool) -> dict[str, Any]:
    met = None if target is None else (value >= target if more else value <= target)
    return {"what": what, "value": value, "unit": unit, "target": target, "met": met}


def _seconds(work: Callable[[], object]) -> float:
    began = time.process_time()
    work()
    return time.process_time() - began


def _waters(sets: int) -> dict[str, Any]:
    import numpy as np
    from rclrt_analysis.bounds import nonpreemptive_fp
    from rclrt_analysis.bounds.end_to_end import davare
    from rclrt_analysis.bounds.wait_set import windows
    from rclrt_analysis.workloads.waters import make_chains, make_tasks

    rng = np.random.default_rng(1)
    spent = 0.0
    for i in range(sets):
        tasks = make_tasks((0.6, 0.8, 0.9)[i % 3], rng)
        chains = make_chains(tasks, rng)

        def analyse(tasks: Any = tasks, chains: Any = chains) -> None:
            paper = nonpreemptive_fp.theorem_1(tasks)
            exact = nonpreemptive_fp.exact(tasks).response
            for response in (windows(tasks.wcet)[0], paper, exact):
                davare(tasks.period, response, chains)

        spent += _seconds(analyse)
    return _row("WATERS sets analysed", sets / spent, "sets/s", LEAST_SETS, more=True)


def _large(kind: str, callbacks: int, seeds: int) -> dict[str, Any]:
    from rclrt_analysis.bounds.analyse import analyse
    from rclrt_analysis.model import ExecutorKind
    from rclrt_analysis.workloads.large import by_deadline, make_system

    worst = 0.0
    for seed in range(seeds):
        rng = random.Random(seed)
        of = ExecutorKind("priority_events" if kind == "EDF" else kind)
        system = make_system(of, callbacks, callbacks // 5, 8, rng)
        if kind == "EDF":
            system = by_deadline(system)
        worst = max(worst, _seconds(lambda system=system: analyse(system)))  # type: ignore[misc]
    return _row(f"{callbacks} callbacks, {kind}", worst, "s", MOST_S, more=False)


def _ten_times(callbacks: int) -> dict[str, Any]:
    from rclrt_analysis.bounds.analyse import analyse
    from rclrt_analysis.model import ExecutorKind
    from rclrt_analysis.workloads.large import make_system

    kind = ExecutorKind.PRIORITY_EVENTS
    system = make_system(kind, 10 * callbacks, 2 * callbacks, 8, random.Random(0))
    spent = _seconds(lambda: analyse(system))
    return _row(f"{10 * callbacks} callbacks", spent, "s", MOST_TEN_TIMES_S, more=False)


def _slack(callbacks: int, target: float) -> dict[str, Any]:
    from rclrt_analysis.assignment import rate_monotonic, with_priorities
    from rclrt_analysis.model import ExecutorKind
    from rclrt_analysis.sensitivity import sensitivity
    from rclrt_analysis.workloads.large import make_system

    system = make_system(ExecutorKind.ISOLATED, callbacks, 0, 1, random.Random(0))
    system = with_priorities(system, rate_monotonic(system))
    found: list[bool] = []

    def search() -> None:
        margins = sensitivity(system)
        # Where a deadline is missed there is nothing to look for.
        found.append(margins.complete and None not in margins.wcet.values())

    spent = _seconds(search)
    row = _row(f"--slack, {callbacks} callbacks", spent, "s", target, more=False)
    return {**row, "met": row["met"] and found[0]}


def _search(timers: int, target: float) -> dict[str, Any]:
    from rclrt_analysis.assignment import by_search
    from rclrt_analysis.model import Callback, Executor, ExecutorKind, Kind, System

    rng = random.Random(0)
    periods = rng.sample(range(10_000, 1_000_000), timers)
    callbacks = tuple(
        Callback(
            f"t{i}", Kind.TIMER, "e", int(1000 * period * 0.7 / timers), period=1000 * period,
            deadline=1000 * period,
        )
        for i, period in enumerate(periods)
    )  # fmt: skip
    system = System("timers", (Executor("e", ExecutorKind.ISOLATED),), callbacks)
    found: list[bool] = []
    spent = _seconds(lambda: found.append(by_search(system) is not None))
    row = _row(f"by_search, {timers} timers", spent, "s", target, more=False)
    return {**row, "met": row["met"] and found[0]}


def _plan_large(callbacks: int) -> dict[str, Any]:
    from rclrt_analysis.model import ExecutorKind
    from rclrt_analysis.workloads.large import make_system, to_plan

    rng = random.Random(1)
    system = make_system(ExecutorKind.ISOLATED, callbacks, callbacks // 5, 4, rng)
    what = f"{callbacks} callbacks planned"
    return _plan(what, to_plan(system, 3), 4, MOST_PLAN_S)


def _plan_reference() -> dict[str, Any]:
    from rclrt_analysis.model import read_model

    folder = Path(__file__).resolve().parents[1] / "rclrt_scenarios" / "models"
    path = folder / "autoware_reference_system.yaml"
    system = read_model(path, folder / "model.schema.json")
    return _plan("reference system planned", system, 2, MOST_REFERENCE_PLAN_S)


def _plan(what: str, system: Any, cpus: int, target: float) -> dict[str, Any]:
    from rclrt_analysis.plan.openings import Opening
    from rclrt_analysis.plan.search import make_plan

    names = frozenset(callback.name for callback in system.callbacks)
    executors = frozenset(executor.name for executor in system.executors)
    opening = Opening(system, names, frozenset(), executors, tuple(range(cpus)))
    proved: list[bool] = []
    spent = _seconds(lambda: proved.append(make_plan(opening).proved))
    row = _row(what, spent, "s", target, more=False)
    return {**row, "met": row["met"] and proved[0]}


def _arrays() -> dict[str, Any]:
    import numpy as np
    from rclrt_analysis.simulation.batch import simulate_batch

    wcet = np.array([1, *[14] * 4, *[10] * 2]) * 1_000_000
    period = np.array([30, *[84] * 4, *[200] * 2]) * 1_000_000
    offset = np.random.default_rng(1).integers(0, period, (2_000, 7))
    priority = np.arange(7, 0, -1)

    def simulate() -> None:
        simulate_batch(wcet, period, offset, 500, "fixed_priority", None, priority)

    return _row("simulator, many runs", 1e6 / _seconds(simulate), "jobs/s", LEAST_JOBS, more=True)


def _events() -> dict[str, Any]:
    from rclrt_analysis.model import read_model
    from rclrt_analysis.simulation import simulate

    folder = Path(__file__).resolve().parents[1] / "rclrt_scenarios" / "models"
    system = read_model(folder / "teper_seven_timers_80.yaml", folder / "model.schema.json")
    jobs: list[int] = []
    spent = _seconds(lambda: jobs.append(len(simulate(system, 600 * 10**9).jobs)))
    return _row("simulator, one run", jobs[0] / spent, "jobs/s", None, more=True)
