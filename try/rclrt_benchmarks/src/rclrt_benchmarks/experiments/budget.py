# Copyright 2026 The rclrt Authors
# SPDX-License-Identifier: Apache-2.0
"""A chain of 60 ms beside best effort in one process, and a callback that runs away.

Best effort is four callbacks that ask for all CPU time there is, and count the work that they get
done. On one CPU and on two these ways take turns:
  shared       preemptive, without priorities
  fifo         preemptive, SCHED_FIFO 50 for the chain
  runaway      the same, and a callback above the chain takes 100 ms of CPU time every 300 ms
  budget       the same, and that callback has a budget of 5 ms in 50
  deadline     isolated, and that callback has SCHED_DEADLINE with 5 ms in 50; with all CPUs of
               the machine only, since the kernel admits it to no fewer
  priority_events, isolated   these executors, the chain as in fifo
  events_fifo, wait_set_single, wait_set_multi  executors as rclcpp has them
  process_fifo the last one with SCHED_FIFO 50 for its whole process
"""

import argparse
import os
import subprocess
from collections.abc import Mapping
from typing import Any

from rclrt_benchmarks.harness.frame import (
    CANNOT,
    FailedError,
    Result,
    median,
    options,
    parsed,
    path_of,
    perform,
    table,
    turns,
)
from rclrt_benchmarks.harness.row import Judged, Machine, Row, at_most, stated
from rclrt_tools.arguments import number_from, positive

WAYS = (
    "shared", "fifo", "runaway", "budget", "deadline", "isolated", "priority_events", "events_fifo",
    "wait_set_multi", "wait_set_single", "process_fifo",
)  # fmt: skip
MOST_LOST = 0.05
NOWHERE = "not in a paper"


def add_arguments(parser: argparse.ArgumentParser) -> None:
    """Declare the options."""
    options(parser, rounds=5)
    parser.add_argument(
        "--seconds", type=number_from(0.2, 3600, "s"), default=6.0, help="of a turn (%(default)g)"
    )
    parser.add_argument(
        "--cpus", type=positive, action="append", help="how many; may be repeated (1, and 2 if any)"
    )


def run(arguments: argparse.Namespace) -> int:
    """Run the experiment."""
    return perform(arguments, _measure, _show, judge)


def _measure(arguments: argparse.Namespace) -> Result:
    program = path_of("chain_beside_best_effort")
    cases = arguments.cpus or [1, 2][: len(os.sched_getaffinity(0))]
    found: dict[tuple[int, str], list[Result]] = {}
    left_out = set()
    for order in turns(WAYS, arguments.rounds):
        for cpus in cases:
            for way in order:
                words = ("--way", way, "--cpus", cpus, "--seconds", arguments.seconds)
                try:
                    found.setdefault((cpus, way), []).append(parsed(program, *words))
                except subprocess.CalledProcessError as error:
                    if error.returncode != CANNOT:
                        raise
                    if way != "deadline":
                        raise FailedError("it needs SCHED_FIFO", CANNOT) from error
                    del found[cpus, way]
                    left_out.add(cpus)
    rows = [_row(cpus, way, found) for cpus in cases for way in WAYS if (cpus, way) in found]
    return {"without_deadline": sorted(left_out), "rows": rows}


def _row(cpus: int, way: str, of: Mapping[tuple[int, str], list[Result]]) -> Result:
    mine = of[cpus, way]
    lost = [
        1 - turn["units_per_s"] / plain["units_per_s"] if plain["units_per_s"] else 0.0
        for turn, plain in zip(mine, of[cpus, "shared"], strict=True)
    ]
    return {
        "cpus": cpus,
        "way": way,
        "instances": sum(turn["instances"] for turn in mine),
        "misses": sum(turn["misses"] for turn in mine),
        "worst_ms": max(turn["worst_ms"] for turn in mine),
        "lost": median(lost),
    }


def _show(result: Result) -> None:
    table(
        result["rows"], ("CPUs", "cpus", "d"), ("", "way", ""), ("instances", "instances", "d"),
        ("late", "misses", "d"), ("worst ms", "worst_ms", ".1f"),
        ("best effort lost, %", lambda row: 100 * row["lost"], ".1f"),
    )  # fmt: skip
    for cpus in result["without_deadline"]:
        print(f"  no row for deadline on {cpus} CPUs: the kernel does not admit SCHED_DEADLINE")


def judge(result: Mapping[str, Any], _: Machine) -> Judged:
    """Judge a chain of 60 ms beside best effort, and beside a callback that runs away."""
    found: list[Row] = []
    for cpus in sorted({row["cpus"] for row in result["rows"]}):
        ways = {row["way"]: row for row in result["rows"] if row["cpus"] == cpus}
        late = {way: f"{row['misses']} of {row['instances']}" for way, row in ways.items()}
        where = f"60 ms chain, {cpus} CPU{'s' * (cpus > 1)},"
        others = ", ".join(
            f"{way} {late[way]}" for way in ("process_fifo", "wait_set_multi", "wait_set_single")
        )
        found += [
            stated(
                f"{where} with priorities, beside best effort: instances late", NOWHERE,
                f"{late['fifo']} ({others})", "none", ways["fifo"]["misses"] == 0,
            ),
            stated(
                f"{where} beside a callback that runs away, which has a budget: instances late",
                NOWHERE, f"{late['budget']} (without: {late['runaway']})", "none",
                ways["budget"]["misses"] == 0,
            ),
            *(
                stated(
                    f"{where} the one that runs away under SCHED_DEADLINE: instances late", NOWHERE,
                    late["deadline"], "none", ways["deadline"]["misses"] == 0,
                )
                for _ in late.keys() & {"deadline"}
            ),
            at_most(
                f"{where} best effort that its priorities cost, %", 100 * ways["fifo"]["lost"],
                100 * MOST_LOST, shape="at most 5 % of its work", paper=NOWHERE,
            ),
        ]  # fmt: skip
    return Judged(found)
