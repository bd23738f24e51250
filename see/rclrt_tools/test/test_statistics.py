# Copyright 2026 The rclrt Authors
# SPDX-License-Identifier: Apache-2.0
import pytest
from rclrt_tools.statistics import percentile, quantiles, samples_needed


@pytest.mark.parametrize(
    ("fraction", "needed"), [(0.5, 2), (0.9, 10), (0.99, 100), (0.999, 1000), (0.75, 4)]
)
def test_percentile_needs_one_sample_above_it(fraction: float, needed: int) -> None:
    assert samples_needed(fraction) == needed
    assert percentile([1.0] * (needed - 1), fraction) is None
    assert percentile([1.0] * needed, fraction) == 1.0


def test_percentile_is_a_sample_that_was_measured() -> None:
    samples = [float(i) for i in range(1, 101)]
    assert percentile(samples, 0.5) == 50.0
    assert percentile(samples, 0.9) == 90.0
    assert percentile(samples, 0.99) == 99.0
    assert percentile([1.0, 5.0], 0.5) == 1.0


def test_percentile_of_nothing_is_none() -> None:
    assert percentile([], 0.5) is None


def test_quantiles_are_samples_from_the_least_to_the_largest() -> None:
    assert quantiles([3.0, 1.0, 2.0]) == [1.0, 2.0, 3.0]
    many = quantiles([float(i) for i in range(1001)], 101)
    assert many == [10.0 * i for i in range(101)]
    assert quantiles([]) == []
