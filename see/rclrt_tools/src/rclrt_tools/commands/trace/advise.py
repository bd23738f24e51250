# Copyright 2026 The rclrt Authors
# SPDX-License-Identifier: Apache-2.0
"""Say what our executors would make of it, and write parameters.

    ./rclrt trace advise FOLDER      (a folder that ./rclrt observe has made; or trace files)

Prints for each callback the longest response that was observed, the bound under our executors with
priorities by rate, and the longest response in a simulation. Execution times are the longest ones
observed, times a factor. Exits with 1 if a bound exceeds a period.
"""

from __future__ import annotations

import argparse
import sys
from pathlib import Path
from typing import TYPE_CHECKING

from rclrt_tools.arguments import positive, writable_file

if TYPE_CHECKING:
    from rclrt_tools.observe.advice import Advice

MOST_RELEASES, MOST_OF_OVERLOAD = 300_000, 3_000
"""Releases of timers and from outside that are simulated. A system without bounds may be
overloaded: then ever more jobs wait."""

KINDS = ("preemptive", "priority_events", "isolated")


def _cores(text: str) -> list[int]:
    return sorted({int(part) for part in text.split(",")})


def add_arguments(parser: argparse.ArgumentParser) -> None:
    """Declare the options."""
    parser.add_argument("traces", type=Path, nargs="+", metavar="FOLDER", help="or trace files")
    parser.add_argument(
        "--executor", choices=KINDS, default=KINDS[0], help="which of ours (%(default)s)"
    )
    parser.add_argument(
        "--cpus", type=_cores, metavar="N,...", help="of all executors (those seen in the traces)"
    )
    parser.add_argument(
        "--duration", type=positive, default=10, metavar="S", help="simulated (%(default)s)"
    )
    parser.add_argument(
        "--overheads", type=Path, metavar="FILE", help="of ./rclrt model calibrate, for the bounds"
    )
    parser.add_argument(
        "--factor",
        type=float,
        default=1.0,
        metavar="F",
        help="execution times are so many times the longest observed (%(default)s)",
    )
    parser.add_argument(
        "--parameters",
        type=writable_file,
        metavar="FILE",
        help="for our executors (rclrt.yaml in the folder)",
    )


def _simulated_ns(advice: Advice, asked: int) -> int:
    """Return how long to simulate: a trace may say that a timer has a period of 1 ns."""
    bounded = all(one.bound is not None for one in advice.result.callbacks)
    most = MOST_RELEASES if bounded else MOST_OF_OVERLOAD
    releases = sum(asked / one.period for one in advice.system.callbacks if one.period)
    return asked if releases <= most else max(1, int(asked * most / releases))


def run(arguments: argparse.Namespace) -> int:
    """Print the advice."""
    from rclrt_analysis.model import ModelError, model_schema
    from rclrt_analysis.report import ms
    from rclrt_analysis.simulation import SimulationError, simulate

    from rclrt_tools.calibration import read_overheads
    from rclrt_tools.observe.advice import advise, parameters
    from rclrt_tools.trace import TraceError, named_traces

    schema = model_schema()
    try:
        traces = named_traces(arguments.traces)
        costs = read_overheads(arguments.overheads) if arguments.overheads else None
        advice = advise(traces, schema, arguments.executor, arguments.cpus, costs, arguments.factor)
        duration = _simulated_ns(advice, arguments.duration * 1_000_000_000)
        simulated = simulate(advice.system, duration, 1, False)
    except (TraceError, ModelError, SimulationError, ValueError) as error:
        print(error, file=sys.stderr)
        return 2
    result = advice.result
    worst = simulated.worst()
    heads = ("observed", "simulated", "bound", "period")
    print(f"{'longest response, ms':46} " + " ".join(f"{head:>10}" for head in heads))
    late = 0
    for callback, bound in zip(advice.system.callbacks, result.callbacks, strict=True):
        timer = bound.local.from_grid is not None
        found = worst[callback.name][1 if timer else 0] if callback.name in worst else None
        over = callback.period is not None and (
            bound.bound is None or bound.bound > callback.period
        )
        late += over
        name = callback.name if len(callback.name) <= 46 else "..." + callback.name[-43:]
        print(
            f"{name:46} {ms(advice.observed.get(callback.name)):>10} {ms(found):>10} "
            f"{ms(bound.bound):>10} {ms(callback.period):>10}{'  <-' if over else ''}"
        )
    for reason in dict.fromkeys(b.local.reason for b in result.callbacks if b.bound is None):
        print(f"no bound: {reason}")
    if duration < arguments.duration * 1_000_000_000:
        print(f"simulated: {duration / 1e6:g} ms only, because there are so many releases")
    for doubt in advice.doubts:
        print(f"doubt: {doubt}")
    cores = sorted({core for executor in advice.system.executors for core in executor.cores})
    print(
        f"with {arguments.executor} on CPUs {', '.join(map(str, cores))}; other programs no longer"
    )
    print("have the CPU while a job of these is ready")
    if advice.left_out:
        print(f"not in it: {len(advice.left_out)} callbacks that rclcpp has made for itself")
    if late:
        print(f"{late} callbacks may take longer than their period (<-)")
    folder = arguments.traces[0]
    where = arguments.parameters or (folder if folder.is_dir() else folder.parent) / "rclrt.yaml"
    try:
        where.write_text(parameters(advice), encoding="utf-8")
    except OSError as error:
        print(f"{where}: {error.strerror}", file=sys.stderr)
        return 2
    print(f"{where}: parameters to try with {arguments.executor}")
    return int(late > 0)
