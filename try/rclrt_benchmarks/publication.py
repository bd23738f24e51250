# Copyright 2026 The rclrt Authors
# SPDX-License-Identifier: Apache-2.0
"""From publication to start of the more urgent of two callbacks, on one CPU.

A thread at SCHED_FIFO 10 publishes to `mid` (50, 30 ms of work), whose reader was created first,
and to `high` (80, nothing to do). "middleware": Fast DDS tells reader after reader in the
publishing thread. "intra-process": rclcpp does. rclcpp's executors spin at 50; "by hand" is one
single-threaded executor for each of the two, at 50 and 80. "floor" is a bare wake-up of a thread
at 80.

Exits with 1 if under one of ours one of ten waits for `mid`, or the experiment fails, with 2 for
wrong arguments or without permission for SCHED_FIFO.
"""

from __future__ import annotations

import argparse
import json
import os
import subprocess
import sys
from pathlib import Path

from rclrt_analysis.arguments import positive, writable_file

OURS = ("preemptive", "isolated", "events")
# Half of the work of `mid`: nothing between that and a wake-up is waited for.
MAX_WAIT_NS = 15_000_000


def add_arguments(parser: argparse.ArgumentParser) -> None:
    """Declare the options."""
    parser.add_argument("--json", type=writable_file, metavar="FILE", help="write the rows there")
    parser.add_argument("--publications", type=positive, default=20, help="(%(default)s)")


def run(arguments: argparse.Namespace) -> int:
    """Run the experiment."""
    os.environ.setdefault("ROS_AUTOMATIC_DISCOVERY_RANGE", "LOCALHOST")
    folder = Path(os.environ.get("RCLRT_BUILD_DIR", "build")) / "rclrt_benchmarks"
    command = [str(folder / "publication_latency"), "--publications", str(arguments.publications)]
    try:
        done = subprocess.run(command, stdout=subprocess.PIPE, text=True, check=False)
    except OSError as error:
        print(f"{error}; it is built where rclcpp is found", file=sys.stderr)
        return 1
    if done.returncode != 0:
        return done.returncode if done.returncode == 2 else 1
    rows = [json.loads(line) for line in done.stdout.splitlines()]
    missed = False
    print("from publication to start of the more urgent callback, us")
    print(f"  {'executor':16} {'way':14} {'samples':>7} {'p50':>9} {'p90':>9} {'max':>9}")
    for row in rows:
        samples = sorted(row["ns"])
        if not samples:
            print(f"  {row['executor']:16} {row['path']:14} {0:7}   it never ran")
            missed = missed or row["executor"] in OURS
            continue
        nine_of_ten = samples[max(0, len(samples) * 9 // 10 - 1)]
        figures = (samples[(len(samples) - 1) // 2], nine_of_ten, samples[-1])
        waits = row["executor"] in OURS and nine_of_ten >= MAX_WAIT_NS
        missed = missed or waits
        print(
            f"  {row['executor']:16} {row['path']:14} {len(samples):7}"
            + "".join(f" {figure / 1000:9.1f}" for figure in figures)
            + ("   MISSED: it waits for the other one" if waits else "")
        )
    if arguments.json:
        text = json.dumps({"schema": 1, "rows": rows}, indent=1)
        arguments.json.write_text(text + "\n", encoding="utf-8")
    return 1 if missed else 0
