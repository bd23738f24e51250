# Copyright 2026 The rclrt Authors
# SPDX-License-Identifier: Apache-2.0
"""Run a command, and trace every ROS 2 process that it starts, without changing any program.

    ./rclrt observe -- ros2 launch my_robot robot.launch.py

Each process writes its trace files into one folder, for ./rclrt trace, model and advise. How: the
library rclrt_probe is preloaded into every child (rclrt_probe/README.md says what it sees, what it
does not, and what it costs). Ends with the exit status of the command.
"""

from __future__ import annotations

import argparse
import os
import signal
import subprocess
import sys
import tempfile
import time
from pathlib import Path

LIBRARY = Path("rclrt_probe") / "librclrt_probe.so"
NOT_FOUND = 127
NOT_RUN = 126
OUR_NAMES = ("RCLRT_SOURCE_DIR", "RCLRT_BUILD_DIR")


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


def environment(library: Path, folder: Path, given: dict[str, str]) -> dict[str, str]:
    """Return the environment of the command: that of the user, and the library.

    `./rclrt` itself has put the path of its Python modules first.
    """
    found = {name: value for name, value in given.items() if name not in OUR_NAMES}
    ours = str(Path(given.get("RCLRT_SOURCE_DIR", ".")) / "rclrt_analysis" / "src")
    paths = [path for path in found.pop("PYTHONPATH", "").split(":") if path and path != ours]
    if paths:
        found["PYTHONPATH"] = ":".join(paths)
    found["LD_PRELOAD"] = ":".join(filter(None, (str(library), given.get("LD_PRELOAD"))))
    found["RCLRT_PROBE_FOLDER"] = str(folder)
    # A program under the address sanitizer refuses whatever is loaded before that, else.
    options = (given.get("ASAN_OPTIONS"), "verify_asan_link_order=0")
    found["ASAN_OPTIONS"] = ":".join(filter(None, options))
    return found


def run(arguments: argparse.Namespace) -> int:
    """Run the command."""
    from rclrt_analysis.views.processes import processes, to_text

    library = Path(os.environ.get("RCLRT_BUILD_DIR", "build")) / LIBRARY
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
    with tempfile.TemporaryDirectory(prefix="rclrt-") as short:
        if set(" :") & set(str(library)):  # Which LD_PRELOAD would take for two names.
            link = Path(short) / library.name
            link.symlink_to(library.absolute())
            library = link
        status = _run(arguments.command, environment(library.absolute(), folder, dict(os.environ)))
    found = processes(folder)
    print(to_text(folder, found), file=sys.stderr)
    return status


def _run(command: list[str], variables: dict[str, str]) -> int:
    """Run it; signals are for the command, and the summary comes after it."""
    try:
        child = subprocess.Popen(command, env=variables)
    except OSError as error:
        print(f"{command[0]}: {error.strerror}", file=sys.stderr)
        return NOT_FOUND if isinstance(error, FileNotFoundError) else NOT_RUN
    signal.signal(signal.SIGINT, signal.SIG_IGN)  # The terminal has sent it to the command, too.
    for number in (signal.SIGTERM, signal.SIGHUP):
        signal.signal(number, lambda received, _: child.send_signal(received))
    status = child.wait()
    return status if status >= 0 else 128 - status
