# Copyright 2026 The rclrt Authors
# SPDX-License-Identifier: Apache-2.0
"""What the machine's /dev/shm holds is no matter of the tests."""

from __future__ import annotations

import os
import subprocess
import sys
from pathlib import Path

import pytest

TEST = """
from pathlib import Path

def test_it():
    assert list(Path("/dev/shm").iterdir()) == []
    Path("/dev/shm/rclrt-of-a-test").touch()
"""


def test_tests_have_a_shared_memory_of_their_own(tmp_path: Path) -> None:
    (tmp_path / "test_it.py").write_text(TEST, encoding="utf-8")
    tools = Path(__file__).resolve().parents[1]
    done = subprocess.run(
        [sys.executable, "-m", "pytest", "-p", "no:cacheprovider", "-p", "own_world", tmp_path],
        capture_output=True, text=True, check=False, timeout=60,
        env={**os.environ, "PYTHONPATH": str(tools)},
    )  # fmt: skip
    if "/dev/shm: the machine's" in done.stdout:
        pytest.skip(f"this machine gives none: {done.stdout.partition('/dev/shm: ')[2][:80]}")
    assert done.returncode == 0, done.stdout
    assert not Path("/dev/shm/rclrt-of-a-test").exists()
