# Copyright 2026 The rclrt Authors
# SPDX-License-Identifier: Apache-2.0
"""Run one experiment: ./rclrt bench NAME [its options].

An experiment is a Python file of rclrt_benchmarks; `./rclrt bench NAME --help` says what it
measures and which options it has.
"""

from __future__ import annotations

import argparse
import os
import subprocess
import sys
from pathlib import Path


def experiments() -> dict[str, Path]:
    """Return the file of every experiment, by name (with - for _)."""
    folder = Path(os.environ.get("RCLRT_SOURCE_DIR", ".")) / "rclrt_benchmarks"
    return {path.stem.replace("_", "-"): path for path in sorted(folder.glob("[a-z]*.py"))}


def _experiment(text: str) -> str:
    known = experiments()
    if text not in known:
        names = ", ".join(known) or "none here"
        raise argparse.ArgumentTypeError(f"unknown experiment '{text}'. There are: {names}")
    return text


def add_arguments(parser: argparse.ArgumentParser) -> None:
    """Declare the options."""
    parser.add_argument("name", type=_experiment, metavar="NAME", help=", ".join(experiments()))
    parser.add_argument("options", nargs=argparse.REMAINDER, help="options of the experiment")


def run(arguments: argparse.Namespace) -> int:
    """Run the experiment."""
    command = [sys.executable, str(experiments()[arguments.name]), *arguments.options]
    return subprocess.run(command, check=False).returncode
