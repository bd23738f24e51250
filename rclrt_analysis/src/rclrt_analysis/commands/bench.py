# Copyright 2026 The rclrt Authors
# SPDX-License-Identifier: Apache-2.0
"""Run one experiment: ./rclrt bench NAME [its options].

An experiment is a file NAME.py of rclrt_benchmarks. Like a verb it has a docstring that says what
it measures, `add_arguments(parser)`, and `run(arguments)`, which returns the exit status; and like
a verb it imports nothing but the standard library before `run`.
"""

from __future__ import annotations

import argparse
import importlib.util
import os
import sys
from pathlib import Path
from types import ModuleType


def _experiments() -> list[ModuleType]:
    folder = Path(os.environ.get("RCLRT_SOURCE_DIR", ".")) / "rclrt_benchmarks"
    modules = []
    for path in sorted(folder.glob("*.py")):
        name = f"rclrt_benchmarks.{path.stem}"
        specification = importlib.util.spec_from_file_location(name, path)
        if specification is None or specification.loader is None:
            continue
        module = importlib.util.module_from_spec(specification)
        sys.modules[name] = module  # as an import would: dataclasses look themselves up there
        specification.loader.exec_module(module)
        modules.append(module)
    return modules


def add_arguments(parser: argparse.ArgumentParser) -> None:
    """Declare the experiments and their options."""
    names = parser.add_subparsers(dest="name", metavar="NAME", required=True)
    for module in _experiments():
        summary = (module.__doc__ or "").strip().partition("\n")[0]
        experiment = names.add_parser(
            module.__name__.rpartition(".")[2].replace("_", "-"),
            help=summary,
            description=module.__doc__,
            formatter_class=argparse.RawDescriptionHelpFormatter,
            allow_abbrev=False,
        )
        module.add_arguments(experiment)
        experiment.set_defaults(run_experiment=module.run)


def run(arguments: argparse.Namespace) -> int:
    """Run the experiment."""
    status: int = arguments.run_experiment(arguments)
    return status
