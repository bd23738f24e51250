# Copyright 2026 The rclrt Authors
# SPDX-License-Identifier: Apache-2.0
"""Run one experiment: ./rclrt bench NAME [its options].

An experiment is a Python file of rclrt_benchmarks, made like a verb: a docstring,
`add_arguments(parser)` and `run(arguments)`, and only the standard library until it runs. `NEEDS`
says what is built for it; without, every program is.
`./rclrt bench all` runs those of four papers, and judges them on one page.
"""

from __future__ import annotations

import argparse
import importlib.util
import os
import sys
from pathlib import Path
from types import ModuleType


def experiments() -> dict[str, Path]:
    """Return the file of every experiment, by name (with - for _)."""
    folder = Path(os.environ.get("RCLRT_SOURCE_DIR", ".")) / "try/rclrt_benchmarks"
    return {path.stem.replace("_", "-"): path for path in sorted(folder.glob("[a-z]*.py"))}


def _load(path: Path) -> ModuleType:
    name = f"rclrt_benchmarks_{path.stem}"
    spec = importlib.util.spec_from_file_location(name, path)
    assert spec is not None and spec.loader is not None  # it is a .py file
    module = importlib.util.module_from_spec(spec)
    sys.modules[name] = module  # dataclasses look their module up
    spec.loader.exec_module(module)
    return module


def add_arguments(parser: argparse.ArgumentParser) -> None:
    """Declare the experiments, each with its options."""
    from rclrt_analysis.cli import add_verbs

    found = ((name, _load(path)) for name, path in experiments().items())
    add_verbs(parser, found, dest="name", metavar="NAME")


def needs(arguments: argparse.Namespace) -> tuple[str, ...]:
    """Return what the experiment needs."""
    found: tuple[str, ...] = getattr(arguments.name_module, "NEEDS", ("rclrt_programs",))
    return found


def run(arguments: argparse.Namespace) -> int:
    """Run the experiment."""
    status: int = arguments.name_module.run(arguments)
    return status
