# Copyright 2026 The rclrt Authors
# SPDX-License-Identifier: Apache-2.0
"""Run installed programs with a file's priorities and deadlines.

    ./rclrt run --params robot.yaml -- ros2 launch my_robot robot.launch.py

Every rclcpp process that the command starts runs the callbacks of rclcpp's executors as the file
says: a SingleThreadedExecutor runs one callback at a time, the most urgent first; a
MultiThreadedExecutor is a pool of as many threads. Programs of rclrt_rcl read the same file. A
program that cannot be served says why and runs as without rclrt.

Without --params only deadlines are handed on, in unmodified programs of any client library: a
message of a topic that --deadline names, or a request to such a service, gets a deadline so many
milliseconds after it is sent. What a program publishes, asks or replies in answer to a message
with a deadline has that deadline; so callbacks of our executors in every process of this user on
this machine run by it. How: a library is preloaded (docs/how-to/run.md). Ends with the exit status
of the command.
"""

import argparse
import sys
from pathlib import Path


def _deadline(text: str) -> str:
    topic, equals, number = text.partition("=")
    try:
        is_good = topic.startswith("/") and equals and 0 < float(number) <= 3_600_000
    except ValueError:
        is_good = False
    if not is_good or "," in topic:
        raise argparse.ArgumentTypeError(
            f"{text!r} is not /topic=milliseconds, with the topic's whole name"
        )
    return text


def add_options(parser: argparse.ArgumentParser) -> None:
    """Declare what is changed in programs."""
    parser.add_argument(
        "--params",
        type=Path,
        metavar="FILE",
        help="a parameters file with rclrt entries (ros/rclrt_config/README.md), or plan's",
    )
    parser.add_argument(
        "--deadline",
        action="append",
        default=[],
        type=_deadline,
        metavar="/TOPIC=MS",
        help="of the messages on a topic, or requests to a service, ms after they are sent; may be "
        "given several times",
    )


def add_arguments(parser: argparse.ArgumentParser) -> None:
    """Declare the options."""
    add_options(parser)
    parser.add_argument(
        "--trace", type=Path, metavar="FOLDER", help="where executors of --params write traces"
    )
    parser.add_argument("command", nargs="+", metavar="COMMAND", help="and its arguments, after --")


def needs(arguments: argparse.Namespace) -> tuple[str, ...]:
    """Return the libraries that are built, if none are installed."""
    from rclrt_tools.preload import installed

    if installed():
        return ()
    return ("rclrt_run", "rclrt_stock") if arguments.params else ("rclrt_run",)


def _problem(params: Path) -> str:
    """Say what is wrong with the file, as far as no node is needed to see it."""
    import yaml

    try:
        nodes = yaml.safe_load(params.read_text(encoding="utf-8"))
    except OSError as error:
        return str(error.strerror)
    except (yaml.YAMLError, UnicodeDecodeError) as error:
        return f"not YAML: {error}"
    entries = nodes.values() if isinstance(nodes, dict) else ()
    if any(isinstance(e, dict) and "rclrt" in (e.get("ros__parameters") or ()) for e in entries):
        return ""
    is_other = isinstance(nodes, dict) and "callback_groups" in nodes  # CallbackIsolatedExecutor's
    return "" if is_other else "no node in it has an entry 'rclrt' under 'ros__parameters'"


def variables(arguments: argparse.Namespace) -> dict[str, str] | None:
    """Return what the library is told; None: the file cannot be used, which has been said."""
    from rclrt_tools.preload import STOCK, found

    ours = {"RCLRT_CARRY": ",".join(arguments.deadline)}
    if arguments.params:
        problem = _problem(arguments.params)
        if problem:
            print(f"{arguments.params}: {problem}", file=sys.stderr)
            return None
        stock = found(STOCK)
        ours |= {"RCLRT_CONFIGURATION": str(arguments.params.absolute())}
        ours |= {"RCLRT_RUN": str(stock.parent if stock else "/nowhere")}
        if not stock:
            print(
                "rclrt was built without rclcpp, so its executors stay as they are. To change "
                "that: source /opt/ros/DISTRIBUTION/setup.bash, then ./rclrt build",
                file=sys.stderr,
            )
    return ours


def run(arguments: argparse.Namespace) -> int:
    """Run the command."""
    from rclrt_tools.preload import NOT_RUN, run_with

    ours = variables(arguments)
    if ours is None:
        return NOT_RUN
    if arguments.trace:
        ours |= {"RCLRT_TRACE": str(arguments.trace.absolute())}
    return run_with(ours, arguments.command)
