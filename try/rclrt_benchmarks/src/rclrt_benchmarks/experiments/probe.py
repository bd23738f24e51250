# Copyright 2026 The rclrt Authors
# SPDX-License-Identifier: Apache-2.0
"""What the probe adds to a callback and to a message: the same calls with it and without.

Runs a program that calls what rclcpp calls, with nothing behind it, in turns with the library
preloaded and without. Prints medians of the runs, each a median of batches of 500 calls.
"""

from __future__ import annotations

import argparse
import json
import os
import statistics
import subprocess
import sys
import tempfile
from pathlib import Path

from rclrt_analysis.arguments import positive, writable_file

CALLS = (
    "callback_start and callback_end",
    "publication",
    "take",
    "timer's call and its callback",
    "rcl_wait()",
)
GOAL_NS = 1000


def add_arguments(parser: argparse.ArgumentParser) -> None:
    """Declare the options."""
    parser.add_argument(
        "--rounds", type=positive, default=11, help="runs of each (default: %(default)s)"
    )
    parser.add_argument(
        "--batches", type=positive, default=401, help="batches of a run (default: %(default)s)"
    )
    parser.add_argument(
        "--json", type=writable_file, metavar="FILE", help="write the numbers there"
    )


def run(arguments: argparse.Namespace) -> int:
    """Run the program, print the table; exits with 1 if a callback or a message costs 1 us more."""
    folder = Path(os.environ.get("RCLRT_BUILD_DIR", "build")) / "rclrt_probe"
    if not (folder / "fake_program").exists():
        print("the program is built with the tests: run ./rclrt test once", file=sys.stderr)
        return 2
    plain: list[list[float]] = []
    probed: list[list[float]] = []
    with tempfile.TemporaryDirectory() as traces:
        preload = {
            "LD_PRELOAD": str(folder / "librclrt_probe.so"),
            "RCLRT_PROBE_FOLDER": traces,
        }
        for _ in range(arguments.rounds):
            plain.append(_once(folder, arguments.batches, {}))
            probed.append(_once(folder, arguments.batches, preload))
    rows = []
    print(f"{'ns a call':34} {'without':>9} {'with':>9} {'more':>9}")
    columns = (list(zip(*runs, strict=True)) for runs in (plain, probed))
    for call, without, probe in zip(CALLS, *columns, strict=True):
        row = {
            "call": call,
            "without_ns": statistics.median(without),
            "with_ns": statistics.median(probe),
        }
        row["more_ns"] = statistics.median(b - a for a, b in zip(without, probe, strict=True))
        rows.append(row)
        print(f"{call:34} {row['without_ns']:9.0f} {row['with_ns']:9.0f} {row['more_ns']:9.0f}")
    print(f"medians of {arguments.rounds} runs of {arguments.batches} batches of 500 calls")
    if arguments.json:
        content = {"schema": 1, "rounds": arguments.rounds, "calls": rows}
        arguments.json.write_text(json.dumps(content, indent=1) + "\n", encoding="utf-8")
    return int(any(row["more_ns"] > GOAL_NS for row in rows))


def _once(folder: Path, batches: int, variables: dict[str, str]) -> list[float]:
    done = subprocess.run(
        [str(folder / "fake_program"), "cost", str(batches)],
        env=os.environ | variables,
        capture_output=True,
        text=True,
        check=True,
    )
    return [float(word) for word in done.stdout.split()]
