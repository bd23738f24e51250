# Copyright 2026 The rclrt Authors
# SPDX-License-Identifier: Apache-2.0
"""The mutation tool changes one thing at a time, puts it back, and tells what nobody noticed."""

from __future__ import annotations

import subprocess
import sys
from pathlib import Path

TOOL = Path(__file__).resolve().parents[1] / "mutate.py"
SOURCE = """// a < b is a comment
int sign(std::vector<int> list, int value)
{
  log("a < b");
  if (value < 0) {
    return -1;
  }
  return 1;
}
"""


def run(*arguments: str | Path) -> subprocess.CompletedProcess[str]:
    return subprocess.run(
        [sys.executable, TOOL, *arguments], capture_output=True, text=True, timeout=60, check=False
    )


def test_code_is_changed_but_no_comment_string_or_template(tmp_path: Path) -> None:
    path = tmp_path / "a.cpp"
    path.write_text(SOURCE)
    listed = run("--build", tmp_path, "--tests", "x", "--list", path).stdout.splitlines()
    assert listed == [
        "a.cpp:4: statement: ",
        "a.cpp:5: relation: if (value <= 0) {",
        "a.cpp:5: constant: if (value < 1) {",
        "a.cpp:5: condition: if (false) {",
        "a.cpp:5: condition: if (true) {",
        "a.cpp:6: constant: return -2;",
        "a.cpp:8: constant: return 2;",
    ]
    assert path.read_text() == SOURCE


def test_what_no_test_notices_survives_and_the_file_is_as_before(tmp_path: Path) -> None:
    path = tmp_path / "a.sh"
    path.write_text("[ $1 -lt 5 ] && true\n[ 3 = 3 ] && true\n")
    # The "build" makes a program of the file; the test looks at its first line only.
    make = f"(echo '#!/bin/sh'; head -1 {path} | sed s/.1/4/) > {{test}}; chmod +x {{test}}"
    make = f"cd {tmp_path} && {make}"
    arguments = ("--build", tmp_path, "--tests", "program", "--make", make)
    result = run(*arguments, path)
    assert result.returncode == 1, result.stderr
    assert "| a.sh:2 | constant | `[ 3 = 3 ] && true` | `[ 4 = 3 ] && true` |" in result.stdout
    assert "a.sh:1: constant: [ $1 -lt 5 ] && false: program fails" in result.stderr
    assert path.read_text() == "[ $1 -lt 5 ] && true\n[ 3 = 3 ] && true\n"


def test_tests_that_fail_anyway_are_an_error(tmp_path: Path) -> None:
    path = tmp_path / "a.cpp"
    path.write_text(SOURCE)
    make = f"cd {tmp_path} && (echo '#!/bin/sh'; echo exit 1) > program && chmod +x program"
    result = run("--build", tmp_path, "--tests", "program", "--make", make, path)
    assert result.returncode == 2
    assert "without any change: program fails" in result.stderr
