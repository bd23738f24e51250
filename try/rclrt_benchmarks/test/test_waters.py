# Copyright 2026 The rclrt Authors
# SPDX-License-Identifier: Apache-2.0
from __future__ import annotations

import json
import os
import subprocess
import sys
from pathlib import Path

import numpy as np
import pytest
from rclrt_analysis.bounds import nonpreemptive_fp
from rclrt_analysis.bounds.end_to_end import davare
from rclrt_analysis.bounds.fixed_point import UNBOUNDED
from rclrt_benchmarks.workloads.waters import (
    CLASSES,
    PeriodClass,
    average_times,
    make_chains,
    make_tasks,
)
from recorded import ROOT


@pytest.mark.parametrize("kind", CLASSES, ids=lambda kind: f"{kind.period_ms} ms")
def test_average_execution_times_have_the_published_mean_and_range(kind: PeriodClass) -> None:
    times = average_times(kind, 20_000, np.random.default_rng(1))
    low, mean, high = kind.acet
    assert low <= times.min() <= times.max() <= high
    assert times.mean() == pytest.approx(mean, rel=0.06)


def test_sets_reach_their_utilization_in_order_of_priority() -> None:
    rng = np.random.default_rng(2)
    sets = [make_tasks(0.8, rng) for _ in range(50)]
    assert all(tasks.utilization <= 0.81 for tasks in sets)
    assert np.mean([tasks.utilization for tasks in sets]) > 0.7
    assert all(np.all(np.diff(tasks.period) >= 0) for tasks in sets)
    assert all(np.all(np.diff(tasks.priority) < 0) for tasks in sets)


def test_chains_have_two_to_fifteen_tasks_of_one_to_three_periods() -> None:
    rng = np.random.default_rng(3)
    lengths = []
    for _ in range(20):
        tasks = make_tasks(0.8, rng)
        for chain in make_chains(tasks, rng):
            lengths.append(len(chain))
            assert len(set(chain.tolist())) == len(chain)
            assert 1 <= len(set(tasks.period[chain].tolist())) <= 3
    assert 2 <= min(lengths) <= max(lengths) <= 15


def test_shares_of_schedulable_sets_are_those_of_the_authors_pipeline() -> None:
    rng = np.random.default_rng(4)
    for level, share in ((0.6, 0.824), (0.9, 0.592)):
        sets = 300
        met = sum(
            bool(np.all(nonpreemptive_fp.theorem_1(make_tasks(level, rng)) < UNBOUNDED))
            for _ in range(sets)
        )
        chance = 3 * (share * (1 - share) * (1 / sets + 1 / 1000)) ** 0.5
        assert met / sets == pytest.approx(share, abs=chance)


def test_davare_sums_periods_and_responses() -> None:
    period, response = np.array([10, 20, 40]), np.array([3, 5, 7])
    assert davare(period, response, [np.array([0, 2]), np.array([1])]).tolist() == [60, 25]
    assert davare(period, response, []).tolist() == []


def bench(*arguments: str) -> subprocess.CompletedProcess[str]:
    return subprocess.run(
        [sys.executable, "-m", "rclrt_tools.cli", "bench", *arguments],
        capture_output=True,
        text=True,
        check=False,
        timeout=120,
        env={**os.environ, "RCLRT_SOURCE_DIR": str(ROOT)},
    )


def test_the_experiment_writes_a_row_per_level(tmp_path: Path) -> None:
    rows = tmp_path / "rows.json"
    done = bench("waters", "--sets", "20", "--json", str(rows))
    assert done.returncode == 0, done.stderr
    content = json.loads(rows.read_text(encoding="utf-8"))
    assert [row["utilization_percent"] for row in content["rows"]] == [60, 80, 90]
    assert all(10 < row["reduction_mean"] < 35 for row in content["rows"])


def test_table_i_is_reproduced_with_119_us_and_the_note_says_why_not_with_120(
    tmp_path: Path,
) -> None:
    rows = tmp_path / "rows.json"
    done = bench("table-1", "--json", str(rows))
    assert done.returncode == 0, done.stdout
    assert "9 of 9 as printed" in done.stdout
    found = json.loads(rows.read_text(encoding="utf-8"))["rows"]
    exact = [float(row["exact_ms"]) for row in found]
    assert exact == [11.83, 52.95, 63.07, 15.83, 69.07, 80.07, 17.83, 78.07, 88.55]
    other = bench("table-1", "--release-ms", "0.12")
    assert "0 of 9 as printed" in other.stdout
    assert "0.119 ms, not from the 0.12 ms" in other.stdout
