# Copyright 2026 The rclrt Authors
# SPDX-License-Identifier: Apache-2.0
"""Show live what running executors do (docs/how-to/top.md).

It sees every executor of this user that runs; root's sees those of all users. They need nothing
for it. Of ROS 2 processes that were started without us it sees the threads: CPU time, how often
they wake, policy and CPUs. Keys: h shows them, q ends.
"""

from __future__ import annotations

import argparse
import json
import re
import sys
from pathlib import Path
from typing import TYPE_CHECKING

from rclrt_tools.arguments import writable_file
from rclrt_tools.places import me

if TYPE_CHECKING:
    from rclrt_tools.live.watch import Watch

WINDOW_S = 5.0


def _positive(text: str) -> float:
    value = float(text)
    if not 0.05 <= value < 1e6:
        raise argparse.ArgumentTypeError(f"'{text}' is not a time in seconds, 0.05 or more")
    return value


def _size(text: str) -> tuple[int, int]:
    match = re.fullmatch(r"([0-9]{2,4})x([0-9]{1,4})", text)
    width, height = map(int, match.groups()) if match else (0, 0)
    if not (20 <= width <= 1000 and 6 <= height <= 1000):
        raise argparse.ArgumentTypeError(f"'{text}' is no size such as 80x24")
    return width, height


def add_arguments(parser: argparse.ArgumentParser) -> None:
    """Declare the options."""
    parser.add_argument(
        "--delay",
        "-d",
        type=_positive,
        default=3.0,
        metavar="S",
        help="time between two screens (3)",
    )
    parser.add_argument(
        "--for",
        type=_positive,
        dest="seconds",
        metavar="S",
        help="end after that (2 with --once, --findings, --json)",
    )
    parser.add_argument("--once", action="store_true", help="watch, print tables once, and end")
    parser.add_argument(
        "--findings", action="store_true", help="as --once, but print only findings"
    )
    parser.add_argument("--json", action="store_true", help="as --once, but print JSON, schema 1")
    parser.add_argument(
        "--model", type=Path, metavar="MODEL", help="of what runs: shows its chains, too"
    )
    parser.add_argument(
        "--plan", type=Path, metavar="FILE", help="what ./rclrt plan has chosen for the model"
    )
    parser.add_argument(
        "--svg", type=writable_file, metavar="FILE", help="write the screen as a picture"
    )
    parser.add_argument(
        "--size", type=_size, default=(140, 40), metavar="80x24", help="of the picture; 140x40"
    )
    parser.add_argument(
        "programs", nargs="*", metavar="PROGRAM", help="names or process numbers; default: all"
    )


def needs(arguments: argparse.Namespace) -> tuple[str, ...]:
    """Return the program that follows chains."""
    return ("rclrt_watch",) * bool(arguments.model)


def run(arguments: argparse.Namespace) -> int:
    """Show, or print once."""
    from rclrt_analysis.model import ModelError
    from rclrt_tools.trace import TraceError

    if arguments.plan and not arguments.model:
        print("--plan is a plan for a model: give --model, too", file=sys.stderr)
        return 2
    try:
        return _run(arguments)
    except (ModelError, TraceError) as error:
        print(error, file=sys.stderr)
        return 2


def _watch(arguments: argparse.Namespace, window_s: float) -> Watch:
    from rclrt_tools.live.watch import Watch

    chains = None
    if arguments.model:
        from rclrt_analysis.plan.parameters import system_of
        from rclrt_tools.watch import sources, watch

        judge = watch.Watch(system_of(arguments.model, arguments.plan))
        chains = sources.Live(judge, arguments.programs)
    return Watch(arguments.programs, round(window_s * 1e9), chains=chains)


def _run(arguments: argparse.Namespace) -> int:
    if arguments.once or arguments.findings or arguments.json:
        return _once(arguments)
    if not arguments.svg and not all(
        stream.isatty() for stream in (sys.stdin, sys.stdout, sys.stderr)
    ):
        print("top needs a terminal; without one: --once, --json, --svg", file=sys.stderr)
        return 2
    try:
        from rclrt_tools.live.top_screen import Top
    except ImportError:  # None, or Debian 12's, which is of another time.
        print(
            "the screen of top needs the Python package textual, 1.0 or newer: install it "
            "(Debian 13 has python3-textual), or use --once or --json",
            file=sys.stderr,
        )
        return 2
    watch = _watch(arguments, WINDOW_S)
    try:
        if arguments.svg:
            app = Top(watch, arguments.delay, arguments.seconds or 2.0)
            return _write(arguments.svg, app.run(headless=True, size=arguments.size))
        Top(watch, arguments.delay, arguments.seconds).run(mouse=False)
    finally:
        watch.close()
    return 0


def _write(path: Path, picture: str | None) -> int:
    # Without the font that a viewer would fetch: its own will do.
    text = re.sub(r"@font-face \{.*?\}", "", picture or "", flags=re.DOTALL)
    try:
        path.write_text(text.replace("Fira Code", "monospace"), encoding="utf-8")
    except OSError as error:
        print(f"{path}: {error.strerror}", file=sys.stderr)
        return 2
    return 0 if picture else 1


def _once(arguments: argparse.Namespace) -> int:
    import shutil
    import time

    from rclrt_tools.live.top_once import to_json, to_text

    seconds = arguments.seconds or 2.0
    watch = _watch(arguments, seconds)
    try:
        end = time.monotonic() + seconds
        watch.poll()
        watch.snapshot()  # From here on the CPU time of threads counts.
        while (left := end - time.monotonic()) > 0:
            time.sleep(min(left, watch.pause_ns / 1e9))
            watch.poll()
        snapshot = watch.snapshot()
    except KeyboardInterrupt:
        return 130
    finally:
        watch.close()
    if arguments.json:
        print(json.dumps(to_json(snapshot, seconds), indent=1))
    else:
        width = shutil.get_terminal_size().columns if sys.stdout.isatty() else None
        sys.stdout.reconfigure(errors="replace")  # type: ignore[union-attr]
        print(to_text(snapshot, width, arguments.findings))
    if not snapshot.followed and not snapshot.outside:
        print(f"no executor runs: see {me()} trace list", file=sys.stderr)
        return 1
    return 0
