# Copyright 2026 The rclrt Authors
# SPDX-License-Identifier: Apache-2.0
"""The first program in README.md is the one that is built and tested, and it is short."""

from __future__ import annotations

import os
import subprocess
from pathlib import Path

PACKAGE = Path(__file__).resolve().parents[1]


def test_the_readme_shows_the_first_program_as_it_is() -> None:
    program = (PACKAGE / "example" / "first_program.c").read_text(encoding="utf-8")
    program = program[program.index("#include") :]
    assert program in (PACKAGE / "README.md").read_text(encoding="utf-8")
    assert len(program.splitlines()) < 40


def test_without_tests_it_is_built_where_there_is_no_compiler_for_cpp(tmp_path: Path) -> None:
    command = ["cmake", "-S", str(PACKAGE), "-B", str(tmp_path), "-G", "Ninja"]
    command += ["-DRCLRT_BUILD_TESTS=OFF", "-DRCLRT_WERROR=ON"]
    environment = {**os.environ, "CXX": "/no/such/compiler"}
    for line in (command, ["ninja", "-C", str(tmp_path)]):
        done = subprocess.run(line, env=environment, capture_output=True, text=True, timeout=100)
        assert done.returncode == 0, done.stdout + done.stderr
