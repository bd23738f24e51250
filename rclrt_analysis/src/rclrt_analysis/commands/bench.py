# Copyright 2026 The rclrt Authors
# SPDX-License-Identifier: Apache-2.0
"""Run one experiment: ./rclrt bench NAME [its options].

An experiment is a file of rclrt_benchmarks with the experiment's name: NAME.py, run by Python, or
NAME.cpp, built to a program. `./rclrt bench NAME --help` says what it measures and its options.
"""

from __future__ import annotations

import argparse
import os
import subprocess
import sys
from pathlib import Path


def _benchmarks() -> Path:
    return Path(os.environ.get("RCLRT_SOURCE_DIR", ".")) / "rclrt_benchmarks"


def experiments() -> dict[str, Path]:
    """Return the source file of every experiment, by name (with - for _)."""
    files = [*_benchmarks().glob("*.py"), *_benchmarks().glob("bench/*.cpp")]
    return {
        path.stem.replace("_", "-"): path for path in sorted(files) if not path.stem.startswith("_")
    }


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
    source = experiments()[arguments.name]
    command = [sys.executable, str(source)]
    if source.suffix == ".cpp":
        build = Path(os.environ.get("RCLRT_BUILD_DIR", "build"))
        command = [str(build / "rclrt_benchmarks" / source.stem)]
    return subprocess.run([*command, *arguments.options], check=False).returncode
