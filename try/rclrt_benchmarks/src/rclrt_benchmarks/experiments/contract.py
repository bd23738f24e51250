# Copyright 2026 The rclrt Authors
# SPDX-License-Identifier: Apache-2.0
"""The whole loop tried: observe, plan, enforce, watch; and what it gives a mixed load.

1. The reference system, observed under executors like rclcpp's, planned from that, run under the
   plan and watched, on one CPU and on two, beside busy programs.
2. A control chain of 60 ms, best-effort vision and a logger in one process, on one CPU, scheduled
   in four ways; and as components of one container, where rclcpp was found.
3. The reference system as `advise` says, held against the bounds that it predicts.
4. Sabotage: what the watch says of it, and how soon.
5. Random graphs: the model of one run, not edited, held against another run.

--quick runs everything once and briefly, and judges no time. Exits with 1 when a target is missed
or something fails, with 2 for wrong arguments.
"""

from __future__ import annotations

import argparse
import dataclasses
import json
import os
import sys
import tempfile
from pathlib import Path
from typing import Any

from rclrt_analysis.arguments import positive, writable_file

PARTS = ("reference", "mixed", "advise", "sabotage", "graphs")
GRAPH_S = 4.0
EXPLAINED = (
    "by no more than was measured meanwhile (machine away, longer jobs, others in real time)"
)
OTHERS = "by no more than other programs ran there in real time"
FRACTION = 0.99
"""Of the delays that calibration sees. What is longer the machine itself is made responsible for:
each run has a thread above all others beside it, which notes when it was late."""


def add_arguments(parser: argparse.ArgumentParser) -> None:
    """Declare the options."""
    parser.add_argument("--json", type=writable_file, metavar="FILE", help="write the rows there")
    parser.add_argument(
        "--seconds", type=positive, default=20, help="of each run that is measured (%(default)s)"
    )
    parser.add_argument(
        "--load", type=positive, default=4, help="busy programs on each CPU (%(default)s)"
    )
    parser.add_argument(
        "--graphs", type=positive, default=20, help="random ones, 4 s twice each (%(default)s)"
    )
    parser.add_argument("--only", choices=PARTS, action="append", help="only this part")
    parser.add_argument("--quick", action="store_true", help="everything once, no time is judged")
    parser.add_argument("--keep", type=Path, metavar="FOLDER", help="traces, models and plans")


def run(arguments: argparse.Namespace) -> int:
    """Run the experiment."""
    from rclrt_analysis.contract.robot import FailedError
    from rclrt_analysis.contract.setting import Setting
    from rclrt_analysis.reference.environment import may_use_realtime
    from rclrt_analysis.reference.program import Interrupt, ProgramError, find_program
    from rclrt_analysis.trace import TraceError

    if not find_program().exists():
        print(f"{find_program()} is not built. Run ./rclrt build", file=sys.stderr)
        return 1
    if not may_use_realtime():
        print("SCHED_FIFO is not permitted: docs/how-to/real-time-permissions.md", file=sys.stderr)
        return 1
    parts = arguments.only or PARTS
    result: dict[str, Any] = {"schema": 1, "quick": arguments.quick}
    missed: list[str] = []
    with tempfile.TemporaryDirectory(prefix="rclrt-contract-") as short, Interrupt() as interrupt:
        folder = arguments.keep or Path(short)
        folder.mkdir(parents=True, exist_ok=True)
        try:
            costs = _calibrated(arguments, result)
            setting = Setting(interrupt, _effort(arguments), costs, folder)
            for part, run_it in RUNS.items():
                if part in parts:
                    missed += run_it(setting, arguments, result)
        except (FailedError, ProgramError, TraceError) as error:
            print("interrupted" if interrupt.requested else error, file=sys.stderr)
            return 1
    for text in missed:
        print(f"MISSED {text}")
    if arguments.json:
        arguments.json.write_text(json.dumps(result, indent=1) + "\n", encoding="utf-8")
    return int(bool(missed) and not arguments.quick)


def _calibrated(arguments: argparse.Namespace, result: dict[str, Any]) -> dict[str, int]:
    """Return what jobs cost here: all of the models have it."""
    from rclrt_analysis.calibration import to_text
    from rclrt_analysis.contract.machine import calibrated

    samples, seconds = (50, 0.5) if arguments.quick else (1000, 3.0)
    found = calibrated(sorted(os.sched_getaffinity(0)), samples, seconds)
    costs = found.overheads(FRACTION)
    print(f"{to_text(found)}\n")
    print("overheads, ms: " + ", ".join(f"{k[:-3]} {v / 1e6:.3f}" for k, v in costs.items()), "\n")
    result["overheads_ns"] = costs
    return costs


def _effort(arguments: argparse.Namespace) -> Any:
    from rclrt_analysis.contract.setting import Effort

    if arguments.quick:
        return Effort(2.0, 1, True, 5)
    return Effort(float(arguments.seconds), arguments.load)


def _reference(setting: Any, arguments: argparse.Namespace, result: dict[str, Any]) -> list[str]:
    from rclrt_analysis.contract.system import loop

    every = sorted(os.sched_getaffinity(0))
    load = setting.effort.load
    missed, rows = [], []
    for cpus in [every[:1]] if arguments.quick or len(every) < 2 else [every[:1], every[:2]]:
        seen, found = loop(setting, cpus)
        rows += [dataclasses.asdict(row) for row in seen]
        where = f"CPU {', '.join(map(str, cpus))}"
        print(f"reference system, {where}, {load} busy programs on each")
        print(f"  {'':16} {'':38} {'deadline':>9} {'bound':>9} {'worst':>9} {'n':>6} {'misses':>6}")
        for row in seen:
            name = row.name if len(row.name) <= 38 else "..." + row.name[-35:]
            print(
                f"  {row.run:16} {name:38} {_ms(row.deadline_ms)} {_ms(row.bound_ms)} "
                f"{_ms(row.worst_ms)} {row.count:6} {row.misses:6}"
            )
        missed += _verdict("under the plan", found, where)
        for text in found.broken:
            print(f"  under the plan: {text}")
    result["reference"] = rows
    return missed


def _verdict(what: str, found: Any, where: str) -> list[str]:
    """Print the outcome of a run, and return what it has missed."""
    from rclrt_analysis.contract.judged import worst_of

    verdict, stall_ms = found.verdict, found.stall_ms
    above, left = len(verdict.above), len(verdict.unexplained)
    print(
        f"  {what}: {verdict.jobs} jobs; {above} jobs or chains above their bound, {above - left} "
        f"of them {EXPLAINED} ({stall_ms:.1f} ms away at most)"
    )
    for text in worst_of(verdict):
        print(f"  {what}: {text}")
    if found.strangers.total:
        print(f"  {what}: beside it there ran in real time {found.strangers}")
    missed = []
    if verdict.missed_unexplained:
        missed.append(f"{len(verdict.missed_unexplained)} deadlines {what}, {where}")
    if left:
        missed.append(f"bounds of {left} jobs or chains {what}, {where}")
    return missed


def _late(verdict: Any) -> list[dict[str, Any]]:
    """Return all that was above its bound, with what was measured meanwhile, in ns."""
    return [
        {"name": one.name, "begin": one.begin, "took": one.took, "bound": one.bound}
        | dataclasses.asdict(found)
        for one, found in verdict.evidence.items()
    ]


def _mixed(setting: Any, arguments: argparse.Namespace, result: dict[str, Any]) -> list[str]:
    from rclrt_analysis.contract import container
    from rclrt_analysis.contract.mixed import ways

    found = ways(setting)
    result["mixed"] = [dataclasses.asdict(way) for way in found]
    why_not = container.why_not()
    if why_not:
        print(f"no rows of a component container: {why_not}")
        result["no_container"] = why_not
    print("mixed load, one CPU; chain of 60 ms")
    print(f"  {'':24} {'n':>5} {'misses in 1000':>14} {'worst, ms':>10}  left for vision")
    for way in found:
        print(
            f"  {way.name:24} {way.released:5} {way.per_thousand:14.0f} {_ms(way.worst_ms):>10}"
            f"  {way.best_effort:.0%} of the CPU"
        )
        if way.misses and way.worst_ms is not None:
            said = ", ".join(f"{name} {ms:.1f} ms" for name, ms in way.others_ms.items())
            print(f"  {'':24} under way during the worst: {said}")
    missed = []
    for way in found:
        if way.is_planned and way.misses:
            print(f"  {way.name}: {way.explained} of {way.misses} misses {OTHERS}: {way.strangers}")
            missed += [f"mixed load: the chain under {way.name}"] * (way.explained < way.misses)
    return missed


def _advise(setting: Any, arguments: argparse.Namespace, result: dict[str, Any]) -> list[str]:
    from rclrt_analysis.contract.prediction import KIND, tried

    cpus = sorted(os.sched_getaffinity(0))[:2]
    found = tried(setting, cpus)
    outcome = found.outcome
    print(
        f"reference system as advised, {KIND}, {setting.effort.load} busy programs on each of "
        f"{len(cpus)} CPUs; {len(found.unbounded)} of {found.callbacks} callbacks have no bound"
    )
    missed = _verdict("as advised", outcome, "advise")
    if found.unbounded:
        missed.append(f"{len(found.unbounded)} callbacks have no bound as advised")
    for name in found.joins:
        print(f"  as advised: {name} was above; it is an input of a join, not judged")
    for text in outcome.broken:
        print(f"  as advised: {text}")
    result["advise"] = {
        "callbacks": found.callbacks,
        "unbounded": found.unbounded,
        "jobs": outcome.verdict.jobs,
        "above": len(outcome.verdict.above),
        "unexplained": len(outcome.verdict.unexplained),
        "late": _late(outcome.verdict),
        "strangers_ns": outcome.strangers.ran,
        "joins": found.joins,
        "stall_ms": outcome.stall_ms,
    }
    return missed


def _sabotage(setting: Any, arguments: argparse.Namespace, result: dict[str, Any]) -> list[str]:
    from rclrt_analysis.contract.sabotage import LIMIT_S, sabotage

    found = sabotage(setting)
    result["sabotage"] = [dataclasses.asdict(one) for one in found]
    print(f"  {'sabotage':34} {'noticed after, s':>16}")
    missed = []
    for one in found:
        after = "-" if one.after_s is None else f"{one.after_s:.2f}"
        print(f"  {one.what:34} {after:>16}  {one.said}")
        if not one.named or one.after_s is None or one.after_s > LIMIT_S:
            missed.append(f"{one.what}: not named within {LIMIT_S:g} s")
    return missed


def _graphs(setting: Any, arguments: argparse.Namespace, result: dict[str, Any]) -> list[str]:
    from rclrt_analysis.contract.graphs import EXECUTOR, twice
    from rclrt_analysis.contract.judged import worst_of

    count = 1 if arguments.quick else arguments.graphs
    seconds = min(GRAPH_S, setting.effort.seconds)
    setting = dataclasses.replace(
        setting, effort=dataclasses.replace(setting.effort, seconds=seconds)
    )
    cpus = sorted(os.sched_getaffinity(0))[:1]
    rows = []
    left = proved = jobs = above = 0
    print(f"random graphs, {EXECUTOR}, CPU {cpus[0]}: the model of a run and another run")
    for number in range(count):
        found = twice(setting, number, cpus)
        verdict = found.verdict
        if found.no_verdict:
            print(f"  graph {number}: no verdict: {found.no_verdict[:150]}")
        else:
            proved += 1
            jobs += verdict.jobs
            above += len(verdict.above)
            left += len(verdict.unexplained)
            if verdict.above and found.strangers.total:
                print(f"  graph {number}: beside it there ran in real time {found.strangers}")
        for text in worst_of(verdict):
            print(f"  graph {number}: {text}")
        rows.append(
            {
                "graph": number,
                "callbacks": found.callbacks,
                "bounded": found.bounded,
                "no_verdict": found.no_verdict,
                "jobs": verdict.jobs,
                "above": len(verdict.above),
                "unexplained": len(verdict.unexplained),
                "late": _late(verdict),
                "ran_longer": found.longer,
                "strangers_ns": found.strangers.ran,
            }
        )
    result["graphs"] = rows
    print(
        f"  {proved} of {count} models give bounds; {jobs} jobs in the other runs, {above} above "
        f"their bound, {above - left} of them {EXPLAINED}"
    )
    missed = [] if proved else ["no model of a random graph gives bounds"]
    return missed + [f"bounds of {left} jobs of random graphs"] * bool(left)


RUNS = {
    "reference": _reference,
    "mixed": _mixed,
    "advise": _advise,
    "sabotage": _sabotage,
    "graphs": _graphs,
}


def _ms(value: float | None) -> str:
    return f"{'-':>9}" if value is None else f"{value:9.3f}"
