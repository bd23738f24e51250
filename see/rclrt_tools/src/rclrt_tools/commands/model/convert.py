# Copyright 2026 The rclrt Authors
# SPDX-License-Identifier: Apache-2.0
"""Take over what other tools' files say, or write one for them.

Reads as a model that lacks the times: a CARET architecture file, a contract of play_launch or its
system_model.yaml. Reads as chains for a model: Autoware's pipeline latency monitor, processing time
checker and topics of the component state monitor, and with --model the chains of a contract. Reads
as a parameters file: a system file of play_launch. Reads as a header for rclrt_micro: micro-ROS'
colcon.meta, PX4's dds_topics.yaml, ArduPilot's AP_DDS_Topic_Table.h. What is not taken over is
listed at the top of what it prints, and counted on the error output. What it prints is read by
analyze, or goes into a model: a chain that no model can have stands in a comment, as a draft.
With --to caret it writes a model as a CARET architecture file. Exits with 1 if nothing is left,
with 2 if the file is none of these.
"""

import argparse
import sys
from pathlib import Path

TOOLS = ("caret", "play_launch", "autoware", "micro")


def add_arguments(parser: argparse.ArgumentParser) -> None:
    """Declare the options."""
    parser.add_argument("file", type=Path, metavar="FILE", help="what to read, YAML")
    way = parser.add_mutually_exclusive_group()
    way.add_argument(
        "--from",
        dest="source",
        choices=TOOLS,
        metavar="TOOL",
        help="its format, %(choices)s; by default what it looks like",
    )
    way.add_argument("--to", dest="target", choices=("caret",), help="FILE is a model: write it so")
    parser.add_argument(
        "--model",
        type=Path,
        metavar="MODEL",
        help="in which the callbacks of chains are looked for",
    )


def run(arguments: argparse.Namespace) -> int:
    """Convert a file."""
    from rclrt_analysis.model import ModelError, System, model_schema
    from rclrt_analysis.model.document import read_code, read_document
    from rclrt_analysis.plan.openings import read_open
    from rclrt_tools import convert
    from rclrt_tools.convert.caret_write import LOST

    schema = model_schema()
    try:
        if arguments.target:
            print(convert.to_caret(read_open(arguments.file, schema).system), end="")
            print(LOST, file=sys.stderr)
            return 0
        is_code = arguments.file.suffix in (".h", ".hpp")
        document = read_code(arguments.file) if is_code else read_document(arguments.file, True)
        system: System | None = None
        if arguments.model:
            system = read_open(arguments.model, schema).system
        read = convert.reader_of(document, arguments.source)
        imported = read(document, system)
        convert.check(imported, schema, system)
    except ModelError as error:
        print(error, file=sys.stderr)
        return 2
    print(convert.to_yaml(imported), end="")
    if imported.left_out:
        print(f"not taken over: {imported.summary()}; listed at the top", file=sys.stderr)
    if count := len(imported.content.get("no_verdict", ())):
        print(f"missing or guessed: {count} things, under no_verdict", file=sys.stderr)
    if count := len(imported.drafts):
        text = f"drafts of chains: {count}, in comments at the top, which say what is missing"
        print(text, file=sys.stderr)
    return 0 if imported.content or imported.code else 1
