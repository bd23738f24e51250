# Copyright 2026 The rclrt Authors
# SPDX-License-Identifier: Apache-2.0
"""Hold what runs against a model: chains and what they rest on.

The chains' deadlines and bounds, and the assumptions of these. Sees every executor of this user
that runs, from outside: no ROS, no code, and the executors do nothing for it. With traces it looks
at these instead. A callback has the same name in the model and in the executor.

Exits with 1 if what --fail-on names has happened, with 2 if the model or a trace is wrong.
"""

import argparse
import json
import re
import sys
import time
from pathlib import Path

from rclrt_tools.arguments import writable_file


def _positive(text: str) -> float:
    match = re.fullmatch(r"(\d+\.?\d*)([smh]?)", text)
    value = float(match[1]) * {"": 1, "s": 1, "m": 60, "h": 3600}[match[2]] if match else 0.0
    if not 0 < value < 1e9:
        raise argparse.ArgumentTypeError(f"'{text}' is not a time such as 60s, 5m or 1h")
    return value


def add_arguments(parser: argparse.ArgumentParser) -> None:
    """Declare the options."""
    parser.add_argument("model", type=Path, metavar="MODEL", help="the system, YAML")
    parser.add_argument(
        "traces", type=Path, nargs="*", metavar="TRACE", help="files or folders, instead of live"
    )
    parser.add_argument(
        "--plan", type=Path, metavar="FILE", help="what ./rclrt plan has chosen for the model"
    )
    parser.add_argument(
        "--for", type=_positive, dest="seconds", metavar="TIME", help="60s, 5m; default: until ^C"
    )
    parser.add_argument(
        "--fail-on",
        choices=("never", "miss", "unproved"),
        default="never",
        help="what makes the exit status 1: a missed deadline or an instance that never came; "
        "or that as well as anything that is not proved (%(default)s)",
    )
    parser.add_argument(
        "--program", action="append", default=[], metavar="NAME", help="name or process number"
    )
    parser.add_argument(
        "--diagnostics",
        action="store_true",
        help="publish to /diagnostics once a second; live only",
    )
    parser.add_argument("--json", type=writable_file, metavar="FILE", help="the end, schema 1")
    parser.add_argument("--html", type=writable_file, metavar="FILE", help="the end, as one page")


def needs(_: argparse.Namespace) -> tuple[str, ...]:
    """Return the program that knows what a chain is."""
    return ("rclrt_watch",)


def run(arguments: argparse.Namespace) -> int:
    """Watch."""
    from rclrt_analysis.model import ModelError
    from rclrt_analysis.plan.parameters import system_of
    from rclrt_tools.trace import TraceError
    from rclrt_tools.watch.sources import watch_files
    from rclrt_tools.watch.text import to_text
    from rclrt_tools.watch.watch import Watch

    try:
        watch = Watch(system_of(arguments.model, arguments.plan))
        if arguments.traces:
            watch_files(watch, arguments.traces)
        else:
            _live(watch, arguments)
    except (ModelError, TraceError) as error:
        print(error, file=sys.stderr)
        return 2
    except ModuleNotFoundError as error:
        print(f"--diagnostics needs {error.name}: source your ROS 2 installation", file=sys.stderr)
        return 2
    content = watch.to_json()
    if arguments.json:
        text = json.dumps(content, indent=1)
        arguments.json.write_text(text + "\n", encoding="utf-8")
    if arguments.html:
        from rclrt_tools.pages.contract_page import make_page, questions

        asked = questions(watch.system, watch.result)
        page = make_page(watch.system, watch.result, asked, watch)
        arguments.html.write_text(page, encoding="utf-8")
    print(to_text(watch))  # Last: a reader like head may not take all of it.
    unseen = any(not one["count"] + one["left_out"] for one in content["chains"])
    missed = content["missed"] or unseen
    failed = {"never": False, "miss": missed, "unproved": missed or not content["proved"]}
    return int(failed[arguments.fail_on])


def _live(watch, arguments: argparse.Namespace) -> None:  # type: ignore[no-untyped-def]
    import signal

    from rclrt_tools.live.files import printable
    from rclrt_tools.watch.diagnostics import Publisher
    from rclrt_tools.watch.sources import PAUSE_S, Live
    from rclrt_tools.watch.text import to_text

    ended: list[bool] = []
    for number in (signal.SIGINT, signal.SIGTERM):
        signal.signal(number, lambda *_: ended.append(True))
    publisher = Publisher(watch) if arguments.diagnostics else None
    live = Live(watch, arguments.program)
    end = time.monotonic() + (arguments.seconds or float("inf"))
    next_show = time.monotonic()
    told: set[object] = set()
    while not ended and time.monotonic() < end:
        live.step()
        if publisher:
            publisher.step()
        for text in live.said:
            print(printable(text), file=sys.stderr, flush=True)
        live.said.clear()
        if time.monotonic() >= next_show:
            next_show = time.monotonic() + (1 if sys.stdout.isatty() else 0.2)
            if sys.stdout.isatty():
                print(f"\033[H\033[2J{to_text(watch, colored=True)}", flush=True)
            else:
                new = {key: one for key, one in watch.broken.items() if key not in told}
                told |= new.keys()
                for (who, _), one in new.items():
                    print(f"not as in the model: '{who}' {one['text']}", flush=True)
        time.sleep(PAUSE_S)
    live.close()
    if publisher:
        publisher.close()
    if sys.stdout.isatty():
        print("\033[H\033[2J", end="")
