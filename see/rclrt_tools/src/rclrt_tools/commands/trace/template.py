# Copyright 2026 The rclrt Authors
# SPDX-License-Identifier: Apache-2.0
"""List what every callback has now, as a parameters file to edit.

Callbacks, groups and threads of the executors of this user that run now, or of trace files.
"""

import argparse
import sys
from pathlib import Path

from rclrt_tools.places import me


def add_arguments(parser: argparse.ArgumentParser) -> None:
    """Declare the options."""
    parser.add_argument(
        "traces",
        type=Path,
        nargs="*",
        metavar="TRACE",
        help="or folders of them; none: what runs now",
    )
    parser.add_argument(
        "--program", default="*", metavar="PATTERN", help="of what runs, only these (as in a shell)"
    )


def run(arguments: argparse.Namespace) -> int:
    """Print the file."""
    from rclrt_tools.live.files import reason
    from rclrt_tools.live.threads import threads_of
    from rclrt_tools.observe.parts import parts_of
    from rclrt_tools.observe.template import to_template
    from rclrt_tools.trace import TraceError, named_traces

    files = arguments.traces or _running(arguments.program)
    try:
        read = named_traces(files) if files else []
        parts = [part for part in parts_of(read) if part.callbacks]
    except (TraceError, ValueError, OSError) as error:
        print(reason(error), file=sys.stderr)
        return 2
    if not parts:
        where = "in these traces" if arguments.traces else f"that run: see {me()} trace list"
        print(f"there are no callbacks of executors {where}", file=sys.stderr)
        return 1
    running = {}
    if not arguments.traces:
        running = {p.header.process: threads_of(p.header.process) for p in parts}
    print(to_template(parts, running), end="")
    return 0


def _running(pattern: str) -> list[Path]:
    import fnmatch

    from rclrt_tools.live.files import live_processes

    return [
        path
        for path, process in live_processes()
        if process.runs() and fnmatch.fnmatch(process.program, pattern)
    ]
