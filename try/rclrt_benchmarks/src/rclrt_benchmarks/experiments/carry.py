# Copyright 2026 The rclrt Authors
# SPDX-License-Identifier: Apache-2.0
"""What `./rclrt carry` adds to a message: the same program of plain rcl with it and without.

A thread publishes a message and takes it. In turns: without the library; with it, and no message
has a deadline; with it, and each has one, so that it is put into the table and found there.
Prints medians of the runs, each a median of batches of 200 messages.
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

GOAL_NS = 300


def add_arguments(parser: argparse.ArgumentParser) -> None:
    """Declare the options."""
    parser.add_argument(
        "--rounds", type=positive, default=15, help="runs of each (default: %(default)s)"
    )
    parser.add_argument(
        "--batches", type=positive, default=101, help="batches of a run (default: %(default)s)"
    )
    parser.add_argument(
        "--json", type=writable_file, metavar="FILE", help="write the numbers there"
    )


def run(arguments: argparse.Namespace) -> int:
    """Run the program, print the table; exits with 1 if a message costs 300 ns more."""
    build = Path(os.environ.get("RCLRT_BUILD_DIR", "build"))
    program = build / "rclrt_rcl" / "plain_rcl"
    library = build / "rclrt_probe" / "librclrt_carry.so"
    if not program.exists() or not library.exists():
        print("the program is built with the tests: run ./rclrt test once", file=sys.stderr)
        return 2
    variants = {
        "without": {},
        "no deadline": {"LD_PRELOAD": str(library)},
        "deadline": {"LD_PRELOAD": str(library), "RCLRT_CARRY": "/cost=20"},
    }
    seen: dict[str, list[float]] = {name: [] for name in variants}
    for _ in range(arguments.rounds):
        for name, variables in variants.items():
            done = subprocess.run(
                [str(program), "cost", str(arguments.batches)],
                env=os.environ | variables,
                capture_output=True,
                text=True,
                check=True,
            )
            seen[name].append(float(done.stdout))
    rows: list[dict[str, Any]] = []
    print(f"{'ns a message':14} {'median':>9} {'more':>9}")
    for name, found in seen.items():
        more = statistics.median(b - a for a, b in zip(seen["without"], found, strict=True))
        rows.append({"variant": name, "median_ns": statistics.median(found), "more_ns": more})
        print(f"{name:14} {statistics.median(found):9.0f} {more:9.0f}")
    print(f"medians of {arguments.rounds} runs of {arguments.batches} batches of 200 messages")
    if arguments.json:
        content = {"schema": 1, "rounds": arguments.rounds, "rows": rows}
        arguments.json.write_text(json.dumps(content, indent=1) + "\n", encoding="utf-8")
    return int(any(row["more_ns"] > GOAL_NS for row in rows))
