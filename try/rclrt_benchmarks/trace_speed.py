# Copyright 2026 The rclrt Authors
# SPDX-License-Identifier: Apache-2.0
"""How fast traces are read and turned into other files, and how much memory that takes.

Makes a trace of as many jobs as asked for (128 bytes each), of 20 callbacks on four threads. Half
of them were released by the other half, a quarter have waited for a thread. Runs each of
`./rclrt trace` on it. Times are those of the processor, with the start of the program. Exits with 1
if a target is missed: 5 s for a million jobs; memory that does not depend on how many there are.
"""

from __future__ import annotations

import argparse
import json
import os
import subprocess
import sys
import tempfile
from pathlib import Path
from typing import Any

from rclrt_analysis.arguments import positive, writable_file

MOST_S_PER_MILLION = 5.0
MOST_MIB = 700.0


NEEDS = ()  # It runs nothing that is built.


def add_arguments(parser: argparse.ArgumentParser) -> None:
    """Declare the options."""
    parser.add_argument("--jobs", type=positive, default=1_000_000, help="(%(default)s)")
    parser.add_argument("--folder", type=Path, help="for the files; they are removed again")
    parser.add_argument("--json", type=writable_file, metavar="FILE", help="write the rows there")


def run(arguments: argparse.Namespace) -> int:
    """Measure, print, judge."""
    from rclrt_analysis.workloads.long_trace import make_trace

    rows = []
    with tempfile.TemporaryDirectory(dir=arguments.folder) as name:
        folder = Path(name)
        trace = folder / "speed.trace"
        make_trace(trace, arguments.jobs)
        for what in (
            ["info", str(trace)],
            ["print", str(trace)],
            ["export", "--perfetto", str(folder / "out"), str(trace)],
            ["export", "--mcap", str(folder / "out"), str(trace)],
            ["diff", str(trace), str(trace)],
        ):
            rows.append(_row(what, arguments.jobs))
            row = rows[-1]
            print(f"{row['what']:20} {row['cpu_s']:9.2f} s {row['memory_mib']:9.0f} MiB")
    if arguments.json:
        arguments.json.write_text(json.dumps({"schema": 1, "rows": rows}, indent=1) + "\n", "utf-8")
    missed = [row["what"] for row in rows if not row["met"]]
    for what_missed in missed:
        print(f"MISSED: {what_missed}", file=sys.stderr)
    return 1 if missed else 0


def _row(what: list[str], jobs: int) -> dict[str, Any]:
    command = [sys.executable, "-m", "rclrt_analysis.cli", "trace", *what]
    with subprocess.Popen(command, stdout=subprocess.DEVNULL) as child:
        _, status, used = os.wait4(child.pid, 0)
        child.returncode = os.waitstatus_to_exitcode(status)
    cpu, memory = used.ru_utime + used.ru_stime, used.ru_maxrss / 1024
    # Starting takes a second at most.
    most = max(1.0, jobs / 1e6 * MOST_S_PER_MILLION) * (2 if what[0] == "diff" else 1)
    met = child.returncode == 0 and cpu <= most and memory <= MOST_MIB
    name = " ".join(part for part in what if not part.startswith("/"))
    return {"what": name, "cpu_s": cpu, "memory_mib": memory, "met": met}
