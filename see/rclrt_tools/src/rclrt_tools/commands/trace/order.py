# Copyright 2026 The rclrt Authors
# SPDX-License-Identifier: Apache-2.0
"""Check that jobs ran in the order of their deadlines.

Exits with 1 if a job ran for longer than the bound although an earlier one should have; with 2 if
the files or the arguments are wrong.
"""

import argparse
import sys
from pathlib import Path

from rclrt_tools.arguments import positive


def add_arguments(parser: argparse.ArgumentParser) -> None:
    """Declare the options."""
    parser.add_argument(
        "traces",
        type=Path,
        nargs="+",
        metavar="TRACE",
        help="files or folders, of all that compete",
    )
    parser.add_argument("--cpus", type=int, default=1, metavar="M", help="(%(default)s)")
    parser.add_argument(
        "--bound",
        type=positive,
        default=1000,
        metavar="US",
        help="what scheduling may take, microseconds (%(default)s)",
    )


def run(arguments: argparse.Namespace) -> int:
    """Check the files."""
    from rclrt_tools.order import check_order
    from rclrt_tools.trace import TraceError, named_traces

    try:
        traces = [trace for _, trace in named_traces(arguments.traces)]
        violations = check_order(traces, arguments.cpus, int(arguments.bound * 1000))
    except (TraceError, ValueError) as error:
        print(error, file=sys.stderr)
        return 2
    for violation in violations:
        print(violation)
    jobs = sum(len(trace.jobs) for trace in traces)
    worst = max((violation.length_ns for violation in violations), default=0)
    print(
        f"{jobs} jobs on {arguments.cpus} CPUs, bound {arguments.bound:g} us: "
        + (
            f"{len(violations)} violations, {worst / 1e3:.1f} us the longest"
            if worst
            else "in order"
        )
    )
    return 1 if violations else 0
