# Copyright 2026 The rclrt Authors
# SPDX-License-Identifier: Apache-2.0
"""Run one experiment: ./rclrt bench NAME [its options].

`./rclrt bench NAME --help` says what it measures. `./rclrt bench all` runs those of four papers,
and judges them on one page. The exit status is 1 if a statement does not hold or it fails, 2 for
wrong arguments, 77 if this machine or user cannot run it.
"""

# An experiment is a module of rclrt_benchmarks, made like a verb: a docstring,
# `add_arguments(parser)` and `run(arguments)`, and only the standard library until it runs. `NEEDS`
# says what is built for it; without, every program is.

import argparse
import importlib
import pkgutil
import sys
from pathlib import Path
from types import ModuleType

from rclrt_tools.places import tree


def experiments() -> dict[str, ModuleType]:
    """Return the module of every experiment, by name (with - for _)."""
    source = (tree() or Path()) / "try/rclrt_benchmarks/src"
    folder = source / "rclrt_benchmarks" / "experiments"
    if str(source) not in sys.path:
        sys.path.insert(1, str(source))
    return {
        info.name.replace("_", "-"): importlib.import_module(
            f"rclrt_benchmarks.experiments.{info.name}"
        )
        for info in pkgutil.iter_modules([str(folder)])
    }


def add_arguments(parser: argparse.ArgumentParser) -> None:
    """Declare the experiments, each with its options."""
    from rclrt_tools.cli import add_verbs

    if found := experiments():
        add_verbs(parser, found.items(), dest="name", metavar="NAME")
    else:  # They are not installed.
        parser.add_argument("words", nargs=argparse.REMAINDER, metavar="NAME", help="in a tree")


def needs(arguments: argparse.Namespace) -> tuple[str, ...]:
    """Return what the experiment needs; nothing if it only lists."""
    if getattr(arguments, "list", False):
        return ()
    module = getattr(arguments, "name_module", None)
    found: tuple[str, ...] = getattr(module, "NEEDS", ("rclrt_programs",))
    return found


def run(arguments: argparse.Namespace) -> int:
    """Run the experiment."""
    status: int = arguments.name_module.run(arguments)
    return status
