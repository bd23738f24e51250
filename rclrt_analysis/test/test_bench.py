# Copyright 2026 The rclrt Authors
# SPDX-License-Identifier: Apache-2.0
from __future__ import annotations

import os
import subprocess
import sys
from pathlib import Path

import pytest

EXPERIMENT = '''"""Say a word.

At length.
"""
from __future__ import annotations
from dataclasses import dataclass

@dataclass
class Result:
    word: str

def add_arguments(parser):
    parser.add_argument("--word", default="nothing")

def run(arguments):
    print(Result(arguments.word))
    return 7
'''


def bench(source: Path, *arguments: str) -> subprocess.CompletedProcess[str]:
    return subprocess.run(
        [sys.executable, "-m", "rclrt_analysis.cli", *arguments],
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
    (folder / "response_times.py").write_text(EXPERIMENT, encoding="utf-8")
    return tmp_path


def test_an_experiment_is_found_run_and_its_status_passed_on(source: Path) -> None:
    done = bench(source, "bench", "response-times", "--word", "hello")
    assert done.stdout == "Result(word='hello')\n", done.stderr
    assert done.returncode == 7


def test_each_experiment_has_its_help_and_is_listed(source: Path) -> None:
    assert "Say a word." in bench(source, "bench", "--help").stdout
    told = bench(source, "bench", "response-times", "--help").stdout
    assert "At length." in told
    assert "--word" in told


def test_what_does_not_exist_is_refused_before_anything_runs(source: Path) -> None:
    for arguments in (["nope"], [], ["response-times", "--wrd", "x"]):
        done = bench(source, "--check", "bench", *arguments)
        assert done.returncode == 2
        assert "usage: ./rclrt bench" in done.stderr or "usage: ./rclrt" in done.stderr
    assert "response-times" in bench(source, "bench", "nope").stderr


STUBS = """
need_packages() { :; }
need_python() { python=none; }
fetch_scx() { :; }
check_arguments() { :; }
run_python() { :; }
build() { echo built; }
"""
ALONE = ("analysis-speed", "page", "table-1", "tightness", "top-cost", "trace-speed", "waters")


@pytest.mark.parametrize("name", [*ALONE, "dispatch", "contract"])
def test_only_experiments_that_run_programs_build_them(name: str, tmp_path: Path) -> None:
    root = Path(__file__).resolve().parents[2]
    functions, mark, rest = (root / "rclrt").read_text("utf-8").partition("\nverb=${1:-}\n")
    assert mark, "the script is not as this test takes it"
    script = tmp_path / "rclrt"
    script.write_text(functions + STUBS + mark + rest, encoding="utf-8")
    done = subprocess.run(
        ["bash", str(script), "bench", name],
        capture_output=True, text=True, check=True, timeout=60,
    )  # fmt: skip
    assert done.stdout == ("" if name in ALONE else "built\n")
