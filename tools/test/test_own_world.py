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


@pytest.mark.skipif(
    os.geteuid() != 0 or subprocess.run(["unshare", "-m", "true"], check=False).returncode != 0,
    reason="this machine gives no /dev/shm of our own",
)
@pytest.mark.parametrize("options", [["-q"], []])
def test_tests_have_a_shared_memory_of_their_own(tmp_path: Path, options: list[str]) -> None:
    (tmp_path / "test_it.py").write_text(TEST, encoding="utf-8")
    tools = Path(__file__).resolve().parents[1]
    done = subprocess.run(
        [sys.executable, "-m", "pytest", *options, "-p", "no:cacheprovider", "-p", "own_world",
         tmp_path],
        capture_output=True, text=True, check=False, timeout=60,
        env={**os.environ, "PYTHONPATH": str(tools)},
    )  # fmt: skip
    assert done.returncode == 0, done.stdout
    assert options or "/dev/shm: of these tests alone" in done.stdout
    assert not Path("/dev/shm/rclrt-of-a-test").exists()
