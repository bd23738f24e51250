# Copyright 2026 The rclrt Authors
# SPDX-License-Identifier: Apache-2.0
"""What is counted as a miss of the chain of the mixed load."""

from __future__ import annotations

import pytest
from rclrt_analysis.contract.mixed import CHAIN, LOGGER, VISION, judge
from rclrt_analysis.contract.strangers import Strangers

MS = 1_000_000
BEGIN = 5_000 * MS


def report(ends: list[int | None], measured_ms: int) -> dict[str, object]:
    """Return a run in which instance i, released at 60 i ms, took so long; None: it never ended."""
    first, second, third = [], [], []
    for i, took in enumerate(ends):
        release = BEGIN + 60 * i * MS
        first.append([release, release, release + MS, 0, -1, i])
        second.append([release, release, release + MS, 0, i, i])
        if took is not None:
            third.append([release, release, release + took * MS, 0, i, i])
    jobs = {**dict(zip(CHAIN, (first, second, third), strict=True)), VISION: [], LOGGER: []}
    return {
        "measured_from_ns": BEGIN,
        "measured_to_ns": BEGIN + measured_ms * MS,
        "callbacks": [{"name": name, "jobs": mine} for name, mine in jobs.items()],
    }


@pytest.mark.parametrize(
    ("ends", "released", "misses"),
    [
        ([20] * 10, 10, 0),
        # Ten periods were measured, and the last instance had no time left.
        ([20] * 10 + [None], 10, 0),
        ([20] * 4 + [None] + [20] * 5, 10, 1),
        ([20] * 4 + [61] + [20] * 5, 10, 1),
        # The timer itself hardly ran.
        ([20] * 2, 8, 6),
    ],
)
def test_an_instance_that_had_its_time_and_did_not_come_is_a_miss(
    ends: list[int | None], released: int, misses: int
) -> None:
    way = judge("x", report(ends, 600))  # type: ignore[arg-type]
    assert (way.released, way.misses) == (released, misses)
    assert way.worst_ms == max(end for end in ends if end)


def test_misses_beside_other_programs_in_real_time_are_explained_one_by_one() -> None:
    for spans, explained in (
        ([], 0),
        ([(100, 200, 29)], 0),  # Of 30 that it was late.
        ([(100, 200, 30)], 1),
        ([(400, 900, 300)], 0),  # Later on.
        ([(100, 150, 60)], 1),
        ([(100, 250, 60)], 2),  # The third never ended: it lacks 60.
    ):
        strangers = Strangers([0])
        strangers.spans = [(BEGIN + a * MS, BEGIN + b * MS, ran * MS) for a, b, ran in spans]
        way = judge("x", report([20, 90, None, 20], 300), strangers)  # type: ignore[arg-type]
        assert (way.misses, way.explained) == (2, explained), spans
