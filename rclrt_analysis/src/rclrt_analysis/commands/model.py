# Copyright 2026 The rclrt Authors
# SPDX-License-Identifier: Apache-2.0
"""Make a model of a running system from its trace, for analyze.

Periods, execution times and triggers are what was observed. The longest execution time in a trace
is no worst case: raise it by what you know before you rely on bounds. Priorities, groups and CPUs
are not in a trace: say them in the model. Prints YAML. How a program writes a trace:
docs/how-to/trace.md.
"""

from __future__ import annotations

import argparse
import sys
from pathlib import Path

EXECUTORS = ("priority_events", "isolated", "preemptive", "wait_set_single", "events_fifo")


def add_arguments(parser: argparse.ArgumentParser) -> None:
    """Declare the options."""
    parser.add_argument("trace", type=Path, metavar="TRACE", help="a trace file")
    parser.add_argument(
        "--executor", choices=EXECUTORS, default=EXECUTORS[0], help="of all (%(default)s)"
    )


def run(arguments: argparse.Namespace) -> int:
    """Print the model."""
    from rclrt_analysis.model.observe import to_yaml
    from rclrt_analysis.trace import TraceError, read_trace

    policy = "fixed_priority" if arguments.executor in EXECUTORS[3:] else "rm"
    try:
        trace = read_trace(arguments.trace)
        print(to_yaml(trace, arguments.trace.stem, arguments.executor, policy), end="")
    except (TraceError, ValueError) as error:
        print(error, file=sys.stderr)
        return 2
    return 0
