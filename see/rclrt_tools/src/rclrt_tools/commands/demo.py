# Copyright 2026 The rclrt Authors
# SPDX-License-Identifier: Apache-2.0
"""Run a reference system under every executor; print its hot path.

The Autoware Reference System, unless --scenario names another file: 24 nodes on real ROS 2
middleware, with calibrated work. Each executor is measured alone and beside a load of busy ordinary
processes. All take turns in short slices, so that whatever disturbs the machine disturbs all of
them. Ctrl-C stops and reports what was measured.
"""

import argparse
import os
from pathlib import Path

from rclrt_tools.arguments import writable_file
from rclrt_tools.places import prefixes, tree
from rclrt_tools.reference.program import DEMO_EXECUTORS, EXECUTORS, LOADS

DEFAULT_DURATION_S = 230.0
MAX_WORK_MS = 10_000.0


def _executors(text: str) -> list[str]:
    names = [name.strip() for name in text.split(",") if name.strip()]
    known = ", ".join(EXECUTORS)
    for name in names:
        if name not in EXECUTORS:
            raise argparse.ArgumentTypeError(f"unknown executor '{name}'. Use any of: {known}")
    if not names:
        raise argparse.ArgumentTypeError(f"name one executor at least. Use any of: {known}")
    return list(dict.fromkeys(names))


def _loads(text: str) -> tuple[str, ...]:
    if text != "both" and text not in LOADS:
        raise argparse.ArgumentTypeError(f"'{text}' is none of both, {', '.join(LOADS)}")
    return LOADS if text == "both" else (text,)


def _number(text: str, lowest: float, highest: float) -> float:
    try:
        value = float(text)
    except ValueError:
        value = float("nan")
    if not lowest <= value <= highest:
        raise argparse.ArgumentTypeError(f"'{text}' is not a number from {lowest:g} to {highest:g}")
    return value


def _duration(text: str) -> float:
    return _number(text, 1.0, 86_400.0)


def _work(text: str) -> float:
    return _number(text, 0.0, MAX_WORK_MS)


def _cpus(text: str) -> str:
    available = os.cpu_count() or 1
    for word in text.split(","):
        if not word.isascii() or not word.isdigit() or int(word) >= available:
            raise argparse.ArgumentTypeError(
                f"'{word}' is not a CPU of this machine. Use a list of 0 to {available - 1}"
            )
    return text


def _readable_file(text: str) -> Path:
    path = Path(text)
    try:
        with path.open("rb"):
            return path
    except OSError as error:
        raise argparse.ArgumentTypeError(f"{text}: {error.strerror}") from error


def add_arguments(parser: argparse.ArgumentParser) -> None:
    """Declare the options."""
    parser.add_argument(
        "--duration",
        type=_duration,
        default=DEFAULT_DURATION_S,
        metavar="S",
        help="seconds for all of it (default: %(default)g)",
    )
    parser.add_argument(
        "--executors",
        type=_executors,
        default=list(DEMO_EXECUTORS),
        metavar="A,B",
        help="any of " + ", ".join(EXECUTORS) + " (default: " + ",".join(DEMO_EXECUTORS) + ")",
    )
    parser.add_argument(
        "--work",
        type=_work,
        metavar="MS",
        help="processor time of every callback that works, ms (default: as the scenario says)",
    )
    parser.add_argument(
        "--load",
        type=_loads,
        default=LOADS,
        metavar="|".join(("both", *LOADS)),
        help="measure alone (quiet), beside four busy ordinary processes a CPU (background), "
        "or both (default)",
    )
    parser.add_argument("--cpus", type=_cpus, metavar="0,1", help="the CPUs to use (default: all)")
    parser.add_argument(
        "--scenario",
        type=_readable_file,
        metavar="FILE",
        help="another system, see try/rclrt_scenarios/README.md",
    )
    parser.add_argument(
        "--json", type=writable_file, metavar="FILE", help="write the result, schema 1"
    )
    parser.add_argument(
        "--svg", type=writable_file, metavar="FILE", help="write a picture of the table"
    )


def needs(_: argparse.Namespace) -> tuple[str, ...]:
    """Return the program that runs a scenario."""
    return ("rclrt_reference_system",)


def run(arguments: argparse.Namespace) -> int:
    """Run the demo."""
    from rclrt_tools.reference.demonstration import demonstrate

    source = tree() or Path()
    places = [source / "try", *(prefix / "share" for prefix in prefixes())]
    paths = [place / "rclrt_scenarios" / "autoware_reference_system.yaml" for place in places]
    default = next((path for path in paths if path.exists()), paths[0])
    return demonstrate(arguments, arguments.scenario or default, source)
