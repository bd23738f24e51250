# Copyright 2026 The rclrt Authors
# SPDX-License-Identifier: Apache-2.0
from collections import Counter

import pytest
from rclrt_tools.reference.executors import Row
from rclrt_tools.reference.schedule import MIN_SLICE_S, make_schedule

NAMES = [Row(name) for name in "abc"]


def test_each_round_begins_with_another_executor() -> None:
    schedule = make_schedule(NAMES, 60.0, 1.0)
    order = "".join(part.row.executor for part in schedule)
    assert order.startswith("abcbcacab")


@pytest.mark.parametrize("available_s", [0.0, 1.0, 10.0, 37.0, 60.0, 600.0])
def test_all_executors_get_the_same_time(available_s: float) -> None:
    schedule = make_schedule(NAMES, available_s, 1.5)
    assert len({part.seconds for part in schedule}) == 1
    assert len(set(Counter(part.row.executor for part in schedule).values())) == 1


@pytest.mark.parametrize("available_s", [20.0, 60.0, 120.0, 600.0])
def test_slices_with_their_overhead_fill_the_time(available_s: float) -> None:
    schedule = make_schedule(NAMES, available_s, 1.5)
    assert sum(part.seconds + 1.5 for part in schedule) == pytest.approx(available_s)


def test_more_rounds_never_cost_the_samples_that_a_percentile_needs() -> None:
    # Each start costs 4 s: 3 rounds would leave 6 s of measuring for each executor.
    schedule = make_schedule(NAMES, 3 * (11.0 + 4.0), 4.0)
    assert [part.seconds for part in schedule] == [11.0] * 3
    assert len(make_schedule(NAMES, 3 * (12.0 + 3 * 1.0), 1.0)) == 3 * 3


def test_a_slice_is_never_shorter_than_the_minimum_even_without_time() -> None:
    assert {part.seconds for part in make_schedule(NAMES, -5.0, 2.0)} == {MIN_SLICE_S}
    assert len(make_schedule(NAMES, -5.0, 2.0)) == len(NAMES)
