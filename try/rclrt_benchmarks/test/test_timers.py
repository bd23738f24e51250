# Copyright 2026 The rclrt Authors
# SPDX-License-Identifier: Apache-2.0
"""The yardstick of timers is read as it is printed, and drift is told from skipped periods."""

from __future__ import annotations

from typing import Any

import pytest
from rclrt_benchmarks.experiments import seven_timers, timer_jitter
from rclrt_benchmarks.harness.frame import FailedError
from rclrt_benchmarks.harness.row import FAILS, HOLDS, OPEN

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
