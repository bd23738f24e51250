# Copyright 2026 The rclrt Authors
# SPDX-License-Identifier: Apache-2.0
"""Make a model of a running system from its traces, for analyze.

Give one trace file for each executor, of all processes that take part. Periods, execution times,
what releases what, groups, priorities and CPUs are what was observed. The longest execution time in
a trace is no worst case: raise it by what you know before you rely on bounds. If the traces do not
say what an analysis needs, the model says why, and analyze gives no verdict. Prints YAML. How a
program writes a trace: docs/how-to/trace.md.
"""

import argparse
import sys
from pathlib import Path

EXECUTORS = ("priority_events", "isolated", "preemptive", "wait_set_single", "events_fifo")


def add_arguments(parser: argparse.ArgumentParser) -> None:
    """Declare the options."""
    parser.add_argument(
        "traces", type=Path, nargs="+", metavar="TRACE", help="trace files, or folders of them"
    )
    parser.add_argument(
        "--executor",
        choices=EXECUTORS,
        default=EXECUTORS[0],
        metavar="NAME",
        help="of traces that do not say it: %(choices)s (%(default)s)",
    )
    parser.add_argument(
        "--open",
        action="store_true",
        help="leave executors, priorities and CPUs to ./rclrt plan, whatever they were",
    )
    parser.add_argument(
        "--overheads", type=Path, metavar="FILE", help="of ./rclrt model calibrate; with --open"
    )


def run(arguments: argparse.Namespace) -> int:
    """Print the model."""
    from rclrt_analysis.model import model_schema
    from rclrt_tools.calibration import read_overheads
    from rclrt_tools.observe import observe, to_yaml
    from rclrt_tools.observe.advice import opened
    from rclrt_tools.trace import TraceError, named_traces

    schema = model_schema()
    try:
        traces = named_traces(arguments.traces)
        kind = arguments.executor
        costs = read_overheads(arguments.overheads) if arguments.overheads else None
        observed = opened(traces, costs) if arguments.open else observe(traces, schema, kind)
    except (TraceError, ValueError) as error:
        print(error, file=sys.stderr)
        return 2
    print(to_yaml(observed), end="")
    for doubt in observed.doubts if arguments.open else ():
        print(f"doubt: {doubt}", file=sys.stderr)
    for reason in observed.content.get("no_verdict", ()):
        print(f"no verdict: {reason}", file=sys.stderr)
    return 0
