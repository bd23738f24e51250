# Copyright 2026 The rclrt Authors
# SPDX-License-Identifier: Apache-2.0
"""Run a command, and trace every ROS 2 process that it starts.

    ./rclrt observe -- ros2 launch my_robot robot.launch.py

Each process writes its trace files into one folder, for ./rclrt trace. How: a library is preloaded
into every child (see/rclrt_probe/README.md says what it sees, what it does not, and what it costs).
With --params or --deadline the programs run as by ./rclrt run. Ends with the exit status of the
command.

    ./rclrt observe --pid 4200

Looks at a process that was started without us, until Ctrl-C: its threads with their CPU time, how
often they wake and are preempted, policies and CPUs; and, if rclpy is here and its arguments name
its nodes, its topics and how many messages it publishes in a second. It cannot see callbacks.
"""

import argparse
import math
import sys
import tempfile
import time
from pathlib import Path

import rclrt_tools.commands.run as run_verb
from rclrt_tools.arguments import number_from, positive

LOOKS_S = 1.0


def add_arguments(parser: argparse.ArgumentParser) -> None:
    """Declare the options."""
    run_verb.add_options(parser)
    parser.add_argument(
        "-o",
        "--output",
        type=Path,
        metavar="FOLDER",
        help="for the trace files (./rclrt-trace-<time>)",
    )
    parser.add_argument("--pid", type=positive, metavar="PID", help="a process that runs already")
    parser.add_argument(
        "--for",
        type=number_from(0.1, 1e6, "s"),
        dest="seconds",
        metavar="S",
        help="with --pid: so long",
    )
    parser.add_argument("command", nargs="*", metavar="COMMAND", help="and its arguments, after --")


def needs(arguments: argparse.Namespace) -> tuple[str, ...]:
    """Return the libraries that are loaded."""
    return () if arguments.pid else run_verb.needs(arguments)


def run(arguments: argparse.Namespace) -> int:
    """Run the command, or look at a process."""
    is_changed = arguments.params or arguments.deadline
    if bool(arguments.pid) == bool(arguments.command):
        print("give a command, or --pid", file=sys.stderr)
        return 2
    if arguments.pid and (arguments.output or is_changed):
        print("--pid only looks: it goes without -o, --params and --deadline", file=sys.stderr)
        return 2
    if arguments.command and arguments.seconds:
        print("--for goes with --pid: a command ends by itself", file=sys.stderr)
        return 2
    if arguments.pid:
        return _look(arguments.pid, arguments.seconds)
    from rclrt_tools.preload import NOT_RUN, run_with
    from rclrt_tools.views.processes import processes, to_text

    ours = run_verb.variables(arguments) if is_changed else {}
    if ours is None:
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
    status = run_with(ours | {"RCLRT_PROBE_FOLDER": str(folder)}, arguments.command)
    found = processes(folder)
    print(to_text(folder, found), file=sys.stderr)
    return status


def _look(process: int, seconds: float | None) -> int:
    """Print what can be seen of a process from outside, when the time is over or it ends."""
    from contextlib import suppress

    from rclrt_tools.live.outside import Outside, topics_of
    from rclrt_tools.live.top_once import to_text
    from rclrt_tools.live.watch import Watch

    end = time.monotonic() + (seconds or math.inf)
    # Rates are since the begin, so that a look just before it ends has all.
    watch = Watch([str(process)], 1, places=[], outside=Outside().look, from_begin=True)
    newest = watch.snapshot()
    if not newest.outside:
        print(f"there is no process {process} that may be looked at", file=sys.stderr)
        return 1
    topics = list(topics_of(process))
    left = math.inf
    with suppress(KeyboardInterrupt):
        while left > 0:  # once at least: the topics may have taken all of the time
            time.sleep(max(0.0, min(end - time.monotonic(), LOOKS_S)))
            left = end - time.monotonic()
            snapshot = watch.snapshot()
            if not snapshot.outside:
                print(f"process {process} has ended", file=sys.stderr)
                break
            newest = snapshot
    print(to_text(newest, None))
    print("", *topics, sep="\n")
    return 0
