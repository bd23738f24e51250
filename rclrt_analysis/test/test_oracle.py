# Copyright 2026 The rclrt Authors
# SPDX-License-Identifier: Apache-2.0
"""The same bounds by a public implementation: the Rust package response-time-analysis."""

from __future__ import annotations

import os
import shutil
import subprocess
from pathlib import Path

import numpy as np
import pytest
from rclrt_analysis.bounds import fifo, nonpreemptive_edf, nonpreemptive_fp, preemptive_fp
from rclrt_analysis.bounds.taskset import Ints, TaskSet, make_taskset

HERE = Path(__file__).resolve().parent / "oracle"
PERIODS = np.array([20, 24, 30, 36, 40, 50, 60, 70, 84, 100])


@pytest.fixture(scope="module")
def oracle(tmp_path_factory: pytest.TempPathFactory) -> Path:
    cargo = shutil.which("cargo")
    if cargo is None:
        pytest.skip("cargo is not installed: the public implementation is not compared")
    build = os.environ.get("RCLRT_BUILD_DIR")
    target = Path(build) / "oracle" if build else tmp_path_factory.mktemp("oracle")
    # A copy, because cargo writes beside its sources.
    source = shutil.copytree(HERE, target / "source", dirs_exist_ok=True)
    options = ["--manifest-path", str(Path(source) / "Cargo.toml")]
    fetched = subprocess.run(
        [cargo, "fetch", *options], capture_output=True, text=True, check=False, timeout=120
    )
    if fetched.returncode:
        pytest.skip(f"response-time-analysis cannot be fetched: {fetched.stderr[-200:]}")
    built = subprocess.run(
        [cargo, "build", "-q", "-j", "1", "--offline", "--target-dir", str(target), *options],
        capture_output=True,
        text=True,
        check=False,
        timeout=300,
    )
    assert built.returncode == 0, built.stderr
    return target / "debug" / "oracle"


def random_sets(jitter: bool) -> list[TaskSet]:
    rng = np.random.default_rng(5)
    sets = []
    for _ in range(150):
        n = int(rng.integers(2, 6))
        period = rng.choice(PERIODS, n)
        share = rng.random(n) + 0.1
        share *= rng.uniform(0.3, 0.95) / share.sum()
        wcet = np.clip((share * period).astype(np.int64), 1, period)
        late = rng.integers(0, period) if jitter else np.zeros(n, dtype=np.int64)
        sets.append(make_taskset(wcet, period, rng.integers(wcet, period + 1), None, late))
    return sets


def ask(oracle: Path, sets: list[TaskSet]) -> list[list[int]]:
    lines = []
    for tasks in sets:
        columns = zip(tasks.wcet, tasks.period, tasks.jitter, tasks.deadline, strict=True)
        lines.append(", ".join(" ".join(str(value) for value in row) for row in columns))
    done = subprocess.run(
        [oracle], input="\n".join(lines), capture_output=True, text=True, check=True, timeout=60
    )
    return [[int(word) for word in line.split()] for line in done.stdout.splitlines()]


def test_bounds_are_those_of_the_public_implementation(oracle: Path) -> None:
    for jitter in (False, True):
        sets = random_sets(jitter)
        for tasks, theirs in zip(sets, ask(oracle, sets), strict=True):
            n = len(tasks)
            assert nonpreemptive_fp.exact(tasks).response.tolist() == theirs[:n], tasks
            assert preemptive_fp.exact(tasks).response.tolist() == theirs[n : 2 * n], tasks
            assert fifo.response(tasks).response[0] == theirs[3 * n], tasks


def test_edf_bounds_are_never_below_and_seldom_above(oracle: Path) -> None:
    # Theirs is for discrete time: what had begun did so one unit before. Ours counts it in full, so
    # a release that falls exactly on a start may let in a job more.
    def scaled(tasks: TaskSet, by: int) -> TaskSet:
        return make_taskset(tasks.wcet * by, tasks.period * by, tasks.deadline * by)

    fine = [scaled(tasks, 1000) for tasks in random_sets(False)]
    differences: list[int] = []
    for tasks, theirs in zip(fine, ask(oracle, fine), strict=True):
        n = len(tasks)
        ours: Ints = nonpreemptive_edf.exact(tasks).response
        differences += (ours - np.array(theirs[2 * n : 3 * n])).tolist()
    assert min(differences) == 0
    assert np.mean([difference <= 1 for difference in differences]) > 0.9
