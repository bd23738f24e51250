# Copyright 2026 The rclrt Authors
# SPDX-License-Identifier: Apache-2.0
"""How far bounds are above what a simulator sees, and what that takes to compute.

The same random systems three ways: timers and what they set off, on threads that may use all of the
cores; on threads that a plan has placed, each on one core; and all of them on one thread. Of each
callback the bound, over the longest response in some runs of the simulator: 1 is exact, since no
bound is below. What has no bound is counted apart.
"""

from __future__ import annotations

import argparse
import json
import random
import statistics
import sys
import time
from collections.abc import Callable
from dataclasses import replace
from pathlib import Path
from typing import Any

from rclrt_analysis.arguments import positive, writable_file

MS = 1_000_000
PERIODS = (10, 20, 25, 40, 50, 80, 100, 200)
LOAD = 0.45
"""Of each core."""
SPAN_MS = 2_000
RUNS = 4
PLAN_S = 2.0


NEEDS = ()  # It runs nothing that is built.


def add_arguments(parser: argparse.ArgumentParser) -> None:
    """Declare the options."""
    parser.add_argument("--json", type=writable_file, metavar="FILE", help="write the rows there")
    parser.add_argument("--systems", type=positive, default=20, help="of each size (%(default)s)")
    parser.add_argument("--cores", type=positive, default=2, help="of a system (%(default)s)")


def run(arguments: argparse.Namespace) -> int:
    """Measure and print."""
    rng = random.Random(arguments.cores)
    systems = [_system(rng, arguments.cores) for _ in range(arguments.systems)]
    ways = {
        "threads that migrate": _migrating,
        "threads placed by a plan": _placed,
        "one events thread": _events,
    }
    rows = [_measure(name, systems, way) for name, way in ways.items()]
    print(f"{len(systems)} systems on {arguments.cores} cores, {LOAD:.0%} load of each")
    print(
        f"{'':26} {'callbacks':>9} {'no bound':>9} {'bound / seen':>13} {'worst':>7} {'ms each':>9}"
    )
    for row in rows:
        print(
            f"{row['way']:26} {row['callbacks']:9} {row['unbounded'] / row['callbacks']:9.0%} "
            f"{row['median']:13.2f} {row['worst']:7.2f} {row['cpu_ms']:9.1f}"
        )
    if arguments.json:
        text = json.dumps({"schema": 1, "cores": arguments.cores, "rows": rows}, indent=1)
        Path(arguments.json).write_text(text + "\n", encoding="utf-8")
    below = [row["way"] for row in rows if row["least"] < 1]
    for name in below:
        print(f"a bound was exceeded: {name}", file=sys.stderr)
    return int(bool(below))


def _system(rng: random.Random, cores: int) -> Any:
    """Return timers by rate, and what each sets off at its priority."""
    from rclrt_analysis.model import Callback, Executor, ExecutorKind, Kind, System

    count = rng.randint(2 * cores, 4 * cores)
    shares = [rng.random() + 0.1 for _ in range(count)]
    made: list[Callback] = []
    for i, share in enumerate(shares):
        period = rng.choice(PERIODS) * MS
        parts = rng.randint(1, 4)
        work = max(1, int(min(0.6, LOAD * cores * share / sum(shares)) * period / parts))
        names = [f"c{i}_{j}" for j in range(parts)]
        for j, name in enumerate(names):
            kind = Kind.SUBSCRIPTION if j else Kind.TIMER
            callback = Callback(
                name, kind, "e", work, work // 2, priority=99 - PERIODS.index(period // MS),
                publishes=(name,), triggers=(rng.choice(names[:j]),) if j else (),
            )  # fmt: skip
            if not j:
                callback = replace(callback, period=period, deadline=period)
            made.append(callback)
    executor = Executor("e", ExecutorKind.PREEMPTIVE, cores=tuple(range(cores)))
    return System("random", (executor,), tuple(made))


def _migrating(system: Any) -> Any:
    return system


def _placed(system: Any) -> Any:
    from rclrt_analysis.plan.openings import Opening
    from rclrt_analysis.plan.search import make_plan

    names = frozenset(callback.name for callback in system.callbacks)
    cores = system.executors[0].cores
    one = replace(system, executors=(replace(system.executors[0], cores=cores[:1]),))
    return make_plan(Opening(one, names, frozenset(), frozenset("e"), cores), PLAN_S).system


def _events(system: Any) -> Any:
    from rclrt_analysis.model import ExecutorKind

    executor = replace(system.executors[0], kind=ExecutorKind.PRIORITY_EVENTS, cores=(0,))
    share = len(system.executors[0].cores)  # So much less work, so that it fits on one.
    callbacks = tuple(replace(c, wcet=c.wcet // share, bcet=0) for c in system.callbacks)
    return replace(system, executors=(executor,), callbacks=callbacks)


def _measure(name: str, systems: list[Any], way: Callable[[Any], Any]) -> dict[str, Any]:
    from rclrt_analysis.bounds.analyse import analyse
    from rclrt_analysis.simulation import simulate

    ratios: list[float] = []
    unbounded = callbacks = 0
    spent = 0.0
    for system in systems:
        began = time.process_time()
        scheduled = way(system)
        result = analyse(scheduled)
        spent += time.process_time() - began
        runs = [simulate(scheduled, SPAN_MS * MS, seed).worst() for seed in range(RUNS)]
        known = {callback.name for callback in system.callbacks}
        for bound in result.callbacks:
            if bound.name not in known:
                continue
            callbacks += 1
            seen = max(one[bound.name][1] or 0 for one in runs)
            if bound.bound is None:
                unbounded += 1
            elif seen:
                ratios.append(bound.bound / seen)
    return {
        "way": name,
        "callbacks": callbacks,
        "unbounded": unbounded,
        "median": statistics.median(ratios),
        "worst": max(ratios),
        "least": min(ratios),
        "cpu_ms": 1000 * spent / len(systems),
    }
