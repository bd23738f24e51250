# Copyright 2026 The rclrt Authors
# SPDX-License-Identifier: Apache-2.0
"""The lock check finds mutexes without priority inheritance."""

from __future__ import annotations

import shutil
import subprocess
import sys
from pathlib import Path

import pytest

ROOT = Path(__file__).resolve().parents[2]
SOURCES = "ros/rclrt_rclcpp/src"
FOLDERS = (SOURCES, "ros/rclrt_front_end/src", "ros/rclrt_front_end/include")


def run(root: Path) -> tuple[int, str]:
    result = subprocess.run(
        [sys.executable, ROOT / "tools" / "check_locks.py", root],
        capture_output=True,
        text=True,
        timeout=60,
        check=False,
    )
    return result.returncode, result.stdout


@pytest.fixture(name="tree")
def copy_of_the_sources(tmp_path: Path) -> Path:
    for folder in FOLDERS:
        shutil.copytree(ROOT / folder, tmp_path / folder)
    return tmp_path


def test_the_tree_as_it_is_passes(tree: Path) -> None:
    assert run(tree) == (0, "locks: none without priority inheritance\n")


@pytest.mark.parametrize(
    ("file", "line"),
    [
        ("timers.cpp", "std::mutex mutex;"),
        ("waitable_events.hpp", "std::lock_guard<std::mutex> lock(mutex_);"),
        ("engine_executor_impl.hpp", "std::mutex update_request_mutex_;"),
        ("engine_executor_impl.hpp", "std::condition_variable update_request_;"),
        ("announce.cpp", "static std::recursive_mutex & mutex = *new std::recursive_mutex;"),
    ],
)
def test_a_lock_that_does_not_inherit_priorities_is_named(tree: Path, file: str, line: str) -> None:
    path = tree / SOURCES / file
    path.write_text(path.read_text(encoding="utf-8") + line + "\n", encoding="utf-8")
    status, text = run(tree)
    assert status == 1
    assert f"{SOURCES}/{file}:" in text


def test_a_lock_of_what_front_ends_share_is_named(tree: Path) -> None:
    file = "ros/rclrt_front_end/include/rclrt_front_end/configured_engine.hpp"
    path = tree / file
    path.write_text(
        path.read_text(encoding="utf-8") + "mutable std::mutex findings_mutex_;\n", encoding="utf-8"
    )
    status, text = run(tree)
    assert status == 1
    assert f"{file}:" in text


def test_an_entry_without_its_mutex_is_named(tree: Path) -> None:
    (tree / SOURCES / "scheduling.cpp").unlink()
    status, text = run(tree)
    assert status == 1
    assert "scheduling.cpp needs no entry any more" in text
