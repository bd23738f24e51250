# Copyright 2026 The rclrt Authors
# SPDX-License-Identifier: Apache-2.0
"""A chain of 60 ms beside best effort in one process on one CPU, and a callback that runs away.

Four ways take turns: all callbacks share the CPU (shared); the chain has SCHED_FIFO (fifo); a
callback above the chain takes 100 ms of CPU time every 300 ms (runaway); the same with a budget of
5 ms in 50 (budget). Best effort counts the work that it gets done.

Targets: no instance of the chain is late in fifo and budget; fifo costs the best effort at most 5 %
of what it gets done in shared (median of the rounds). Exits with 1 if one is missed, with 2 for
wrong arguments, with 77 where SCHED_FIFO is not permitted.
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

from rclrt_analysis.arguments import positive, writable_file
from rclrt_analysis.reference.program import ends_with_us

WAYS = ("shared", "fifo", "runaway", "budget")
MOST_LOST = 0.05
SKIPPED = 77


def _seconds(text: str) -> float:
    value = float(text)
    if not 0.2 <= value <= 3600:
        raise argparse.ArgumentTypeError(f"{text} is not a time from 0.2 to 3600 s")
    return value


def add_arguments(parser: argparse.ArgumentParser) -> None:
    """Declare the options."""
    parser.add_argument("--json", type=writable_file, metavar="FILE", help="write the rows there")
    parser.add_argument("--rounds", type=positive, default=5, help="turns of each (%(default)s)")
    parser.add_argument("--seconds", type=_seconds, default=6.0, help="of a turn (%(default)g)")


def run(arguments: argparse.Namespace) -> int:
    """Run the experiment."""
    folder = Path(os.environ.get("RCLRT_BUILD_DIR", "build")) / "rclrt_benchmarks"
    program = str(folder / "chain_beside_best_effort")
    turns: dict[str, list[dict[str, Any]]] = {way: [] for way in WAYS}
    for number in range(arguments.rounds):
        for way in (*WAYS[number % 4 :], *WAYS[: number % 4]):
            command = [*ends_with_us(), program, way, str(arguments.seconds)]
            try:
                done = subprocess.run(command, capture_output=True, text=True, check=False)
            except OSError as error:
                print(error, file=sys.stderr)
                return 1
            if done.returncode != 0:
                print(done.stderr, end="", file=sys.stderr)
                return SKIPPED if done.returncode == SKIPPED else 1
            turns[way].append(json.loads(done.stdout))
    rows = [_row(way, turns) for way in WAYS]
    print(f"  {'':8} {'instances':>9} {'late':>5} {'worst ms':>9} {'best effort lost':>17}")
    for row in rows:
        print(
            f"  {row['way']:8} {row['instances']:9} {row['misses']:5} {row['worst_ms']:9.1f} "
            f"{100 * row['lost']:15.1f} %"
        )
    if arguments.json:
        text = json.dumps({"schema": 1, "rows": rows, "turns": turns}, indent=1)
        arguments.json.write_text(text + "\n", encoding="utf-8")
    return _judge({row["way"]: row for row in rows})


def _row(way: str, turns: dict[str, list[dict[str, Any]]]) -> dict[str, Any]:
    lost = [
        1 - mine["units_per_s"] / plain["units_per_s"] if plain["units_per_s"] else 0.0
        for mine, plain in zip(turns[way], turns["shared"], strict=True)
    ]
    return {
        "way": way,
        "instances": sum(turn["instances"] for turn in turns[way]),
        "misses": sum(turn["misses"] for turn in turns[way]),
        "worst_ms": max(turn["worst_ms"] for turn in turns[way]),
        "lost": statistics.median(lost),
    }


def _judge(rows: dict[str, dict[str, Any]]) -> int:
    targets = (
        ("fifo: nothing late", rows["fifo"]["misses"] == 0),
        ("budget: nothing late", rows["budget"]["misses"] == 0),
        (f"fifo: at most {100 * MOST_LOST:g} % lost", rows["fifo"]["lost"] <= MOST_LOST),
    )
    for name, met in targets:
        print(f"{'met   ' if met else 'MISSED'} {name}")
    return 0 if all(met for _, met in targets) else 1
