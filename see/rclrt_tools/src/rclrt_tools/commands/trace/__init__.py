# Copyright 2026 The rclrt Authors
# SPDX-License-Identifier: Apache-2.0
"""Record running executors; read and use trace files.

`list` and `record` see every executor of this user that runs; root's see those of all users.
More is in docs/how-to/trace.md.

Give several files, of several executors or processes, and they are put on one clock. Files of one
boot of one machine have the same clock. For others say --offset, or --wall-clock.
"""

import argparse
import json
import sys
from pathlib import Path

from rclrt_tools.arguments import keep_apart, trace_files, writable_file
from rclrt_tools.places import me

VERBS = {
    "list": "the executors that run, and those whose programs were killed",
    "record": "write what running executors do, until Ctrl-C",
    "start": "write what running executors do, in the background",
    "stop": "end what start began",
    "info": "one table: what each callback did",
    "print": "the records as lines, of several files in one order",
    "export": "files for other tools",
    "page": "one page for a browser, which opens on the worst instance",
}
"""What is done here; more verbs are modules of this package."""


def _offset(text: str) -> tuple[Path, int]:
    name, equals, number = text.rpartition("=")
    try:
        ns = round(float(number) * 1e6)
    except (ValueError, OverflowError):
        equals = ""
    if not equals or abs(ns) > 2**60:
        raise argparse.ArgumentTypeError(f"'{text}' is not FILE=MS")
    return Path(name), ns


def _seconds(text: str) -> int:
    value = float(text)
    if not abs(value) < 1e9:
        raise argparse.ArgumentTypeError(f"'{text}' is not a time in seconds")
    return round(value * 1e9)


def _positive(text: str) -> float:
    value = float(text)
    if not 0 < value < 1e9:
        raise argparse.ArgumentTypeError(f"'{text}' is not a time in seconds")
    return value


def _files(parser: argparse.ArgumentParser) -> None:
    parser.add_argument(
        "traces", type=Path, nargs="+", metavar="TRACE", help="trace files, or folders of them"
    )
    parser.add_argument(
        "--offset",
        type=_offset,
        action="append",
        default=[],
        metavar="FILE=MS",
        help="add so much to the times of this file",
    )
    parser.add_argument(
        "--wall-clock",
        action="store_true",
        help="put machines together by their clocks of the day, which must agree then",
    )


def _filters(parser: argparse.ArgumentParser) -> None:
    parser.add_argument("--callback", default="*", metavar="PATTERN", help="as in a shell")
    parser.add_argument(
        "--from", type=_seconds, dest="begin", metavar="S", help="seconds after the first record"
    )
    parser.add_argument("--to", type=_seconds, dest="end", metavar="S")


def add_arguments(parser: argparse.ArgumentParser) -> None:
    """Declare the options."""
    from rclrt_tools.cli import add_verb, verbs_in

    what = parser.add_subparsers(dest="what", metavar="WHAT", required=True)
    verb = {
        name: what.add_parser(name, help=text, description=text[0].upper() + text[1:] + ".")
        for name, text in VERBS.items()
    }
    for name in ("record", "start", "stop"):
        verb[name].add_argument(
            "-o", "--output", type=Path, metavar="FOLDER", default=Path("rclrt-traces")
        )
        if name != "stop":
            verb[name].add_argument("--for", type=_positive, dest="seconds", metavar="S")
            verb[name].add_argument(
                "programs", nargs="*", metavar="PROGRAM", help="names or process numbers"
            )
    for name in ("info", "print", "export", "page"):
        _files(verb[name])
    verb["info"].add_argument(
        "--json", type=writable_file, metavar="FILE", help="also as JSON, schema 1"
    )
    _filters(verb["print"])
    export, page = verb["export"], verb["page"]
    export.add_argument(
        "--perfetto", type=writable_file, metavar="FILE", help="for ui.perfetto.dev"
    )
    export.add_argument(
        "--mcap", type=writable_file, metavar="FILE", help="for PlotJuggler, Foxglove, Lichtblick"
    )
    page.add_argument(
        "-o", "--output", type=writable_file, metavar="FILE", default=Path("trace.html"),
        help="(%(default)s)",
    )  # fmt: skip
    page.add_argument("--model", type=Path, metavar="FILE", help="with its chains and bounds")
    page.add_argument("--plan", type=Path, metavar="FILE", help="of ./rclrt plan, for the model")
    for name, module in verbs_in(__name__):
        add_verb(what, name, module, "what")


def needs(arguments: argparse.Namespace) -> tuple[str, ...]:
    """Return the program that follows chains."""
    return ("rclrt_watch",) * bool(arguments.what == "page" and arguments.model)


def run(arguments: argparse.Namespace) -> int:
    """Do what was asked for."""
    if hasattr(arguments, "what_module"):
        status: int = arguments.what_module.run(arguments)
        return status
    from rclrt_analysis.model import ModelError
    from rclrt_tools.trace import TraceError
    from rclrt_tools.views.timeline import close, open_sources

    if arguments.what == "export" and not (arguments.perfetto or arguments.mcap):
        print("say what to export: --perfetto FILE, --mcap FILE, or both", file=sys.stderr)
        return 2
    try:
        if arguments.what == "list":
            return _list()
        if arguments.what == "record":
            return _record(arguments)
        if arguments.what in ("start", "stop"):
            return _background(arguments)
        offsets = dict(arguments.offset)
        folder = arguments.traces[0].resolve().name if arguments.traces[0].is_dir() else ""
        arguments.traces = trace_files(arguments.traces)
        strangers = offsets.keys() - set(arguments.traces)
        if strangers:
            raise ValueError(f"--offset {min(strangers)}: this file is not among the traces")
        names = ("json", "perfetto", "mcap", "output")
        written = [getattr(arguments, name, None) for name in names]
        keep_apart([path for path in written if path], arguments.traces)
        sources = open_sources(arguments.traces, offsets, arguments.wall_clock)
        try:
            verbs = {"info": _info, "print": _print, "export": _export}
            if arguments.what == "page":
                return _page(arguments, sources, folder)
            return verbs[arguments.what](arguments, sources)
        finally:
            close(sources)
    except (TraceError, ModelError, ValueError) as error:
        print(error, file=sys.stderr)
    except ModuleNotFoundError as error:
        print(f"this needs the Python package {error.name}: install it", file=sys.stderr)
    except OSError as error:
        if isinstance(error, BrokenPipeError):
            raise
        print(f"{error.filename or 'the output'}: {error.strerror}", file=sys.stderr)
    return 2


def _list() -> int:
    from rclrt_tools.live.files import live_files, printable
    from rclrt_tools.live.follow import Follower
    from rclrt_tools.trace import TraceError, layout

    rows = []
    for path in live_files():
        try:
            follower = Follower(path)
            follower.poll()
        except (TraceError, OSError):
            continue
        state = {True: "runs", False: "ended", None: "elsewhere"}[follower.runs()]
        rows.append(
            (follower.process.program, str(follower.process.number),
             str(follower.header.executor), layout.word(layout.MODELS, follower.header.model),
             str(len(follower.callbacks)), state, printable(str(path)))
        )  # fmt: skip
        follower.close()
    heads = ("program", "process", "executor", "model", "callbacks", "state", "live trace")
    widths = [max(len(row[i]) for row in (heads, *rows)) for i in range(len(heads))]
    for row in (heads, *rows):
        print(
            "  ".join(text.ljust(width) for text, width in zip(row, widths, strict=True)).rstrip()
        )
    return 0


def _background(arguments: argparse.Namespace) -> int:
    from rclrt_tools.live.record import start, stop

    if arguments.what == "stop":
        print(stop(arguments.output))
        return 0
    length = ["--for", str(arguments.seconds)] if arguments.seconds else []
    print(start(arguments.output, [*length, "--", *arguments.programs]))
    return 0


def _record(arguments: argparse.Namespace) -> int:
    import signal
    import time

    from rclrt_tools.live.record import record

    ended = []
    for number in (signal.SIGINT, signal.SIGTERM):
        signal.signal(number, lambda *_: ended.append(True))
    end = time.monotonic() + (arguments.seconds or float("inf"))
    print(f"recording into {arguments.output}; Ctrl-C ends it", file=sys.stderr, flush=True)
    done = record(
        arguments.output,
        arguments.programs,
        lambda: bool(ended) or time.monotonic() >= end,
        lambda text: print(text, file=sys.stderr, flush=True),
    )
    for recording in done:
        print(f"{recording.path}: {recording.count} records, {recording.follower.missed} lost")
    if not done:
        print(f"no executor has run: see {me()} trace list", file=sys.stderr)
    return 0 if done else 1


def _info(arguments: argparse.Namespace, sources: list) -> int:  # type: ignore[type-arg]
    from rclrt_tools.views.summary import summarize, to_json, to_text
    from rclrt_tools.views.timeline import Timeline

    summary = summarize(Timeline(sources))
    print(to_text(sources, summary))
    if arguments.json:
        text = json.dumps(to_json(sources, summary), indent=1)
        arguments.json.write_text(text + "\n", encoding="utf-8")
    return 0


def _print(arguments: argparse.Namespace, sources: list) -> int:  # type: ignore[type-arg]
    from rclrt_tools.views.lines import Filter, lines
    from rclrt_tools.views.timeline import Timeline

    chosen = Filter(arguments.callback, arguments.begin, arguments.end)
    for block in lines(Timeline(sources), chosen):
        print(block)
    return 0


def _export(arguments: argparse.Namespace, sources: list) -> int:  # type: ignore[type-arg]
    from rclrt_tools.views.timeline import Timeline

    timeline = Timeline(sources)
    if arguments.perfetto:
        from rclrt_tools.views.perfetto import write_perfetto

        count = write_perfetto(timeline, arguments.perfetto)
        print(f"{arguments.perfetto}: {count} records; open it in https://ui.perfetto.dev")
    if arguments.mcap:
        from rclrt_tools.views.mcap import write_mcap

        count = write_mcap(timeline, arguments.mcap)
        print(f"{arguments.mcap}: {count} messages")
    if timeline.wrong:
        print(f"{timeline.wrong} records contradict themselves: left out", file=sys.stderr)
    return 0


def _page(
    arguments: argparse.Namespace,
    sources: list,  # type: ignore[type-arg]
    folder: str,
) -> int:
    from rclrt_analysis.plan.parameters import system_of
    from rclrt_tools.pages.trace_page import make_page

    system = None
    if arguments.model:
        system = system_of(arguments.model, arguments.plan)
    elif arguments.plan:
        raise ValueError("--plan belongs to a model: say --model FILE as well")
    title = ", ".join(source.label for source in sources[:3])
    title += f" and {len(sources) - 3} more" if len(sources) > 3 else ""
    text = make_page(folder or title, sources, arguments.traces, system)
    arguments.output.write_text(text, encoding="utf-8")
    print(f"{arguments.output}: {len(text) / 1e6:.1f} MB; open it in a browser")
    return 0
