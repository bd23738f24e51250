# Copyright 2026 The rclrt Authors
# SPDX-License-Identifier: Apache-2.0
"""The yardstick of timers is read as it is printed, and drift is told from skipped periods."""

from __future__ import annotations

import importlib
import sys
from pathlib import Path

import pytest
from rclrt_analysis.evaluation.judges import timers
from rclrt_analysis.evaluation.row import FAILS, HOLDS, OPEN

sys.path.insert(0, str(Path(__file__).parents[1]))
timer_jitter = importlib.import_module("timer_jitter")

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
    with pytest.raises(ValueError, match="does not print 1 samples of 1 threads"):
        timer_jitter.cyclictest_starts(text, 1, 1, 1)


def verdict(jitter_us: list[float], rounds: int = 2) -> str:
    row = timer_jitter._row("pool", 1.0, 1, [jitter_us] * rounds, {"fifo 50"})
    return timers._drift(row).verdict


def test_a_timer_that_is_late_by_more_each_time_drifts() -> None:
    steady = [5.0, -5.0] * 200
    assert verdict(steady) == HOLDS
    assert verdict([us + 1.0 for us in steady]) == FAILS
    assert verdict([*steady, 3000.0]) == HOLDS, "three periods were skipped"
    assert verdict(steady[:20]) == OPEN
