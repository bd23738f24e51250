# Copyright 2026 The rclrt Authors
# SPDX-License-Identifier: Apache-2.0
"""What it costs a thread to say a deadline to the scheduler in the kernel.

Stores by rclrt_scx's client into a mapped BPF array, as the slot table is one (into anonymous
memory where bpf(2) is not allowed: printed), and for comparison sched_setattr(2). Medians of
rounds.

Exits with 1 when the target is missed or the experiment fails, with 2 for wrong arguments.
"""

from __future__ import annotations

import argparse
import json
import os
import subprocess
import sys
from pathlib import Path

from rclrt_analysis.arguments import positive, writable_file

MAX_STORE_NS = 100


def add_arguments(parser: argparse.ArgumentParser) -> None:
    """Declare the options."""
    parser.add_argument("--json", type=writable_file, metavar="FILE", help="write the row there")
    parser.add_argument("--rounds", type=positive, default=101, help="(%(default)s)")


def run(arguments: argparse.Namespace) -> int:
    """Run the experiment."""
    folder = Path(os.environ.get("RCLRT_BUILD_DIR", "build")) / "rclrt_scx"
    command = [str(folder / "rclrt_scx_deadline_store"), str(arguments.rounds)]
    try:
        done = subprocess.run(command, stdout=subprocess.PIPE, text=True, check=True)
    except (OSError, subprocess.SubprocessError) as error:
        print(error, file=sys.stderr)
        return 1
    row = json.loads(done.stdout)
    met = row["store_ns"] < MAX_STORE_NS
    verdict = "met" if met else "MISSED"
    print(f"median of {row['rounds']} rounds, ns, in {row['table']}")
    print(f"  deadline store {row['store_ns']:8.1f}   {verdict} (< {MAX_STORE_NS})")
    print(f"  sched_setattr  {row['sched_setattr_ns']:8.1f}")
    if arguments.json:
        text = json.dumps({"schema": 1, "rows": [row]}, indent=1)
        arguments.json.write_text(text + "\n", encoding="utf-8")
    return 0 if met else 1
