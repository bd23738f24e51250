# Copyright 2026 The rclrt Authors
# SPDX-License-Identifier: Apache-2.0
"""Print the verbs, or what one of them does: ./rclrt help VERB."""

from __future__ import annotations

import argparse


def add_arguments(parser: argparse.ArgumentParser) -> None:
    """Declare what help is given of."""
    parser.add_argument(
        "words", nargs="*", metavar="VERB", help="and what of it, as in `trace info`"
    )


def run(arguments: argparse.Namespace) -> int:
    """Print the help, which ends the program."""
    from rclrt_tools.cli import build_parser

    build_parser().parse_args([*arguments.words, "--help"])
    return 0
