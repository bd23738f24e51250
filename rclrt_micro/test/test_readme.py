# Copyright 2026 The rclrt Authors
# SPDX-License-Identifier: Apache-2.0
"""The first program in README.md is the one that is built and tested, and it is short."""

from __future__ import annotations

from pathlib import Path

PACKAGE = Path(__file__).resolve().parents[1]


def test_the_readme_shows_the_first_program_as_it_is() -> None:
    program = (PACKAGE / "example" / "first_program.c").read_text(encoding="utf-8")
    program = program[program.index("#include") :]
    assert program in (PACKAGE / "README.md").read_text(encoding="utf-8")
    assert len(program.splitlines()) < 40
