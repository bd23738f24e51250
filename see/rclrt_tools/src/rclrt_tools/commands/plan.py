# Copyright 2026 The rclrt Authors
# SPDX-License-Identifier: Apache-2.0
"""Choose executors, CPUs and priorities for a model; prove them.

What the model leaves open is chosen: an executor of kind open, a callback without priority, CPUs of
an executor without cores (from the model's cpus). What it says stays. Writes a parameters file for
executors as they are today. Exits with 0 if all deadlines are proved, with 1 if not (then it says
what would help, and writes nothing unless --unproved), with 2 if the model or the arguments are
wrong.
"""

import argparse
import sys
import time
from collections.abc import Callable
from pathlib import Path

from rclrt_tools.arguments import positive, writable_file


def add_arguments(parser: argparse.ArgumentParser) -> None:
    """Declare the options."""
    parser.add_argument("model", type=Path, metavar="MODEL", help="the system, YAML")
    parser.add_argument(
        "-o", "--output", type=writable_file, metavar="FILE", help="the parameters file to write"
    )
    parser.add_argument(
        "--time",
        type=positive,
        default=20,
        metavar="S",
        help="how long to search; then the best that was found (%(default)s)",
    )
    parser.add_argument("--unproved", action="store_true", help="write it though it is not proved")
    parser.add_argument(
        "--check",
        type=Path,
        metavar="FILE",
        dest="file",
        help="choose nothing; say whether this plan is unedited, fits, and is proved",
    )


def run(arguments: argparse.Namespace) -> int:
    """Make or check a plan."""
    from rclrt_analysis.model import ModelError, implausible, model_schema
    from rclrt_analysis.plan.openings import read_open
    from rclrt_analysis.plan.parameters import check_names
    from rclrt_analysis.plan.placement import PlacementError
    from rclrt_analysis.plan.search import make_plan

    schema = model_schema()
    try:
        opening = read_open(arguments.model, schema)
        if arguments.file:
            return _check(arguments.file, opening)
        if problems := check_names(opening.system):
            raise ModelError([f"{arguments.model}: {text}" for text in problems[:20]])
        if strange := implausible(opening.system):
            print(f"{arguments.model}: warning: {strange}", file=sys.stderr)
        if opening.system.no_verdict:
            reasons = "; ".join(opening.system.no_verdict)
            raise ModelError(
                [f"{arguments.model}: no plan can be proved with this model: {reasons}"]
            )
        plan = make_plan(opening, arguments.time, _teller())
    except (ModelError, PlacementError) as error:
        print(error, file=sys.stderr)
        return 2
    return _report(plan, arguments)


def _teller() -> Callable[[str], None]:
    """Return what shows on a terminal how far the search is, a line a second at most."""
    due = time.monotonic() + 1

    def tell(text: str) -> None:
        nonlocal due
        if time.monotonic() >= due and sys.stderr.isatty():
            due = time.monotonic() + 1
            print(text, file=sys.stderr, flush=True)

    return tell


def _report(plan: object, arguments: argparse.Namespace) -> int:
    from rclrt_analysis.plan.change import changes, to_text
    from rclrt_analysis.plan.parameters import to_parameters
    from rclrt_analysis.plan.search import Plan

    assert isinstance(plan, Plan)
    found = [] if plan.proved or plan.doubts else changes(plan, arguments.time / 2)
    print(to_text(plan, found))
    if plan.doubts:
        return 1
    if arguments.output and (plan.proved or arguments.unproved):
        text = to_parameters(plan, arguments.model.name)
        arguments.output.write_text(text, encoding="utf-8")
        print(f"\nwritten: {arguments.output}")
    elif arguments.output:
        print("\nnothing written: the plan is not proved (--unproved writes it all the same)")
    return 0 if plan.proved else 1


def _check(path: Path, opening: object) -> int:
    from rclrt_analysis.bounds.analyse import analyse
    from rclrt_analysis.plan.openings import Opening
    from rclrt_analysis.plan.parameters import applied, misfits, read_plan, remarks, this_machine
    from rclrt_analysis.report import verdict

    assert isinstance(opening, Opening)
    file = read_plan(path)
    found = misfits(file, opening, this_machine())
    for text in [*found, *remarks(file, this_machine())]:
        print(text, file=sys.stderr)
    result = analyse(applied(opening, file))
    print(f"{verdict(result)}, with what the file says")
    return 0 if result.met and not found else 1
