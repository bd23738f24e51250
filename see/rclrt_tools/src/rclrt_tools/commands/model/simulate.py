# Copyright 2026 The rclrt Authors
# SPDX-License-Identifier: Apache-2.0
"""Simulate a model; print what was seen beside what is bounded.

One run of the whole duration, which --trace and --html show, and short ones that search for the
worst phases: all timers at once, each when what is more urgent ends, many at random.
Exits with 1 if a bound was exceeded, which would be a mistake of the analysis; with 2 if the model
or the arguments are wrong.
"""

import argparse
import sys
from pathlib import Path

from rclrt_tools.arguments import positive, writable_file


def add_arguments(parser: argparse.ArgumentParser) -> None:
    """Declare the options."""
    parser.add_argument("model", type=Path, metavar="MODEL", help="the system, YAML")
    parser.add_argument(
        "--duration", type=positive, default=10, metavar="S", help="simulated (%(default)s)"
    )
    parser.add_argument("--seed", type=int, default=1, help="of phases and times (%(default)s)")
    parser.add_argument(
        "--overruns", choices=("keep_latest", "queue_all"), default="keep_latest",
        help="what a timer's release does that finds one waiting (%(default)s)",
    )  # fmt: skip
    parser.add_argument(
        "--random-work", action="store_true", help="execution times from best to worst case"
    )
    parser.add_argument(
        "--trace",
        type=writable_file,
        metavar="FILE",
        help="write a trace file; with several executors one for each, FILE.1, FILE.2, ...",
    )
    parser.add_argument(
        "--html", type=writable_file, metavar="FILE", help="write one page for a browser"
    )


def needs(arguments: argparse.Namespace) -> tuple[str, ...]:
    """Return the program that follows chains through the run, for the page."""
    return ("rclrt_watch",) * bool(arguments.html)


def run(arguments: argparse.Namespace) -> int:
    """Simulate the model."""
    from rclrt_analysis.bounds.analyse import analyse
    from rclrt_analysis.bounds.demotion import short_of
    from rclrt_analysis.model import ModelError, implausible, model_schema
    from rclrt_analysis.model.document import read_document
    from rclrt_analysis.model.read import build_system
    from rclrt_analysis.report import ms
    from rclrt_analysis.simulation import Seen, SimulationError, search, simulate

    schema = model_schema()
    try:
        document = read_document(arguments.model)
        system = build_system(document, schema)
        if short := short_of(system, analyse(system)):
            text = "a budget that may run out is not simulated"
            raise ModelError([f"{document.where(place)}: {why}: {text}" for place, why in short])
        horizon = arguments.duration * 1_000_000_000
        drawn = arguments.seed, arguments.random_work
        queue_all = arguments.overruns == "queue_all"
        run = simulate(system, horizon, *drawn, queue_all=queue_all)
        found = Seen()
        found.add(run)
        search(system, *drawn, queue_all, longest=horizon, seen=found)
    except ModelError as error:
        print(error, file=sys.stderr)
        return 2
    except SimulationError as error:
        print(f"{arguments.model}: {error}", file=sys.stderr)
        return 2
    if strange := implausible(system):
        print(f"{arguments.model}: warning: {strange}", file=sys.stderr)
    result = analyse(system)
    rows: list[tuple[str, int, int | None, int | None]] = [
        (bound.name, found.skipped[bound.name], found.callbacks.get(bound.name), bound.bound)
        for bound in result.callbacks
    ]
    rows += [(c.name, 0, found.chains.get(c.name), c.bound) for c in result.chains]
    lines = [
        f"{len(run.jobs)} jobs in {arguments.duration} s, seed {arguments.seed}",
        f"{found.phases} phases tried, {found.jobs} jobs in all\n",
    ]
    lines.append(f"{'callback or chain, ms':34} {'seen':>10} {'bound':>10} {'skipped':>8}")
    exceeded = False
    for name, skipped, seen, limit in rows:
        over = seen is not None and limit is not None and seen > limit
        exceeded |= over
        mark = "  <- EXCEEDED" if over else ""
        lines.append(f"{name[:34]:34} {ms(seen):>10} {ms(limit):>10} {skipped:8}{mark}")
    if arguments.trace:
        from rclrt_tools.trace import write_trace
        from rclrt_tools.trace.simulated import to_traces

        traces = to_traces(run).values()
        for number, trace in enumerate(traces, 1):
            name = arguments.trace.name + (f".{number}" if len(traces) > 1 else "")
            write_trace(trace, arguments.trace.with_name(name))
    if arguments.html:
        from rclrt_tools.pages.trace_page import page_of_run
        from rclrt_tools.trace import TraceError

        try:
            arguments.html.write_text(page_of_run(run), encoding="utf-8")
        except TraceError as error:
            print(f"{arguments.html}: {error}", file=sys.stderr)
            return 2
    print("\n".join(lines))  # Last: a reader like head may not take all of it.
    return 1 if exceeded else 0
