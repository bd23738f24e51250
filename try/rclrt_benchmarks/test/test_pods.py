# Copyright 2026 The rclrt Authors
# SPDX-License-Identifier: Apache-2.0
"""What [PoDS] states holds, and a number that is not as stated is noticed."""

from __future__ import annotations

import argparse
import copy
from typing import Any

import pytest
from rclrt_benchmarks.experiments import pods
from rclrt_benchmarks.harness.frame import FailedError
from rclrt_benchmarks.harness.row import FAILS, HOLDS, Machine

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
