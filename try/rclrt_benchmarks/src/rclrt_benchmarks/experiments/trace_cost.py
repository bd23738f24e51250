# Copyright 2026 The rclrt Authors
# SPDX-License-Identifier: Apache-2.0
"""What the trace costs a job: in memory of the process, and in the file that others read.

One thread releases and runs jobs that do nothing. `with messages`: each takes a message and
publishes one, which is a second record. `watched`: the executor watches over a chain. `with a
budget`: no record, but the CPU time of each job is counted. Medians of rounds in turns.

Exits with 1 when the target is missed or the experiment fails, with 2 for wrong arguments.
"""

from __future__ import annotations

import argparse
import json
import os
import statistics
import subprocess
import sys
from pathlib import Path

from rclrt_analysis.arguments import positive, writable_file

MAX_NS = 150
MAX_WATCHED_NS = 1000


def add_arguments(parser: argparse.ArgumentParser) -> None:
    """Declare the options."""
    parser.add_argument("--json", type=writable_file, metavar="FILE", help="write the rows there")
    parser.add_argument("--rounds", type=positive, default=51, help="(%(default)s)")
    parser.add_argument("--jobs", type=positive, default=20000, help="a round (%(default)s)")


def run(arguments: argparse.Namespace) -> int:
    """Run the experiment."""
    folder = Path(os.environ.get("RCLRT_BUILD_DIR", "build")) / "rclrt_benchmarks"
    command = [str(folder / "trace_cost"), str(arguments.rounds), str(arguments.jobs)]
    try:
        done = subprocess.run(command, stdout=subprocess.PIPE, text=True, check=True)
    except (OSError, subprocess.SubprocessError) as error:
        print(error, file=sys.stderr)
        return 1
    rounds: dict[str, list[float]] = json.loads(done.stdout)
    medians = {name: statistics.median(values) for name, values in rounds.items()}
    print(f"ns a job, median of {arguments.rounds} rounds of {arguments.jobs} jobs")
    print(f"  {'':22} {'a job':>8} {'added':>8}")
    rows = []
    missed = False
    for name, value in sorted(medians.items()):
        plain = "none, with messages" if "messages" in name else "none"
        added = None if name == "floor" else value - medians[plain]
        row = {"variant": name, "n": arguments.rounds, "job_ns": value, "added_ns": added}
        rows.append(row)
        verdict = ""
        if added is not None and not name.startswith("none"):
            most = MAX_WATCHED_NS if "watched" in name else MAX_NS
            missed = missed or added > most
            verdict = f"   {'met' if added <= most else 'MISSED'} (<= {most})"
        shown = "" if added is None else f"{added:8.1f}"
        print(f"  {name:22} {value:8.1f} {shown:>8}{verdict}")
    if arguments.json:
        text = json.dumps({"schema": 1, "rows": rows}, indent=1)
        arguments.json.write_text(text + "\n", encoding="utf-8")
    return 1 if missed else 0
