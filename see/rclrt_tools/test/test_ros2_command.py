# Copyright 2026 The rclrt Authors
# SPDX-License-Identifier: Apache-2.0
"""`ros2 rt`, as ros2cli calls it. Where ros2cli is not installed, a stand-in for its base class."""

from __future__ import annotations

import importlib.util
import os
import re
import subprocess
import sys
from pathlib import Path

import pytest
from models import ROOT

# What ros2cli does with a command, once its arguments select it.
CALL = """
import argparse, importlib, sys
module, name = sys.argv[1].split(":")
extension = getattr(importlib.import_module(module), name)()
parser = argparse.ArgumentParser(prog="ros2")
command = parser.add_subparsers(dest="command").add_parser("rt")
command.set_defaults(_command=extension)
extension.add_arguments(command, "ros2 rt")
arguments = parser.parse_args(["rt", *sys.argv[2:]])
sys.exit(arguments._command.main(parser=parser, args=arguments))
"""


@pytest.fixture
def environment(tmp_path: Path) -> dict[str, str]:
    paths = [*sys.path]
    if importlib.util.find_spec("ros2cli") is None:
        folder = tmp_path / "stand_in" / "ros2cli"
        folder.mkdir(parents=True)
        (folder / "__init__.py").touch()
        (folder / "command.py").write_text("class CommandExtension: pass\n", encoding="utf-8")
        paths.insert(0, str(folder.parent))
    return {**os.environ, "PYTHONPATH": ":".join(paths)}


def call(environment: dict[str, str], *arguments: str) -> subprocess.CompletedProcess[str]:
    setup = (ROOT / "see/rclrt_tools" / "setup.py").read_text(encoding="utf-8")
    entry = re.search(r'"ros2cli.command": \["rt = ([\w.:]+)"\]', setup)
    assert entry is not None
    return subprocess.run(
        [sys.executable, "-c", CALL, entry[1], *arguments],
        env=environment, capture_output=True, text=True, check=False, timeout=60,
    )  # fmt: skip


def test_its_verbs_do_what_those_of_rclrt_do(environment: dict[str, str], tmp_path: Path) -> None:
    done = call(environment, "list")
    assert done.returncode == 0, done.stderr
    assert done.stdout.startswith("program ")
    for verb in (("top", "--json"), ("top", "--once"), ("findings",)):
        done = call(environment, *verb, "--for", "0.1", "no such program")
        assert done.returncode == 1
        assert "no executor runs" in done.stderr
    assert call(environment, "findings", "--for", "0.1", "none").stdout == "no findings\n"
    done = call(environment, "trace", "info", str(tmp_path / "none.trace"))
    assert done.returncode == 2
    assert "No such file" in done.stderr


def test_without_a_verb_it_says_which_there_are(environment: dict[str, str]) -> None:
    done = call(environment)
    assert done.returncode == 2
    assert "usage: ros2 rt" in done.stderr
    assert "findings" in call(environment, "--help").stdout
