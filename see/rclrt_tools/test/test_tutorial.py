# Copyright 2026 The rclrt Authors
# SPDX-License-Identifier: Apache-2.0
"""The commands of the tutorial are commands, and those that need no machine print what it shows."""

from __future__ import annotations

import re
import shlex
import shutil
from pathlib import Path

import pytest
from models import ROOT, SCHEMA
from rclrt_analysis.plan.openings import read_open
from rclrt_tools.cli import build_parser, main
from rclrt_tools.watch.watch import Watch, to_text

FOLDER = ROOT / "docs" / "tutorials"
TUTORIAL = (FOLDER / "deadlines.md").read_text(encoding="utf-8")


def commands() -> list[tuple[list[str], list[str]]]:
    """Return each command of ./rclrt, and the lines that it prints."""
    found: list[tuple[list[str], list[str]]] = []
    shown: list[str] = []
    for line in TUTORIAL.splitlines():
        if line.startswith("```"):
            shown = []  # What follows belongs to no command.
        elif line.startswith("$ ./rclrt "):
            words = shlex.split(line.replace("$PROGRAM", "program").partition(" > ")[0])
            shown = []
            found.append((words[2:], shown))
        elif line != "...":
            shown.append(line)
    return found


def test_every_command_of_the_tutorial_is_one() -> None:
    verbs = [words[0] for words, _ in commands()]
    assert verbs == ["observe", "trace", "trace", "model", "plan", "watch", "model"]
    for words, _ in commands():
        build_parser().parse_args(words)


def test_the_tutorial_shows_what_plan_and_explain_print(
    tmp_path: Path, capsys: pytest.CaptureFixture[str], monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("RCLRT_SOURCE_DIR", str(ROOT))
    monkeypatch.chdir(tmp_path)
    shutil.copy(FOLDER / "robot.yaml", tmp_path)
    for words, shown in commands():
        if words[0] != "plan" and "explain" not in words:
            continue
        more = ["--time", "300"] if words[0] == "plan" else []
        assert main([*words, *more]) == 0
        printed = capsys.readouterr().out.splitlines()
        assert len(shown) >= 8
        assert [line for line in shown if line not in printed] == []


def test_the_tutorial_shows_what_watch_prints() -> None:
    """The times are of a machine; the columns, and what can be so, are of the command."""
    shown = next(lines for words, lines in commands() if words[0] == "watch")
    watch = Watch(read_open(FOLDER / "robot.yaml", SCHEMA).system)
    printed = to_text(watch).splitlines()
    assert shown[0].split() == printed[0].split()
    names = [line.split()[0] for line in printed[1:3]]
    assert [line.split()[0] for line in shown[1:3]] == names
    fields = [re.split(r"  +", line) for line in shown[1:3]]
    # What has instances has times, and what has none is not OK.
    assert all((f[-2] != "0") == (f[4] != "-") == (f[1] == "OK") for f in fields), fields


def test_the_tutorial_quotes_its_model() -> None:
    model = (FOLDER / "robot.yaml").read_text(encoding="utf-8").splitlines()
    quoted = [
        line
        for block in re.findall(r"^```yaml\n(.*?)^```", TUTORIAL, re.DOTALL | re.MULTILINE)
        for line in block.splitlines()
        if not line.endswith("...]")
    ]
    assert len(quoted) > 15
    assert [line for line in quoted if line not in model] == []
