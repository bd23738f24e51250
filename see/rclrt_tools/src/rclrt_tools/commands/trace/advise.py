# Copyright 2026 The rclrt Authors
# SPDX-License-Identifier: Apache-2.0
"""Say what our executors would make of it, and write parameters.

    ./rclrt trace advise FOLDER      (a folder that ./rclrt observe has made; or trace files)

Prints for each callback the longest response that was observed, the longest one in a simulation
under our executors, and the bound. Priorities that the program has given itself are kept, unless
fewer callbacks are late with priorities by rate. Execution times are the longest ones observed,
times a factor. Says which paths may take longer than they did. Exits with 1 if a bound exceeds a
period.
"""

from __future__ import annotations

import argparse
import sys
from pathlib import Path
from typing import TYPE_CHECKING

from rclrt_tools.arguments import cpu_list, positive, writable_file

if TYPE_CHECKING:
    from rclrt_tools.observe.advice import Advice

KINDS = ("preemptive", "priority_events", "isolated")


def add_arguments(parser: argparse.ArgumentParser) -> None:
    """Declare the options."""
    parser.add_argument("traces", type=Path, nargs="+", metavar="FOLDER", help="or trace files")
    parser.add_argument(
        "--executor", choices=KINDS, default=KINDS[0], help="which of ours (%(default)s)"
    )
    parser.add_argument(
        "--cpus", type=cpu_list, metavar="N,...", help="of all executors (those seen in the traces)"
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


def _print_paths(advice: Advice) -> int:
    """Print what each path took and would take; return how many may take longer."""
    from rclrt_analysis.report import ms

    longer = 0
    print(f"{'longest way, from what starts it, ms':46} {'observed':>10} {'simulated':>10}")
    for name in advice.ends:
        before, after = advice.ways.get(name), advice.chosen.ways.get(name)
        worse = before is not None and after is not None and after > before
        longer += worse
        mark = "  longer" if worse else ""
        print(f"{_short(name):46} {ms(before):>10} {ms(after):>10}{mark}")
    return longer


def _short(name: str) -> str:
    return name if len(name) <= 46 else "..." + name[-43:]


def _print_callbacks(advice: Advice) -> int:
    """Print the longest responses; return how many may be longer than the period."""
    from rclrt_analysis.report import ms

    worst, result = advice.chosen.run.worst(), advice.chosen.result
    heads = ("observed", "simulated", "bound", "period")
    print(f"{'longest response, ms':46} " + " ".join(f"{head:>10}" for head in heads))
    late = 0
    for callback, bound in zip(advice.chosen.system.callbacks, result.callbacks, strict=True):
        timer = bound.local.from_grid is not None
        found = worst[callback.name][1 if timer else 0] if callback.name in worst else None
        over = callback.period is not None and (
            bound.bound is None or bound.bound > callback.period
        )
        late += over
        print(
            f"{_short(callback.name):46} {ms(advice.observed.get(callback.name)):>10} "
            f"{ms(found):>10} {ms(bound.bound):>10} {ms(callback.period):>10}"
            f"{'  <-' if over else ''}"
        )
    for reason in dict.fromkeys(b.local.reason for b in result.callbacks if b.bound is None):
        print(f"no bound: {reason}")
    return late


def run(arguments: argparse.Namespace) -> int:
    """Print the advice."""
    from rclrt_analysis.model import ModelError, model_schema
    from rclrt_analysis.simulation import SimulationError
    from rclrt_tools.calibration import read_overheads
    from rclrt_tools.observe.advice import advise, parameters
    from rclrt_tools.trace import TraceError, named_traces

    duration = arguments.duration * 1_000_000_000
    try:
        traces = named_traces(arguments.traces)
        costs = read_overheads(arguments.overheads) if arguments.overheads else None
        advice = advise(
            traces, model_schema(), arguments.executor, arguments.cpus, costs, arguments.factor,
            duration=duration,
        )  # fmt: skip
    except (TraceError, ModelError, SimulationError, ValueError) as error:
        print(error, file=sys.stderr)
        return 2
    chosen = advice.chosen
    late = _print_callbacks(advice)
    longer = _print_paths(advice)
    if chosen.run.horizon < duration:
        print(
            f"simulated: {chosen.run.horizon / 1e6:g} ms only, because there are so many releases"
        )
    for doubt in advice.doubts:
        print(f"doubt: {doubt}")
    cores = sorted({core for executor in chosen.system.executors for core in executor.cores})
    print(
        f"with {arguments.executor} on CPUs {', '.join(map(str, cores))}; other programs no longer"
    )
    print("have the CPU while a job of these is ready")
    if len(cores) > 1 and any(one.bound is None for one in chosen.result.callbacks):
        print(f"--cpus {cores[0]}: more may have a bound on one CPU, where paths may take longer")
    if advice.is_own:
        print("priorities: those that the program has given itself")
    elif advice.instead:
        print(
            f"priorities: by rate. With the program's own {advice.instead.late} callbacks are late "
            f"in the simulation, with these {chosen.late}"
        )
    if advice.left_out:
        print(f"not in it: {len(advice.left_out)} callbacks that rclcpp has made for itself")
    if late:
        print(f"{late} callbacks may take longer than their period (<-)")
    if longer:
        print(f"{longer} paths may take longer than what was observed (longer)")
    folder = arguments.traces[0]
    where = arguments.parameters or (folder if folder.is_dir() else folder.parent) / "rclrt.yaml"
    try:
        where.write_text(parameters(advice), encoding="utf-8")
    except OSError as error:
        print(f"{where}: {error.strerror}", file=sys.stderr)
        return 2
    print(f"{where}: parameters to try with {arguments.executor}")
    return int(late > 0)
