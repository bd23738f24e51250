# Copyright 2026 The rclrt Authors
# SPDX-License-Identifier: Apache-2.0
"""Every experiment of the four papers: what they print, what we measure, what holds.

Each experiment runs as a process of its own, one after the other. Without options it takes less
than an hour; --quick takes about ten minutes, --full as long as the papers have measured. Each
statement gets a verdict: it holds, it does not, or it cannot be judged here, and why. Nothing that
is timed is judged beside other programs that take a tenth of the CPUs, nor from too few samples.
Each experiment says when it ran, and beside what load.

Exits with 1 if a statement does not hold or if nothing could run, with 2 for wrong arguments, with
130 after an interrupt.
"""

import argparse
import functools
import json
import sys
from pathlib import Path
from typing import Any

from rclrt_benchmarks.harness.frame import SCHEMA, describe, machine
from rclrt_benchmarks.harness.row import FAILS, Experiment, Run
from rclrt_tools.arguments import writable_file

NEEDS = ("rclrt_programs",)
INTERRUPTED = 130
WRONG_USAGE = 2


def add_arguments(parser: argparse.ArgumentParser) -> None:
    """Declare the options."""
    effort = parser.add_mutually_exclusive_group()
    effort.add_argument(
        "--try", dest="effort", action="store_const", const="try",
        help="each for about a second, to see that it works; no time is judged",
    )  # fmt: skip
    effort.add_argument(
        "--quick", dest="effort", action="store_const", const="quick", help="about ten minutes"
    )
    effort.add_argument(
        "--full", dest="effort", action="store_const", const="full",
        help="as long as the papers have measured: many hours",
    )  # fmt: skip
    parser.set_defaults(effort="short")
    parser.add_argument(
        "--only", metavar="A,B", default="", help="only these experiments (--list names all)"
    )
    parser.add_argument("--list", action="store_true", help="print the experiments, run nothing")
    parser.add_argument("--html", type=writable_file, metavar="FILE", help="write the report")
    parser.add_argument("--json", type=writable_file, metavar="FILE", help="write all results")
    parser.add_argument(
        "--pictures", type=_folder, metavar="FOLDER", help="write every figure there as SVG"
    )


def _folder(text: str) -> Path:
    path = Path(text)
    if not path.is_dir():
        raise argparse.ArgumentTypeError(f"{text}: there is no such folder")
    return path


def run(arguments: argparse.Namespace) -> int:
    """Run them."""
    from rclrt_benchmarks.harness.catalogue import experiments

    every = experiments()
    if arguments.list:
        for one in every:
            print(f"  {one.name:28} {one.source:36} {one.title}")
        return 0
    names = [name for name in arguments.only.split(",") if name]
    known = {one.name for one in every}
    if unknown := [name for name in names if name not in known]:
        print(f"unknown experiment '{unknown[0]}'; ./rclrt bench all --list", file=sys.stderr)
        return WRONG_USAGE
    return _run([one for one in every if not names or one.name in names], arguments)


def _run(chosen: list[Experiment], arguments: argparse.Namespace) -> int:
    from rclrt_benchmarks.harness.page import best, count, make_page, worst
    from rclrt_benchmarks.harness.run import conduct

    where = describe()
    print(", ".join(f"{name} {value}" for name, value in where.items()))
    runs = conduct(chosen, arguments.effort, machine(), functools.partial(print, flush=True))
    rows = [row for one in runs for row in one.rows]
    command = " ".join(["./rclrt", *sys.argv[1:]])
    if arguments.json:
        written = {
            "schema": SCHEMA,
            "command": command,
            "environment": where,
            "runs": [one.as_json() for one in runs],
        }
        arguments.json.write_text(json.dumps(written, indent=1) + "\n", encoding="utf-8")
    if arguments.html:
        arguments.html.write_text(make_page(runs, where, command), encoding="utf-8")
    if arguments.pictures:
        _draw(arguments.pictures, runs, where)
    for row in (row for row in rows if row.ahead):
        print(f"a paper is ahead: {row.experiment}: {row.name}: {row.ahead}")
    for title, some in (("best", best(rows)), ("worst", worst(rows))):
        for row in some:
            print(f"{title}: {row.experiment}: {row.name}: {row.ours} ({row.verdict})")
    print(count(rows))
    if any(one.not_run == "interrupted" for one in runs):
        return INTERRUPTED
    return int(any(row.verdict == FAILS for row in rows) or all(one.result is None for one in runs))


def _draw(folder: Path, runs: list[Run], where: dict[str, Any]) -> None:
    from rclrt_analysis.plots import picture

    for one in runs:
        caption = (
            f"{where['date'][:10]}, {where['CPU']}, CPUs {where['CPUs']}, Linux {where['kernel']}; "
            f"other programs: {one.others_cpus:.1f} CPUs"
        )
        for number, plot in enumerate(one.plots, start=1):
            path = folder / f"{one.experiment.name}-{number}.svg"
            path.write_text(picture(plot, caption), encoding="utf-8")
