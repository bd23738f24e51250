# Copyright 2026 The rclrt Authors
# SPDX-License-Identifier: Apache-2.0
"""Memory that an executor adds to entities that exist already.

Per callback: bytes of heap that appear when a node with that many entities is added to an executor,
counted in malloc(). Per thread: heap and resident memory of one more thread that has run callbacks
(a pooled thread and an isolated one are the same), with and without its ring of job records, and
with the stack the system gives by default or a small one.

Exits with 1 when a target is missed or the experiment fails, with 2 for wrong arguments.
"""

from __future__ import annotations

import argparse
import json
import os
import subprocess
import sys
from pathlib import Path

from rclrt_analysis.arguments import positive, writable_file

MAX_BYTES_PER_CALLBACK = 1024


def add_arguments(parser: argparse.ArgumentParser) -> None:
    """Declare the options."""
    parser.add_argument("--json", type=writable_file, metavar="FILE", help="write the rows there")
    parser.add_argument("--callbacks", type=positive, default=1000, help="(%(default)s)")


def run(arguments: argparse.Namespace) -> int:
    """Run the experiment."""
    os.environ.setdefault("ROS_AUTOMATIC_DISCOVERY_RANGE", "LOCALHOST")
    folder = Path(os.environ.get("RCLRT_BUILD_DIR", "build")) / "rclrt_benchmarks"
    command = [str(folder / "memory_use"), str(arguments.callbacks)]
    try:
        done = subprocess.run(command, stdout=subprocess.PIPE, text=True, check=True)
    except (OSError, subprocess.SubprocessError) as error:
        print(error, file=sys.stderr)
        return 1
    result = json.loads(done.stdout)
    print(f"{arguments.callbacks} callbacks, heap the executor adds, bytes per callback")
    missed = False
    for item in result["callbacks"]:
        used = item["bytes_per_callback"]
        missed = missed or used >= MAX_BYTES_PER_CALLBACK
        verdict = "met" if used < MAX_BYTES_PER_CALLBACK else "MISSED"
        print(f"  {item['executor']:10} {item['kind']:12} {used:8.0f}   {verdict} (< 1 KiB)")
    print("\none more thread that has run callbacks, KiB")
    print(f"  {'job records':>12} {'stack, bytes':>14} {'heap':>8} {'resident':>9}")
    for item in result["threads"]:
        stack = str(item["stack_size"] or "default")
        print(
            f"  {item['trace_capacity']:12} {stack:>14} {item['heap_bytes'] / 1024:8.1f}"
            f" {item['resident_bytes'] / 1024:9.1f}"
        )
    if arguments.json:
        text = json.dumps({"schema": 1, **result}, indent=1)
        arguments.json.write_text(text + "\n", encoding="utf-8")
    return 1 if missed else 0
