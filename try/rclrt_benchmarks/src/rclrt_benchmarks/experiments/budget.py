# Copyright 2026 The rclrt Authors
# SPDX-License-Identifier: Apache-2.0
"""A chain of 60 ms beside best effort in one process, and a callback that runs away.

Best effort is four callbacks that ask for all CPU time there is, and count the work that they get
done. On one CPU and on two these ways take turns:
  shared       the pool without priorities
  fifo         the pool, SCHED_FIFO 50 for the chain
  runaway      the same, and a callback above the chain takes 100 ms of CPU time every 300 ms
  budget       the same, and that callback has a budget of 5 ms in 50
  deadline     isolated, and that callback has SCHED_DEADLINE with 5 ms in 50; with all CPUs of
               the machine only, since the kernel admits it to no fewer
  events, isolated   these executors, the chain as in fifo
  events_fifo, waitset_single, waitset_multi   executors as rclcpp has them
  process_fifo the last one with SCHED_FIFO 50 for its whole process

Targets, for each number of CPUs: no instance of the chain is late in fifo, budget and deadline;
fifo costs the best effort at most 5 % of what it gets done in shared (median of the rounds). Exits
with 1 if one is missed, with 2 for wrong arguments, with 77 where SCHED_FIFO is not permitted.
"""

from __future__ import annotations

import argparse
import json
import os
import statistics
import subprocess
import sys
from pathlib import Path
from typing import Any

from rclrt_analysis.arguments import number_from, positive, writable_file
from rclrt_analysis.reference.program import ends_with_us

WAYS = (
    "shared", "fifo", "runaway", "budget", "deadline", "isolated", "events", "events_fifo",
    "waitset_multi", "waitset_single", "process_fifo",
)  # fmt: skip
MOST_LOST = 0.05
SKIPPED = 77


def add_arguments(parser: argparse.ArgumentParser) -> None:
    """Declare the options."""
    parser.add_argument("--json", type=writable_file, metavar="FILE", help="write the rows there")
    parser.add_argument("--rounds", type=positive, default=5, help="turns of each (%(default)s)")
    parser.add_argument(
        "--seconds", type=number_from(0.2, 3600, "s"), default=6.0, help="of a turn (%(default)g)"
    )
    parser.add_argument(
        "--cpus", type=positive, action="append", help="how many; may be repeated (1, and 2 if any)"
    )


def run(arguments: argparse.Namespace) -> int:
    """Run the experiment."""
    folder = Path(os.environ.get("RCLRT_BUILD_DIR", "build")) / "rclrt_benchmarks"
    program = str(folder / "chain_beside_best_effort")
    usable = len(os.sched_getaffinity(0))
    cases = arguments.cpus or [1, 2][:usable]
    turns: dict[tuple[int, str], list[dict[str, Any]]] = {}
    left_out: dict[int, str] = {}
    for number in range(arguments.rounds):
        first = number % len(WAYS)
        for cpus in cases:
            for way in (*WAYS[first:], *WAYS[:first]):
                command = [*ends_with_us(), program, "--way", way, "--cpus", str(cpus)]
                command += ["--seconds", str(arguments.seconds)]
                try:
                    done = subprocess.run(command, capture_output=True, text=True, check=False)
                except OSError as error:
                    print(error, file=sys.stderr)
                    return 1
                if done.returncode == SKIPPED and way == "deadline":
                    left_out[cpus] = done.stderr.strip()
                    continue
                if done.returncode != 0:
                    print(done.stderr, end="", file=sys.stderr)
                    return SKIPPED if done.returncode == SKIPPED else 1
                turns.setdefault((cpus, way), []).append(json.loads(done.stdout))
    rows = [_row(cpus, way, turns) for cpus in cases for way in WAYS if (cpus, way) in turns]
    _print(rows)
    for why in left_out.values():
        print(f"  no row for deadline: {why}")
    if arguments.json:
        text = json.dumps({"schema": 1, "rows": rows}, indent=1)
        arguments.json.write_text(text + "\n", encoding="utf-8")
    verdicts = [
        _judge(cpus, {row["way"]: row for row in rows if row["cpus"] == cpus}) for cpus in cases
    ]
    return 0 if all(verdicts) else 1


def _row(cpus: int, way: str, turns: dict[tuple[int, str], list[dict[str, Any]]]) -> dict[str, Any]:
    mine = turns[cpus, way]
    lost = [
        1 - turn["units_per_s"] / plain["units_per_s"] if plain["units_per_s"] else 0.0
        for turn, plain in zip(mine, turns[cpus, "shared"], strict=True)
    ]
    return {
        "cpus": cpus,
        "way": way,
        "instances": sum(turn["instances"] for turn in mine),
        "misses": sum(turn["misses"] for turn in mine),
        "worst_ms": max(turn["worst_ms"] for turn in mine),
        "lost": statistics.median(lost),
    }


def _print(rows: list[dict[str, Any]]) -> None:
    print(f"  CPUs {'':15} {'instances':>9} {'late':>5} {'worst ms':>9} {'best effort lost':>17}")
    for row in rows:
        print(
            f"  {row['cpus']:4} {row['way']:15} {row['instances']:9} {row['misses']:5} "
            f"{row['worst_ms']:9.1f} {100 * row['lost']:15.1f} %"
        )


def _judge(cpus: int, rows: dict[str, dict[str, Any]]) -> bool:
    targets = [
        (f"{way}: nothing late", rows[way]["misses"] == 0)
        for way in ("fifo", "budget", "deadline")
        if way in rows
    ]
    targets.append((f"fifo: at most {100 * MOST_LOST:g} % lost", rows["fifo"]["lost"] <= MOST_LOST))
    for name, met in targets:
        print(f"{'met   ' if met else 'MISSED'} {cpus} CPUs, {name}")
    return all(met for _, met in targets)
