# Copyright 2026 The rclrt Authors
# SPDX-License-Identifier: Apache-2.0
"""How large a sample may be expected to become: the peaks over a threshold, extrapolated.

A generalized Pareto distribution [Coles01 §4] is fitted to what exceeds the threshold. It rests on
samples that are independent and of one distribution. Response times of one run are neither, for
sure, so a tail is an estimate with an error that nobody knows, never a bound.
"""

from __future__ import annotations

import math
from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np

SHARE = 0.05
"""Of the samples, which lie above the threshold."""

FEWEST = 50
"""Peaks, without which nothing is fitted."""

RESAMPLES = 100
CONFIDENCE = 0.95


@dataclass(frozen=True)
class Tail:
    """A fit to the largest samples.

    Attributes
    ----------
    threshold
        In the unit of the samples, as are `level`, `low` and `high`.
    peaks
        How many lie above it.
    shape
        Above 0: no limit; below 0: it ends at a finite value.
    level
        What is exceeded once in so many samples as were asked for.
    low, high
        95 % of resampled fits have their level between these.
    fits
        The share of fits to samples of the fitted distribution that are no better. Small, below
        0.05 say: the samples are not of such a distribution.
    correlation
        Of each sample with the one before it, from -1 to 1; 0 for independent ones.
    """

    threshold: float
    peaks: int
    shape: float
    level: float
    low: float
    high: float
    fits: float
    correlation: float


def fit_tail(
    samples: Sequence[float], once_in: float, seed: int = 1, resamples: int = RESAMPLES
) -> Tail | None:
    """Fit the largest 5 % and extrapolate.

    Parameters
    ----------
    samples
        Shape (n,), in the order in which they were taken, any unit, all finite.
    once_in
        A number of samples, above 20.
    resamples
        How many fits the interval and `fits` rest on, each.

    Returns
    -------
    Tail or None
        None if fewer than `FEWEST` samples, or equal ones only, lie above the threshold.

    Notes
    -----
    About 3 s of CPU time for 500 peaks.
    """
    values = np.asarray(samples, dtype=float)
    if not np.all(np.isfinite(values)):
        raise ValueError("a sample is not a number")
    if len(values) == 0:
        return None
    threshold = float(np.quantile(values, 1 - SHARE))
    over = values[values > threshold] - threshold
    if len(over) < FEWEST or np.ptp(over) == 0:
        return None
    rate = once_in * len(over) / len(values)
    if rate <= 1:
        raise ValueError(f"once in {once_in:g} samples is below the threshold")
    rng = np.random.default_rng(seed)
    shape, scale = _fit(over)
    levels = [_level(*_fit(rng.choice(over, len(over))), rate) for _ in range(resamples)]
    edge = (1 - CONFIDENCE) / 2
    low, high = np.quantile(levels, [edge, 1 - edge])
    return Tail(
        threshold=threshold,
        peaks=len(over),
        shape=shape,
        level=threshold + _level(shape, scale, rate),
        low=threshold + float(low),
        high=threshold + float(high),
        fits=_share_no_better(over, shape, scale, rng, resamples),
        correlation=_correlation(values),
    )


def _fit(over: np.ndarray) -> tuple[float, float]:
    """Return shape and scale of the most likely distribution."""
    from scipy.stats import genpareto

    shape, _, scale = genpareto.fit(over, floc=0)
    return float(shape), float(scale)


def _level(shape: float, scale: float, rate: float) -> float:
    """Return what is exceeded by one of `rate` peaks."""
    if abs(shape) < 1e-9:
        return scale * math.log(rate)
    return float(scale / shape * (rate**shape - 1))


def _share_no_better(
    over: np.ndarray, shape: float, scale: float, rng: np.random.Generator, resamples: int
) -> float:
    """Return how often samples of the fit itself are as far from theirs (Kolmogorov-Smirnov)."""
    from scipy.stats import genpareto

    mine = _distance(over, shape, scale)
    others = []
    for _ in range(resamples):
        drawn = genpareto.rvs(shape, scale=scale, size=len(over), random_state=rng)
        others.append(_distance(drawn, *_fit(drawn)))
    return float(np.mean(np.asarray(others) >= mine))


def _distance(over: np.ndarray, shape: float, scale: float) -> float:
    from scipy.stats import genpareto, kstest

    return float(kstest(over, genpareto(shape, scale=scale).cdf).statistic)


def _correlation(values: np.ndarray) -> float:
    if np.ptp(values[:-1]) == 0 or np.ptp(values[1:]) == 0:
        return 0.0
    return float(np.corrcoef(values[:-1], values[1:])[0, 1])
