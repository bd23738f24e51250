# Copyright 2026 The rclrt Authors
# SPDX-License-Identifier: Apache-2.0
"""Memory that an executor adds to entities that exist already.

Bytes of heap for each callback that appear when a node with that many entities is added to an
executor, counted in malloc().
"""

import argparse
from collections.abc import Mapping
from typing import Any

from rclrt_benchmarks.harness.frame import Result, options, parsed, path_of, perform, table
from rclrt_benchmarks.harness.row import Judged, Machine, at_most
from rclrt_tools.arguments import positive

MOST_BYTES = 1024


def add_arguments(parser: argparse.ArgumentParser) -> None:
    """Declare the options."""
    options(parser)
    parser.add_argument("--callbacks", type=positive, default=1000, help="(%(default)s)")


def run(arguments: argparse.Namespace) -> int:
    """Run the experiment."""
    return perform(arguments, _measure, _show, judge)


def _measure(arguments: argparse.Namespace) -> Result:
    result: Result = parsed(path_of("memory_use"), arguments.callbacks)
    return result


def _show(result: Result) -> None:
    table(
        result["callbacks"], ("", "executor", ""), ("", "kind", ""),
        ("bytes", "bytes_per_callback", ".0f"), title="heap of a callback",
    )  # fmt: skip


def judge(result: Mapping[str, Any], _: Machine) -> Judged:
    """Judge the bytes of a callback."""
    return Judged(
        [
            at_most(
                f"{row['executor']}, {row['kind']}: heap of a callback / 1 KiB",
                row["bytes_per_callback"] / MOST_BYTES, 1.0, shape="below 1 KiB",
                ours=f"{row['bytes_per_callback']:.0f} bytes", timed=False,
            )
            for row in result["callbacks"]
        ]
    )  # fmt: skip
