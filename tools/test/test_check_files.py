# Copyright 2026 The rclrt Authors
# SPDX-License-Identifier: Apache-2.0
"""The file check counts lines and looks for the licence."""

from __future__ import annotations

import subprocess
import sys
from pathlib import Path

TOOL = Path(__file__).resolve().parents[1] / "check_files.py"
LICENSE = "// SPDX-License-Identifier: Apache-2.0\n"


def run(path: Path) -> tuple[int, str]:
    result = subprocess.run(
        [sys.executable, TOOL, path], capture_output=True, text=True, timeout=60, check=False
    )
    return result.returncode, result.stdout


def test_six_hundred_lines_pass_and_one_more_does_not(tmp_path: Path) -> None:
    path = tmp_path / "a.cpp"
    path.write_text(LICENSE + "\n" * 599)
    assert run(path)[0] == 0
    path.write_text(LICENSE + "\n" * 600)
    status, text = run(path)
    assert status == 1
    assert "601 lines" in text


def test_a_source_without_a_licence_is_named(tmp_path: Path) -> None:
    path = tmp_path / "a.py"
    path.write_text("print()\n")
    status, text = run(path)
    assert status == 1
    assert f"{path}: no SPDX" in text


def test_data_owes_nothing(tmp_path: Path) -> None:
    path = tmp_path / "a.csv"
    path.write_text("\n" * 1000)
    assert run(path)[0] == 0
