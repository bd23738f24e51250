# Copyright 2026 The rclrt Authors
# SPDX-License-Identifier: Apache-2.0
from __future__ import annotations

import os
import subprocess
import sys
from pathlib import Path

import pytest


def bench(source: Path, *arguments: str) -> subprocess.CompletedProcess[str]:
    return subprocess.run(
        [sys.executable, "-m", "rclrt_analysis.cli", "bench", *arguments],
        capture_output=True,
        text=True,
        check=False,
        timeout=60,
        env={**os.environ, "RCLRT_SOURCE_DIR": str(source)},
    )


@pytest.fixture
def source(tmp_path: Path) -> Path:
    folder = tmp_path / "rclrt_benchmarks"
    folder.mkdir()
    script = "import sys\nprint(sys.argv[1:])\nsys.exit(7)\n"
    (folder / "response_times.py").write_text(script, encoding="utf-8")
    return tmp_path


def test_an_experiment_gets_its_options_and_its_status_is_passed_on(source: Path) -> None:
    done = bench(source, "response-times", "--json", "x", "--help", "-q")
    assert done.stdout == "['--json', 'x', '--help', '-q']\n"
    assert done.returncode == 7


def test_an_unknown_experiment_is_refused_and_the_known_ones_named(source: Path) -> None:
    done = bench(source, "nope")
    assert done.returncode == 2
    assert "unknown experiment 'nope'. There are: response-times" in done.stderr
    assert bench(source).returncode == 2
