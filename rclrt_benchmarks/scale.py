# Copyright 2026 The rclrt Authors
# SPDX-License-Identifier: Apache-2.0
"""How the engine grows: with callbacks, with threads, with releases a second.

The engine alone, without ROS, under SCHED_OTHER, beside a floor: a queue with a mutex, a condition
variable and one thread. Variants take turns within a row; all figures are medians of the rounds.

callbacks: one of N is released and waited for. Delay from release to start, and CPU time a job.
backlog: N jobs of N callbacks wait. Time a release, and CPU time a job when they run.
threads: bursts of N jobs for N threads. Delay until the last has begun, and CPU time a job.
instructions: of a job of one of N callbacks, counted by valgrind: of the thread that releases it,
in notify(), and of the thread that runs it, from waking up to sleeping again. They are the same on
every run of the same build, whatever else the machine does. Without valgrind it is left out.
rate: N releases a second of one callback with depth 10. What was dropped, and CPU time a job. The
floor has no such depth.

Growth is a figure of the largest N over that of the smallest. Exits with 1 when it fails, with 2
for wrong arguments. It judges nothing: the figures depend on the machine.
"""

from __future__ import annotations

import argparse
import json
import os
import re
import shutil
import statistics
import subprocess
import sys
from pathlib import Path
from typing import Any

from rclrt_analysis.arguments import positive, writable_file

VARIANTS = ("floor", "pool", "events", "isolated", "pool_spin", "pool_adaptive")
SIZES = {
    "callbacks": (1, 10, 100, 1000, 10_000),
    "backlog": (10, 100, 1000, 10_000),
    "threads": (1, 2, 4, 8, 16, 32, 64),
    "instructions": (1, 100),
    "rate": (10, 100, 1000, 10_000, 100_000),
}
SAMPLES = {"callbacks": 300, "backlog": 5, "threads": 100, "instructions": 0, "rate": 0}
COUNTED_VARIANTS = ("pool",)
# A thread for each: more is not what it is for.
MOST_ISOLATED = 100
# What each experiment is about, and in which unit a nanosecond is shown.
FIGURES = {
    "callbacks": (("delays_ns", "start us", 1000), ("cpu_ns_a_job", "CPU us", 1000)),
    "backlog": (("release_ns", "release ns", 1), ("job_ns", "job ns", 1)),
    "threads": (("delays_ns", "last us", 1000), ("cpu_ns_a_job", "CPU us", 1000)),
    "instructions": (("notify", "notify", 1), ("work", "job", 1)),
    "rate": (("dropped_share", "dropped %", 0.01), ("cpu_ns_a_job", "CPU us", 1000)),
}


def _parts(text: str) -> tuple[str, ...]:
    names = tuple(text.split(","))
    for name in names:
        if name not in SIZES:
            raise argparse.ArgumentTypeError(f"'{name}' is none of {', '.join(SIZES)}")
    return names


def add_arguments(parser: argparse.ArgumentParser) -> None:
    """Declare the options."""
    parser.add_argument("--json", type=writable_file, metavar="FILE", help="write the rows there")
    parser.add_argument("--rounds", type=positive, default=3, help="(%(default)s)")
    parser.add_argument(
        "--only", type=_parts, default=tuple(SIZES), metavar="A,B", help="of " + ",".join(SIZES)
    )
    parser.add_argument("--largest", type=positive, default=100_000, help="N (%(default)s)")


# Whose instructions are counted, with all that they call.
COUNTED = {"notify": "rclrt_core::Engine::notify*", "work": "rclrt_core::Engine::Impl::work*"}
FEW, MANY = 200, 700


def _collected(function: str, command: list[str]) -> int:
    """Return how many instructions valgrind has counted inside the function."""
    counted = subprocess.run(
        [
            "valgrind",
            "--tool=callgrind",
            "--callgrind-out-file=/dev/null",
            f"--toggle-collect={function}",
            *command,
        ],
        stdout=subprocess.DEVNULL,
        stderr=subprocess.PIPE,
        text=True,
        check=True,
        timeout=300,
    )
    return int(re.findall(r"Collected : (\d+)", counted.stderr)[-1])


def _instructions(program: Path, variant: str, size: int) -> dict[str, Any]:
    """Count those of a job: what more jobs cost, without beginning and end."""

    def of(function: str) -> float:
        few, many = (
            _collected(function, [str(program), variant, "callbacks", str(size), str(jobs)])
            for jobs in (FEW, MANY)
        )
        return (many - few) / (MANY - FEW)

    return {name: of(function) for name, function in COUNTED.items()}


def _measure(part: str, variant: str, size: int) -> dict[str, Any]:
    program = Path(os.environ.get("RCLRT_BUILD_DIR", "build")) / "rclrt_benchmarks" / "engine_scale"
    if part == "instructions":
        return _instructions(program, variant, size)
    # Rates: a third of a second, within limits.
    samples = SAMPLES[part] or min(30_000, max(10, size // 3))
    command = [str(program), variant, part, str(size), str(samples)]
    done = subprocess.run(command, stdout=subprocess.PIPE, text=True, check=True, timeout=300)
    row: dict[str, Any] = json.loads(done.stdout)
    if part == "rate":
        row["dropped_share"] = row["dropped"] / samples
    return {
        name: statistics.median(value) if isinstance(value, list) else value
        for name, value in row.items()
    }


def run(arguments: argparse.Namespace) -> int:
    """Run the experiment."""
    print(f"{os.cpu_count()} CPUs, load {os.getloadavg()[0]:.2f}, {arguments.rounds} rounds")
    rows = []
    for part in arguments.only:
        if part == "instructions" and not shutil.which("valgrind"):
            print("\ninstructions: left out, because valgrind was not found")
            continue
        sizes = [size for size in SIZES[part] if size <= arguments.largest]
        found: dict[tuple[str, int], list[dict[str, Any]]] = {}
        for turn in range(arguments.rounds):
            for size in sizes:
                for i in range(len(VARIANTS)):
                    variant = VARIANTS[(turn + i) % len(VARIANTS)]
                    if variant == "isolated" and part != "rate" and size > MOST_ISOLATED:
                        continue
                    if part == "instructions" and (turn > 0 or variant not in COUNTED_VARIANTS):
                        continue
                    try:
                        row = _measure(part, variant, size)
                    except (OSError, subprocess.SubprocessError) as error:
                        print(error, file=sys.stderr)
                        return 1
                    found.setdefault((variant, size), []).append(row)
        rows += _show(part, sizes, found)
    if arguments.json:
        text = json.dumps({"schema": 1, "rows": rows}, indent=1)
        arguments.json.write_text(text + "\n", encoding="utf-8")
    return 0


def _show(
    part: str, sizes: list[int], found: dict[tuple[str, int], list[dict[str, Any]]]
) -> list[dict[str, Any]]:
    rows = []
    for figure, title, unit in FIGURES[part]:
        print(f"\n{part}: {title}")
        print(f"  {'N':14}", *(f"{size:>9}" for size in sizes), f"{'growth':>9}")
        for variant in VARIANTS:
            if not any((variant, size) in found for size in sizes):
                continue
            values = {
                size: statistics.median(row[figure] for row in found[variant, size]) / unit
                for size in sizes
                if (variant, size) in found
            }
            growth = None
            if len(values) > 1 and values[min(values)] > 0:
                growth = values[max(values)] / values[min(values)]
            cells = [f"{values[size]:9.2f}" if size in values else f"{'-':>9}" for size in sizes]
            print(f"  {variant:14}", *cells, f"{'-' if growth is None else f'{growth:.2f}':>9}")
            rows += [
                {
                    "part": part,
                    "figure": title,
                    "variant": variant,
                    "size": size,
                    "rounds": len(found[variant, size]),
                    "value": value,
                    "growth": growth,
                }
                for size, value in values.items()
            ]
    return rows
