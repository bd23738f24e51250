# Copyright 2026 The rclrt Authors
# SPDX-License-Identifier: Apache-2.0
"""Table 1 and figures 10 to 12 of [PoDS]."""

from __future__ import annotations

import heapq

import pytest
from rclrt_analysis.bounds.serial_link import (
    Link,
    SerialChains,
    micro_ros_latency,
    tide_latency,
    tide_limit,
)

MS = 1_000_000
LINK = Link()
TABLE_1 = SerialChains(3, 10 * MS, 100, reliable=True)


def test_a_message_of_100_bytes_takes_119_on_the_link() -> None:
    assert LINK.message(100) / MS == pytest.approx(10.33, abs=0.005)
    assert LINK.message(10) / MS == pytest.approx(2.52, abs=0.005)
    assert LINK.handshake / MS == pytest.approx(2 * 1.74 + 0.85, abs=0.01)


@pytest.mark.parametrize(
    ("latency", "lost", "paper_ms"),
    [
        (micro_ros_latency, False, 85.03),
        (micro_ros_latency, True, 115.09),
        (tide_latency, False, 41.07),
        (tide_latency, True, 48.97),
    ],
)
def test_the_four_corners_of_table_1_are_within_one_percent(
    latency: object, lost: bool, paper_ms: float
) -> None:
    assert callable(latency)
    assert latency(TABLE_1, LINK, lost) / MS == pytest.approx(paper_ms, rel=0.01)


@pytest.mark.parametrize(
    ("chains", "micro", "tide"),
    [(1, 34.2, 34.2), (2, 51.5, 34.2), (3, 72.1, 41.1), (4, 92.7, 41.1), (5, 113.3, 41.1)],
)
def test_figure_10_grows_with_every_chain_under_micro_ros_only(
    chains: int, micro: float, tide: float
) -> None:
    case = SerialChains(chains, 10 * MS, 100)
    assert micro_ros_latency(case, LINK) / MS == pytest.approx(micro, abs=0.06)
    assert tide_latency(case, LINK) / MS == pytest.approx(tide, abs=0.06)


@pytest.mark.parametrize(
    ("size", "micro", "tide"),
    [(100, 52, 24.2), (200, 78, 32.9), (300, 104, 41.6), (400, 130, 50.3), (500, 156, 59.0)],
)
def test_figure_11_grows_three_times_as_fast_under_micro_ros(
    size: int, micro: float, tide: float
) -> None:
    case = SerialChains(3, 5 * MS, size)
    assert micro_ros_latency(case, LINK) / MS == pytest.approx(micro, abs=0.6)
    assert tide_latency(case, LINK) / MS == pytest.approx(tide, abs=0.06)


@pytest.mark.parametrize(
    ("wcet", "micro", "tide"),
    [(10, 72, 41), (20, 112, 61), (30, 152, 91), (40, 192, 121), (50, 232, 151)],
)
def test_figure_12_has_a_gap_that_widens_with_execution_times(
    wcet: int, micro: float, tide: float
) -> None:
    case = SerialChains(3, wcet * MS, 100)
    assert micro_ros_latency(case, LINK) / MS == pytest.approx(micro, abs=0.6)
    assert tide_latency(case, LINK) / MS == pytest.approx(tide, abs=0.6)


def simulated_tide(case: SerialChains, lost: bool) -> int:
    """Return E1 by running the CPU and the link event by event."""
    ready = list(range(case.chains))  # Timers by priority; the top chain's subscription is -1.
    arrivals: list[int] = []
    now = 0
    while True:
        while arrivals and arrivals[0] <= now:
            heapq.heappop(arrivals)
            heapq.heappush(ready, -1)
        if not ready:
            now = arrivals[0]
            continue
        job = heapq.heappop(ready)
        now += case.callback
        if job == -1:
            return now
        if job == 0:
            up = LINK.message(case.up_bytes)
            sent = now + up + (LINK.handshake + up if lost else 0)
            arrival = sent + LINK.turnaround + LINK.message(case.down_bytes)
            heapq.heappush(arrivals, arrival)


def test_the_formula_is_what_a_simulation_of_cpu_and_link_gives() -> None:
    for chains in (1, 2, 3, 5, 8):
        for wcet_ms in (1, 3, 10, 25, 60):
            for size in (8, 100, 400):
                for lost in (False, True):
                    case = SerialChains(chains, wcet_ms * MS, size, reliable=True)
                    assert tide_latency(case, LINK, lost) == simulated_tide(case, lost)
                    assert tide_latency(case, LINK, lost) <= tide_limit(case, LINK, lost)
