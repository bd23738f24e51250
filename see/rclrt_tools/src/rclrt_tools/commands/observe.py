# Copyright 2026 The rclrt Authors
# SPDX-License-Identifier: Apache-2.0
"""Run a command, and trace every ROS 2 process that it starts.

    ./rclrt observe -- ros2 launch my_robot robot.launch.py

Each process writes its trace files into one folder, for ./rclrt trace. How: the library rclrt_probe
is preloaded into every child (see/rclrt_probe/README.md says what it sees, what it does not, and
what it costs). Ends with the exit status of the command.
"""

from __future__ import annotations

import argparse
import sys
import tempfile
import time
from pathlib import Path


def add_arguments(parser: argparse.ArgumentParser) -> None:
    """Declare the options."""
    parser.add_argument(
        "-o",
        "--output",
        type=Path,
        metavar="FOLDER",
        help="for the trace files (./rclrt-trace-<time>)",
    )
    parser.add_argument("command", nargs="+", metavar="COMMAND", help="and its arguments, after --")


def needs(_: argparse.Namespace) -> tuple[str, ...]:
    """Return the library that is preloaded."""
    return ("rclrt_probe",)


def run(arguments: argparse.Namespace) -> int:
    """Run the command."""
    from rclrt_tools.preload import NOT_RUN, built, run_with
    from rclrt_tools.views.processes import processes, to_text

    library = built("rclrt_probe")
    if not library.exists():
        print(f"there is no {library}: run ./rclrt build", file=sys.stderr)
        return NOT_RUN
    folder = (arguments.output or Path(time.strftime("rclrt-trace-%Y%m%d-%H%M%S"))).absolute()
    try:
        folder.mkdir(parents=True, exist_ok=True)
        if any(folder.glob("*.trace")):
            raise FileExistsError(17, "has traces in it already")
        with tempfile.TemporaryFile(dir=folder):
            pass
    except OSError as error:
        print(f"{folder}: {error.strerror}", file=sys.stderr)
        return NOT_RUN
    status = run_with(library, {"RCLRT_PROBE_FOLDER": str(folder)}, arguments.command)
    found = processes(folder)
    print(to_text(folder, found), file=sys.stderr)
    return status
