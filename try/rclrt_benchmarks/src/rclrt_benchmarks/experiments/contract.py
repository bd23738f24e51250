# Copyright 2026 The rclrt Authors
# SPDX-License-Identifier: Apache-2.0
"""The whole loop tried: observe, plan, enforce, watch.

1. The reference system, observed under executors like rclcpp's, planned from that, run under the
   plan and watched, on one CPU and on two, beside busy programs.
2. The reference system as `advise` says, held against the bounds that it predicts.
3. Sabotage: what the watch says of it, and how soon.
4. Random graphs: the model of one run, not edited, held against another run.

--quick runs everything once and briefly, and judges no time.
"""

import argparse
import dataclasses
import os
import tempfile
from collections.abc import Mapping
from pathlib import Path
from typing import Any

from rclrt_benchmarks.harness.frame import (
    FailedError,
    Result,
    needs_fifo,
    options,
    path_of,
    perform,
    table,
)
from rclrt_benchmarks.harness.row import Judged, Machine, Row, open_row, stated
from rclrt_tools.arguments import positive, some_of

PARTS = ("reference", "advise", "sabotage", "graphs")
GRAPH_S = 4.0
EXPLAINED = (
    "by no more than was measured meanwhile (machine away, longer jobs, others in real time)"
)
OTHERS = "by no more than other programs ran there in real time"
FRACTION = 0.99
"""Calibration takes this quantile of delays. The machine itself is made responsible for longer
ones: each run has a thread above all others beside it, which notes when it was late."""


def add_arguments(parser: argparse.ArgumentParser) -> None:
    """Declare the options."""
    options(parser)
    parser.add_argument(
        "--seconds", type=positive, default=20, help="of each run that is measured (%(default)s)"
    )
    parser.add_argument(
        "--load", type=positive, default=4, help="busy programs on each CPU (%(default)s)"
    )
    parser.add_argument(
        "--graphs", type=positive, default=20, help="random ones, 4 s twice each (%(default)s)"
    )
    parser.add_argument(
        "--only", type=some_of(PARTS), default=PARTS, metavar="A,B", help=",".join(PARTS)
    )
    parser.add_argument("--quick", action="store_true", help="everything once, no time is judged")
    parser.add_argument("--keep", type=Path, metavar="FOLDER", help="traces, models and plans")


def run(arguments: argparse.Namespace) -> int:
    """Run the experiment."""
    return perform(arguments, _measure, _show, judge)


def _measure(arguments: argparse.Namespace) -> Result:
    from rclrt_benchmarks.contract.robot import Setting
    from rclrt_tools.reference.program import Interrupt
    from rclrt_tools.trace import TraceError

    path_of("rclrt_reference_system", "rclrt_reference_system")
    needs_fifo()
    result: Result = {"quick": arguments.quick, "statements": []}
    with tempfile.TemporaryDirectory(prefix="rclrt-contract-") as short, Interrupt() as interrupt:
        folder = arguments.keep or Path(short)
        folder.mkdir(parents=True, exist_ok=True)
        try:
            costs = _calibrated(arguments, result)
            setting = Setting(interrupt, _effort(arguments), costs, folder)
            for part, run_it in RUNS.items():
                if part in arguments.only:
                    run_it(setting, arguments, result)
        except TraceError as error:
            raise FailedError("interrupted" if interrupt.requested else str(error)) from error
    return result


def _say(result: Result, name: str, ours: str, shape: str, holds: bool) -> None:
    """Keep a statement of a part, to be judged when all parts have run."""
    result["statements"].append({"name": name, "ours": ours, "shape": shape, "holds": holds})


def judge(result: Mapping[str, Any], _: Machine) -> Judged:
    """Judge what the parts have stated; nothing of a brief run."""
    rows: list[Row] = []
    for one in result["statements"]:
        words = one["name"], "not in a paper"
        rows.append(
            open_row(*words, one["shape"], "a brief run", one["ours"])
            if result["quick"]
            else stated(*words, one["ours"], one["shape"], one["holds"])
        )
    return Judged(rows)


def _calibrated(arguments: argparse.Namespace, result: Result) -> dict[str, int]:
    """Return what jobs cost here: all of the models have it."""
    from rclrt_benchmarks.contract.machine import calibrated
    from rclrt_tools.calibration import to_text

    samples, seconds = (50, 0.5) if arguments.quick else (1000, 3.0)
    found = calibrated(sorted(os.sched_getaffinity(0)), samples, seconds)
    costs = found.overheads(FRACTION)
    print(f"{to_text(found)}\n")
    print("overheads, ms: " + ", ".join(f"{k[:-3]} {v / 1e6:.3f}" for k, v in costs.items()), "\n")
    result["overheads_ns"] = costs
    return costs


def _effort(arguments: argparse.Namespace) -> Any:
    from rclrt_benchmarks.contract.robot import Effort

    if arguments.quick:
        return Effort(2.0, 1, True, 5)
    return Effort(float(arguments.seconds), arguments.load)


def _reference(setting: Any, arguments: argparse.Namespace, result: Result) -> None:
    from rclrt_benchmarks.contract.system import loop

    every = sorted(os.sched_getaffinity(0))
    result["reference"] = []
    for cpus in [every[:1]] if arguments.quick or len(every) < 2 else [every[:1], every[:2]]:
        seen, found = loop(setting, cpus)
        result["reference"] += [dataclasses.asdict(row) for row in seen]
        _verdict(f"under the plan, CPU {', '.join(map(str, cpus))}", found, result)


def _verdict(what: str, found: Any, result: Result) -> None:
    """Tell the outcome of a run, and state what must hold."""
    from rclrt_benchmarks.contract.judged import worst_of

    verdict = found.verdict
    above, left = len(verdict.above), len(verdict.unexplained)
    for text in (*worst_of(verdict), *found.broken):
        print(f"  {what}: {text}")
    if found.strangers.total:
        print(f"  {what}: beside it there ran in real time {found.strangers}")
    late = len(verdict.missed_unexplained)
    _say(
        result, f"{what}: deadlines missed", str(late), "none, but for what was measured", not late
    )
    _say(
        result, f"{what}: jobs and chains above their bound",
        f"{above} of {verdict.jobs}; {above - left} {EXPLAINED} ({found.stall_ms:.1f} ms away)",
        "none, but for what was measured", not left,
    )  # fmt: skip


def _late(verdict: Any) -> list[Result]:
    """Return all that was above its bound, with what was measured meanwhile, in ns."""
    return [
        {"name": one.name, "begin": one.begin, "took": one.took, "bound": one.bound}
        | dataclasses.asdict(found)
        for one, found in verdict.evidence.items()
    ]


def _advise(setting: Any, arguments: argparse.Namespace, result: Result) -> None:
    from rclrt_benchmarks.contract.system import tried

    found = tried(setting, sorted(os.sched_getaffinity(0))[:2])
    outcome = found.outcome
    _verdict("as advised", outcome, result)
    unbounded = len(found.unbounded)
    said = f"{unbounded} of {found.callbacks}"
    _say(result, "as advised: callbacks without a bound", said, "none", not unbounded)
    for name in found.joins:
        print(f"  as advised: {name} was above; it is an input of a join, not judged")
    result["advise"] = {
        "callbacks": found.callbacks,
        "unbounded": found.unbounded,
        "jobs": outcome.verdict.jobs,
        "late": _late(outcome.verdict),
        "strangers_ns": outcome.strangers.ran,
        "joins": found.joins,
        "stall_ms": outcome.stall_ms,
    }


def _sabotage(setting: Any, arguments: argparse.Namespace, result: Result) -> None:
    from rclrt_benchmarks.contract.sabotage import LIMIT_S, sabotage

    found = sabotage(setting)
    result["sabotage"] = [dataclasses.asdict(one) for one in found]
    for one in found:
        after = "never" if one.after_s is None else f"after {one.after_s:.2f} s: {one.said}"
        in_time = one.named and one.after_s is not None and one.after_s <= LIMIT_S
        _say(result, f"sabotage: {one.what}", after, f"named within {LIMIT_S:g} s", in_time)


def _graphs(setting: Any, arguments: argparse.Namespace, result: Result) -> None:
    from rclrt_benchmarks.contract.graphs import twice
    from rclrt_benchmarks.contract.judged import worst_of

    seconds = min(GRAPH_S, setting.effort.seconds)
    setting = dataclasses.replace(
        setting, effort=dataclasses.replace(setting.effort, seconds=seconds)
    )
    cpus = sorted(os.sched_getaffinity(0))[:1]
    rows: list[Result] = []
    for number in range(1 if arguments.quick else arguments.graphs):
        found = twice(setting, number, cpus)
        for text in worst_of(found.verdict):
            print(f"  graph {number}: {text}")
        rows.append(
            {
                "graph": number,
                "callbacks": found.callbacks,
                "bounded": found.bounded,
                "no_verdict": found.no_verdict,
                "jobs": found.verdict.jobs,
                "above": len(found.verdict.above),
                "unexplained": len(found.verdict.unexplained),
                "late": _late(found.verdict),
                "ran_longer": found.longer,
                "strangers_ns": found.strangers.ran,
            }
        )
    result["graphs"] = rows
    proved = [row for row in rows if not row["no_verdict"]]
    said = f"{len(proved)} of {len(rows)}"
    _say(result, "random graphs: models that give bounds", said, "some", bool(proved))
    jobs, above, left = (
        sum(row[key] for row in proved) for key in ("jobs", "above", "unexplained")
    )
    _say(
        result, "random graphs: jobs of the second run above their bound",
        f"{above} of {jobs}; {above - left} {EXPLAINED}", "none, but for what was measured",
        not left,
    )  # fmt: skip


RUNS = {
    "reference": _reference,
    "advise": _advise,
    "sabotage": _sabotage,
    "graphs": _graphs,
}


def _show(result: Result) -> None:
    table(
        result.get("reference", ()), ("CPU", "cpus", ""), ("", "run", ""), ("", "name", ""),
        ("deadline", "deadline_ms", ".3f"), ("bound", "bound_ms", ".3f"),
        ("worst", "worst_ms", ".3f"), ("n", "count", "d"), ("misses", "misses", "d"),
        title="reference system, ms",
    )  # fmt: skip
