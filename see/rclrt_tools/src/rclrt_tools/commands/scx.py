# Copyright 2026 The rclrt Authors
# SPDX-License-Identifier: Apache-2.0
"""Load, unload, look at and check the EDF scheduler of the kernel.

Verbs: load, unload, unit, status, top, record, check. The first call of one builds it
(docs/how-to/edf.md); from then on `./rclrt scx help` prints the options of each.
"""

import argparse

from rclrt_tools.arguments import done_by_the_script


def add_arguments(parser: argparse.ArgumentParser) -> None:
    """Declare what the scheduler's own program takes."""
    parser.add_argument(
        "words", nargs=argparse.REMAINDER, metavar="WORD", help="the loader's verb, and its options"
    )


run = done_by_the_script
