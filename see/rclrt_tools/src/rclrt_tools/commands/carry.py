# Copyright 2026 The rclrt Authors
# SPDX-License-Identifier: Apache-2.0
"""Run a command whose ROS 2 processes hand on deadlines.

    ./rclrt carry --deadline /scan=20 -- ros2 launch my_robot drivers.launch.py

For unmodified programs of any client library that do not use the executors of rclrt. A message that
they publish on a topic named here, or a request to a service named here, gets a deadline so many
milliseconds later. Whatever they publish, ask or reply in answer to a message with a deadline has
that deadline. Callbacks of our executors that take such messages run by it, in every process of
this user on this machine. How: a library is preloaded into every child (docs/how-to/edf.md). Ends
with the exit status of the command.
"""

from __future__ import annotations

import argparse


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


def add_arguments(parser: argparse.ArgumentParser) -> None:
    """Declare the options."""
    parser.add_argument(
        "--deadline",
        action="append",
        default=[],
        type=_deadline,
        metavar="/TOPIC=MS",
        help="of the messages on a topic, or requests to a service, ms after they are sent; may be "
        "given several times",
    )
    parser.add_argument("command", nargs="+", metavar="COMMAND", help="and its arguments, after --")


def needs(_: argparse.Namespace) -> tuple[str, ...]:
    """Return the library that is preloaded."""
    return ("rclrt_carry",)


def run(arguments: argparse.Namespace) -> int:
    """Run the command."""
    from rclrt_tools.preload import built, run_with

    ours = {"RCLRT_CARRY": ",".join(arguments.deadline)}
    return run_with(built("rclrt_carry"), ours, arguments.command)
