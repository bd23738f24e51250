# Copyright 2026 The rclrt Authors
# SPDX-License-Identifier: Apache-2.0
"""Build and run the tests: those that run anywhere, or all."""

import argparse

from rclrt_tools.arguments import done_by_the_script
from rclrt_tools.commands import build


def add_arguments(parser: argparse.ArgumentParser) -> None:
    """Declare the options."""
    build.add_arguments(parser)
    parser.add_argument(
        "--machine",
        action="store_true",
        help="also the tests with real-time threads, the middleware, virtual machines, emulators, "
        "compilers for other processors and browsers (with --sanitize always)",
    )
    which = parser.add_mutually_exclusive_group()
    which.add_argument(
        "--changed",
        metavar="COMMIT",
        nargs="?",
        const="HEAD",
        help="only tests of packages that what has changed since COMMIT can reach (default: HEAD)",
    )
    which.add_argument("-R", metavar="REGEX", help="only tests whose name matches")
    parser.add_argument("-E", metavar="REGEX", help="only tests whose name does not match")
    parser.add_argument(
        "--retry",
        action="store_true",
        help="run tests that failed once more, alone; say which passed then",
    )


run = done_by_the_script
