# Copyright 2026 The rclrt Authors
# SPDX-License-Identifier: Apache-2.0
"""Build everything, with the tests."""

import argparse

from rclrt_tools.arguments import done_by_the_script


def add_arguments(parser: argparse.ArgumentParser) -> None:
    """Declare the options."""
    parser.add_argument(
        "--sanitize",
        choices=("address", "thread"),
        help="with that sanitizer, in its own folder (address: with undefined)",
    )


run = done_by_the_script
