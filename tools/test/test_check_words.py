# Copyright 2026 The rclrt Authors
# SPDX-License-Identifier: Apache-2.0
"""The check of words finds names that the glossary does not use, and dead links between pages."""

from __future__ import annotations

import subprocess
import sys
from pathlib import Path

import pytest

ROOT = Path(__file__).resolve().parents[2]
GLOSSARY = "# G\n\n| say | not |\n|---|---|\n| timer thread | clock thread, ticker |\n\nend\n"


def run(root: Path) -> tuple[int, str]:
    result = subprocess.run(
        [sys.executable, ROOT / "tools" / "check_words.py", root],
        capture_output=True,
        text=True,
        timeout=60,
        check=False,
    )
    return result.returncode, result.stdout


def page(tmp_path: Path, text: str) -> tuple[int, str]:
    subprocess.run(["git", "init", "-q", tmp_path], check=True)
    (tmp_path / "docs").mkdir()
    (tmp_path / "docs" / "glossary.md").write_text(GLOSSARY)
    (tmp_path / "a.md").write_text(text)
    return run(tmp_path)


def test_the_pages_of_this_tree_are_right() -> None:
    status, text = run(ROOT)
    assert status == 0, text


@pytest.mark.parametrize(
    ("text", "says"),
    [
        ("a\nthe clock\nthread", "a.md:2: say 'timer thread', not 'clock thread'"),
        ("Ticker.", "a.md:1: say 'timer thread', not 'ticker'"),
        ("[x](b.md)", "a.md:1: b.md: no such file"),
        ("a\n[x]: those b", "a.md:2: those: no such file"),
        ("a\n\n| b |\n|---|\n| c |\n\n| d |\n", "a.md:7: a table without a head"),
        ("# A b\n\n[x](#a-c)", "a.md:3: #a-c: no such heading"),
        ("[x](docs/glossary.md#h)", "a.md:1: docs/glossary.md#h: no such heading"),
    ],
)
def test_what_is_wrong_is_named_with_its_line(tmp_path: Path, text: str, says: str) -> None:
    assert page(tmp_path, text) == (1, says + "\n")


def test_comments_of_sources_use_no_other_names_either(tmp_path: Path) -> None:
    (tmp_path / "a.cpp").write_text("int ticker(int TICKER);  // the clock\n// thread\n")
    assert page(tmp_path, "") == (1, "a.cpp:1: say 'timer thread', not 'clock thread'\n")


@pytest.mark.parametrize(
    "text",
    [
        "tickers, `ticker`\n```\nticker [x](b.md)\n```\n",
        "# `A` b: c\n\n[x](#a-b-c) [y](docs) [z](https://example.org/b) [w](docs/glossary.md#g)\n",
        "# A\n# A\n[x](#a-1)\n```\n# B\n```\n",
    ],
)
def test_what_is_right_passes(tmp_path: Path, text: str) -> None:
    assert page(tmp_path, text) == (0, "words: 2 pages, none wrong\n")


def test_a_glossary_without_the_table_is_told(tmp_path: Path) -> None:
    page(tmp_path, "a")
    (tmp_path / "docs" / "glossary.md").write_text("# G\n")
    assert run(tmp_path) == (1, "docs/glossary.md: has no table 'say | not'\n")
