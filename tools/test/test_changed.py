# Copyright 2026 The rclrt Authors
# SPDX-License-Identifier: Apache-2.0
"""tools/changed.py names the packages that a change can reach."""

import subprocess
import sys
from pathlib import Path

import pytest
from changed import reached

TOOL = Path(__file__).resolve().parents[1] / "changed.py"


@pytest.mark.parametrize(
    ("files", "among", "not_among"),
    [
        ([], [], ["rclrt", "rclrt_core"]),
        (["engine/rclrt_core/src/engine.cpp"], ["rclrt_core", "rclrt_rclcpp"], ["rclrt_micro"]),
        (["micro/rclrt_micro/src/a.c"], ["rclrt_micro", "rclrt_agent"], ["rclrt_core"]),
        (["prove/rclrt_analysis/src/a.py"], ["rclrt", "rclrt_tools"], ["rclrt_core"]),
        (["docs/glossary.md"], ["rclrt"], ["rclrt_core"]),
        (["tools/cmake/Rclrt.cmake"], ["rclrt", "rclrt_trace", "rclrt_micro"], []),
    ],
)
def test_a_change_reaches_what_may_depend_on_it(
    files: list[str], among: list[str], not_among: list[str]
) -> None:
    found = reached(files)
    assert set(among) <= set(found)
    assert not set(not_among) & set(found)


def test_a_commit_that_is_not_there_is_named() -> None:
    done = subprocess.run(
        [sys.executable, str(TOOL), "no-such"], capture_output=True, text=True, check=False
    )
    assert done.returncode == 1
    assert "--changed no-such" in done.stderr
