# Copyright 2026 The rclrt Authors
# SPDX-License-Identifier: Apache-2.0
"""What creating a thread costs, beside giving a job to one that exists [ROSRT Fig. 5].

pthread_create() again and again, each thread joined before the next one, and then without joining;
and a release for rclrt's pool, whose thread sleeps. Of each: how long the call takes, and how long
until the thread or the job begins. All under SCHED_OTHER; the three take turns.

Exits with 1 when it fails, with 2 for wrong arguments.
"""

from __future__ import annotations

import argparse
import json
import os
import subprocess
import sys
from pathlib import Path

from rclrt_analysis.arguments import positive, writable_file
from rclrt_analysis.statistics import percentile, quantiles

WAYS = {
    "joined": "pthread_create(), joined before the next",
    "not_joined": "pthread_create(), not joined",
    "pool": "a release for the pool",
}
MOST = 1_000_000


def add_arguments(parser: argparse.ArgumentParser) -> None:
    """Declare the options."""
    parser.add_argument("--json", type=writable_file, metavar="FILE", help="write the rows there")
    parser.add_argument("--rounds", type=positive, default=5, help="turns of each (%(default)s)")
    parser.add_argument(
        "--threads", type=_threads, default=2000, help="of each way, a round (%(default)s)"
    )


def _threads(text: str) -> int:
    value = positive(text)
    if value > MOST:
        raise argparse.ArgumentTypeError(f"{value} is more than {MOST}")
    return value


def run(arguments: argparse.Namespace) -> int:
    """Run the experiment."""
    program = (
        Path(os.environ.get("RCLRT_BUILD_DIR", "build")) / "rclrt_benchmarks" / "thread_creation"
    )
    rounds = []
    for _ in range(arguments.rounds):
        try:
            done = subprocess.run(
                [str(program), str(arguments.threads)],
                stdout=subprocess.PIPE, text=True, check=True,
            )  # fmt: skip
        except (OSError, subprocess.SubprocessError) as error:
            print(error, file=sys.stderr)
            return 1
        rounds.append(json.loads(done.stdout))
    print(f"us; {arguments.rounds} rounds of {arguments.threads} threads; SCHED_OTHER")
    print(f"  {'':42} {'':10} {'n':>7} {'p50':>8} {'p99':>8} {'max':>9}")
    rows = []
    for way, text in WAYS.items():
        for what in ("call", "start"):
            of_rounds = [[ns / 1000 for ns in one[way][f"{what}_ns"]] for one in rounds]
            every = sorted(us for one in of_rounds for us in one)
            p50, p99 = percentile(every, 0.5), percentile(every, 0.99)
            cells = ["-" if us is None else f"{us:.1f}" for us in (p50, p99, max(every))]
            print(f"  {text:42} {what:10} {len(every):7} {cells[0]:>8} {cells[1]:>8} {cells[2]:>9}")
            rows.append(
                {
                    "way": way,
                    "what": what,
                    "n": len(every),
                    "p50_us": p50,
                    "p99_us": p99,
                    "max_us": max(every),
                    "rounds_p50_us": [percentile(sorted(one), 0.5) for one in of_rounds],
                    "quantiles_us": quantiles(every),
                }
            )
    refused = [
        os.strerror(one["not_joined"]["errno"]) for one in rounds if one["not_joined"]["errno"]
    ]
    if refused:
        print(f"without joining the system allowed fewer threads: {refused[0]}")
    if arguments.json:
        text = json.dumps({"schema": 1, "refused": refused, "rows": rows}, indent=1)
        arguments.json.write_text(text + "\n", encoding="utf-8")
    return 0
