# Copyright 2026 The rclrt Authors
# SPDX-License-Identifier: Apache-2.0
"""The hot path of the Autoware Reference System when it is highest: its p99 beside the ideal.

The demo with one executor, and a verdict: exits with 1 if the 99th percentile is more than 1.25
times the work on the critical path plus the transport measured in the same run. Needs SCHED_FIFO.
"""

from __future__ import annotations

import argparse
import json
import tempfile
from pathlib import Path

from rclrt_analysis.arguments import writable_file
from rclrt_analysis.commands import demo


def add_arguments(parser: argparse.ArgumentParser) -> None:
    """Declare the options."""
    parser.add_argument("--json", type=writable_file, metavar="FILE", help="write the row there")
    parser.add_argument(
        "--duration", type=float, default=60.0, metavar="S", help="seconds (default: %(default)g)"
    )


def run(arguments: argparse.Namespace) -> int:
    """Run the demo with the one executor, and judge."""
    from rclrt_analysis.reference.demonstration import TARGET_EXECUTOR, TARGET_RATIO

    parser = argparse.ArgumentParser()
    demo.add_arguments(parser)
    with tempfile.TemporaryDirectory() as folder:
        path = Path(folder) / "result.json"
        given = ["--executors", TARGET_EXECUTOR, "--load", "quiet"]
        given += ["--duration", str(arguments.duration)]
        status = demo.run(parser.parse_args([*given, "--json", str(path)]))
        if status != 0:
            return status
        run_of_it = json.loads(path.read_text(encoding="utf-8"))["runs"][0]
    latency = run_of_it["hot_path_ms"]
    if latency["p99"] is None or not latency["ideal"]:
        print(f"not judged: {latency['n']} samples are too few for a p99; use a longer --duration")
        return 1
    ratio = latency["p99"] / latency["ideal"]
    row = {
        "executor": TARGET_EXECUTOR,
        "n": latency["n"],
        "p99_ms": latency["p99"],
        "ideal_ms": latency["ideal"],
        "ratio": ratio,
        "attributes_in_force": run_of_it["attributes_in_force"],
    }
    if arguments.json:
        arguments.json.write_text(json.dumps([row], indent=2) + "\n", encoding="utf-8")
    met = ratio <= TARGET_RATIO and run_of_it["attributes_in_force"]
    print(f"{'met' if met else 'MISSED'}  p99 / ideal {ratio:.2f} (<= {TARGET_RATIO})")
    return 0 if met else 1
