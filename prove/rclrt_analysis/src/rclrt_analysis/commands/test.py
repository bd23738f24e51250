# Copyright 2026 The rclrt Authors
# SPDX-License-Identifier: Apache-2.0
"""Build and run all tests."""

from __future__ import annotations

import argparse

from rclrt_analysis.arguments import done_by_the_script
from rclrt_analysis.commands import build


def add_arguments(parser: argparse.ArgumentParser) -> None:
    """Declare the options."""
    build.add_arguments(parser)
    parser.add_argument("-R", metavar="REGEX", help="only tests whose name matches")
    parser.add_argument("-E", metavar="REGEX", help="only tests whose name does not match")
    parser.add_argument(
        "--retry",
        action="store_true",
        help="what failed once more, alone; a pass at the second try is said",
    )


run = done_by_the_script
