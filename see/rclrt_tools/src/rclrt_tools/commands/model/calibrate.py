# Copyright 2026 The rclrt Authors
# SPDX-License-Identifier: Apache-2.0
"""Measure what our engine and this machine cost: overheads.

Measured with threads of SCHED_FIFO: releasing, starting and ending a job, switching threads, how
late timers are, waking a thread of another CPU, and what takes a CPU from everybody (interrupts,
the host of a virtual machine). Run it on the target, with the load that the robot will have beside
it. Exits with 1 if the machine does not allow it.
"""

import argparse
import json
import os
import platform
import subprocess
import sys

from rclrt_tools.arguments import cpu_list, positive, writable_file
from rclrt_tools.places import program as program_of

PROGRAM = "cost_of_a_job"


def _fraction(text: str) -> float:
    value = float(text)
    if not 0.5 <= value <= 1:
        raise argparse.ArgumentTypeError(f"{text} is not between 0.5 and 1")
    return value


def add_arguments(parser: argparse.ArgumentParser) -> None:
    """Declare the options."""
    parser.add_argument(
        "-o", "--output", type=writable_file, metavar="FILE", help="the overheads, YAML"
    )
    parser.add_argument("--samples", type=positive, default=2000, help="of each cost (%(default)s)")
    parser.add_argument(
        "--seconds", type=positive, default=10, help="how long each CPU is watched (%(default)s)"
    )
    parser.add_argument("--cpus", type=cpu_list, metavar="N,...", help="(all of this process)")
    parser.add_argument(
        "--fraction",
        type=_fraction,
        default=1.0,
        metavar="F",
        help="share of the samples that delays cover (1: all)",
    )
    parser.add_argument("--json", type=writable_file, metavar="FILE", help="every sample")


def needs(_: argparse.Namespace) -> tuple[str, ...]:
    """Return the program that measures."""
    return (PROGRAM,)


def run(arguments: argparse.Namespace) -> int:
    """Measure."""
    from rclrt_tools.calibration import SKIPPED, read_samples, to_text, to_yaml
    from rclrt_tools.reference.program import ends_with_us

    program = program_of("rclrt_benchmarks", PROGRAM)
    if not program.exists():
        print(f"there is no {program}: run ./rclrt build", file=sys.stderr)
        return 1
    cpus = arguments.cpus or sorted(os.sched_getaffinity(0))
    command = [*ends_with_us(), str(program), str(arguments.samples), str(arguments.seconds)]
    done = subprocess.run(
        [*command, *map(str, cpus)], stdout=subprocess.PIPE, text=True, check=False
    )
    if done.returncode == SKIPPED:
        help_ = "See docs/how-to/real-time-permissions.md"
        print(f"{done.stdout.strip()}. {help_}", file=sys.stderr)
    if done.returncode != 0:
        return 1
    content = json.loads(done.stdout)
    calibration = read_samples(content)
    print(to_text(calibration))
    about = (
        f"{arguments.samples} samples, {platform.machine()}, {platform.system()} "
        f"{platform.release()}, CPUs {', '.join(map(str, cpus))}, {platform.node()}"
    )
    text = to_yaml(calibration.overheads(arguments.fraction), about)
    print(f"\n{text}", end="")
    if arguments.output:
        arguments.output.write_text(text, encoding="utf-8")
    if arguments.json:
        arguments.json.write_text(done.stdout, encoding="utf-8")
    return 0
