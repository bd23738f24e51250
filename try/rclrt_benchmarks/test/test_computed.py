# Copyright 2026 The rclrt Authors
# SPDX-License-Identifier: Apache-2.0
"""What experiments compute of packets (PoDS), of task sets (waters) and of samples of timers."""

import argparse
import copy
import json
import os
import subprocess
import sys
from pathlib import Path
from typing import Any

import numpy as np
import pytest
from rclrt_analysis.bounds import fixed_priority
from rclrt_analysis.bounds.end_to_end import davare
from rclrt_analysis.bounds.fixed_point import UNBOUNDED
from rclrt_benchmarks.experiments import pods, seven_timers, timer_jitter
from rclrt_benchmarks.harness.frame import FailedError
from rclrt_benchmarks.harness.row import FAILS, HOLDS, OPEN, Machine
from rclrt_benchmarks.harness.task_sets import (
    CLASSES,
    PeriodClass,
    average_times,
    make_chains,
    make_tasks,
)

HERE = Machine(cpus=2, realtime=True, rclcpp=False, cyclictest=True, why_no_vm="")
Result = dict[str, Any]


@pytest.fixture(scope="module")
def pods_result() -> Result:
    """Return one run of all four experiments; in virtual time it takes less than a second."""
    parser = argparse.ArgumentParser()
    pods.add_arguments(parser)
    try:
        return pods._measure(parser.parse_args([]))
    except FailedError as error:
        pytest.skip(str(error))


def test_pods_holds_what_is_stated(pods_result: Result) -> None:
    rows = pods_result["rows"]
    # Every chain of every point: 15 + 3 * 15 + 18 chains a row of executors, and the first alone.
    # And once more at four of its points, with losses that come together.
    assert len(rows) == 4 * (15 + 2 * 15 + 18) + 21 + 4 * (4 * 3 + 1)
    assert {row["n"] for row in rows if row["experiment"] == "pods-reliable"} == {500}
    assert pods_result["problems"] == []
    for name in pods.TITLES:
        assert {row.verdict for row in pods.judge_of(name)(pods_result, HERE).rows} == {HOLDS}


@pytest.mark.parametrize(
    ("experiment", "point", "who", "factor", "said"),
    [
        ("pods-chains", 3, "batch", 1.02, "within 1 %"),
        ("pods-reliable", 0, "paper", 0.98, "within 1 %"),
        ("pods-packet-size", 200, "own", 1.01, "above PoDS"),
        ("pods-reliable", 60, "own", 1.02, "not below PoDS"),
        ("pods-chains", 4, "levels", 1.2, "not below PoDS"),
        ("pods-execution-time", 30, "levels", 1.01, "alone"),
    ],
)
def test_pods_notices_a_number_that_is_not_as_stated(
    pods_result: Result,
    experiment: str,
    point: int,
    who: str,
    factor: float,
    said: str,
) -> None:
    rows = copy.deepcopy(pods_result["rows"])
    for row in rows:
        if (row["experiment"], row["point"], row["who"], row["chain"]) == (
            experiment,
            point,
            who,
            0,
        ):
            for key in ("min_ms", "mean_ms", "max_ms"):
                row[key] *= factor
    assert any(said in problem for problem in pods.problems_of(pods.Table(rows), experiment))


def test_pods_must_be_as_stated_and_its_spread_between_two_kinds_of_losses() -> None:
    rows = [
        {"experiment": "pods-reliable", "chain": 0, "point": 60, "who": who, "mean_ms": ms}
        for who, ms in (("batch", 96.0), ("paper", 44.0), ("own", 42.0), ("levels", 38.0))
    ]
    spread = {"success": 60, "who": "batch", "printed": 14.7, "apart": 8.7, "together": 15.0}
    result: Result = {"rows": rows, "problems": [], "stated": {}}
    judge = pods.judge_of("pods-reliable")
    good = judge({**result, "spread": [{**spread, "holds": True}]}, HERE).rows
    assert [row.verdict for row in good] == [HOLDS] * 3
    problems = ["pods-reliable 60 batch: no", "pods-chains: not this one"]
    bad = judge({**result, "problems": problems, "spread": [{**spread, "holds": False}]}, HERE).rows
    assert [row.verdict for row in bad] == [FAILS, HOLDS, FAILS]
    assert bad[0].why == "pods-reliable 60 batch: no"


ROOT = Path(__file__).resolve().parents[3]


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
            bool(np.all(fixed_priority.theorem_1(make_tasks(level, rng)) < UNBOUNDED))
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


HEAD = "# /dev/cpu_dma_latency set to 0us\nMax CPUs = 2\nThread 0 Interval: 1000\n"


def test_cycles_are_a_period_apart_plus_how_late_they_were() -> None:
    text = (
        HEAD
        + "       0:       0:     900\n       0:       1:     100\n       0:       2:     -50\n"
    )
    assert timer_jitter.cyclictest_starts(text, 1, 2, 1) == [[100, 950]]


def test_cycles_that_are_left_out_are_not_jitter_of_the_next() -> None:
    text = HEAD + "".join(f"       0:       {i}:     {n}\n" for i, n in enumerate((10, 2500, 10)))
    assert timer_jitter.cyclictest_starts(text, 1, 3, 1) == [[10, 3500, 4010]]


@pytest.mark.parametrize("text", ["", HEAD, HEAD + "       1:       0:     900\n"])
def test_too_few_cycles_are_an_error(text: str) -> None:
    with pytest.raises(FailedError, match="does not print 1 samples of 1 threads"):
        timer_jitter.cyclictest_starts(text, 1, 1, 1)


def verdict(jitter_us: list[float], rounds: int = 2) -> str:
    row = timer_jitter._row("preemptive", 1.0, 1, [jitter_us] * rounds, {"fifo 50"})
    return timer_jitter._drift(row).verdict


def test_a_timer_that_is_late_by_more_each_time_drifts() -> None:
    steady = [5.0, -5.0] * 200
    assert verdict(steady) == HOLDS
    assert verdict([us + 1.0 for us in steady]) == FAILS
    assert verdict([*steady, 3000.0]) == HOLDS, "three periods were skipped"
    assert verdict(steady[:20]) == OPEN


def test_seven_timers_take_from_a_response_what_its_thread_was_away() -> None:
    """In its own job and in those before it, since the thread last had nothing to do."""
    ms = 1_000_000

    def jobs(node: str, *times: tuple[int, int, int, int]) -> dict[str, Any]:
        rows = [(r * ms, s * ms, e * ms, 0, 0, 0, a * ms) for r, s, e, a in times]
        return {"node": node, "jobs": rows}

    report = {
        "callbacks": [
            jobs("Lidar1", (0, 0, 10, 2), (40, 40, 50, 3)),
            jobs("Imu", (5, 10, 14, 1), (45, 50, 52, 0), (60, 60, 61, 0)),
        ]
    }
    assert seven_timers._net("Imu", [report]) == {"away_ms": 3.0, "net_max_ms": 6.0}
    assert seven_timers._net("Lidar", [report]) == {"away_ms": 3.0, "net_max_ms": 8.0}
