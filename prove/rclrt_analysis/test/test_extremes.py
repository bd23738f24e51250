# Copyright 2026 The rclrt Authors
# SPDX-License-Identifier: Apache-2.0
"""Tails of samples whose distribution is known."""

from __future__ import annotations

import math

import numpy as np
import pytest
from rclrt_analysis.extremes import FEWEST, fit_tail


def test_the_level_of_a_known_distribution_lies_between_its_limits() -> None:
    # Exponential: once in n samples ln(n) is exceeded. Nine of ten intervals must hold it.
    rng = np.random.default_rng(7)
    tails = [fit_tail(rng.exponential(size=3000), 1e6, seed, 20) for seed in range(10)]
    held = [tail for tail in tails if tail and tail.low <= math.log(1e6) <= tail.high]
    assert len(held) >= 8
    for tail in tails:
        assert tail is not None
        assert tail.peaks == 150
        assert tail.fits > 0.01
        assert abs(tail.correlation) < 0.1


def test_a_bounded_distribution_is_not_extrapolated_beyond_its_end() -> None:
    tail = fit_tail(np.random.default_rng(1).uniform(0, 10, 4000), 1e9, resamples=20)
    assert tail is not None
    assert tail.shape < -0.5
    assert 9.9 < tail.level < 10.1


def test_a_tail_of_two_parts_is_said_not_to_fit() -> None:
    rng = np.random.default_rng(2)
    rare = rng.normal(50, 0.1, 100)
    tail = fit_tail(
        rng.permutation(np.concatenate([rng.normal(1, 0.1, 4000), rare])), 1e6, resamples=20
    )
    assert tail is not None
    assert tail.fits < 0.05


def test_samples_that_depend_on_the_one_before_are_told() -> None:
    rng = np.random.default_rng(3)
    values = [0.0]
    for noise in rng.normal(size=3000):
        values.append(0.9 * values[-1] + noise)
    tail = fit_tail(values, 1e6, resamples=20)
    assert tail is not None
    assert tail.correlation > 0.8


@pytest.mark.parametrize("samples", [[], [1.0] * 5000, list(range(10 * FEWEST))])
def test_too_few_peaks_give_no_tail(samples: list[float]) -> None:
    assert fit_tail(samples, 1e6) is None


def test_what_is_no_number_is_refused() -> None:
    with pytest.raises(ValueError, match="not a number"):
        fit_tail([1.0, math.nan], 1e6)
    with pytest.raises(ValueError, match="below the threshold"):
        fit_tail(list(range(5000)), 10)
