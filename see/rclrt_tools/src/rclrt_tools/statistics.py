# Copyright 2026 The rclrt Authors
# SPDX-License-Identifier: Apache-2.0
"""Percentiles that are samples, and only where there are enough of them."""

import math
from collections.abc import Sequence


def samples_needed(fraction: float) -> int:
    """Return how many samples the percentile at `fraction` needs: 100 for 0.99.

    With fewer, the value above which 1 % should lie is simply the maximum.
    """
    return math.ceil(round(1.0 / (1.0 - fraction), 6))


def percentile(samples: Sequence[float], fraction: float) -> float | None:
    """Return the smallest sample that at least `fraction` of all do not exceed.

    samples: Shape (n,), sorted, any unit.
    fraction: In (0, 1), e.g. 0.99.

    Returns float or None: A value that was measured, not interpolated; None with fewer samples than
        `samples_needed`.
    """
    if len(samples) < samples_needed(fraction):
        return None
    rank = math.ceil(round(fraction * len(samples), 6))
    return samples[rank - 1]


def quantiles(samples: Sequence[float], most: int = 201) -> list[float]:
    """Return sorted samples, all of them or `most` at evenly spread ranks, both ends among them."""
    ordered = sorted(samples)
    if len(ordered) <= most:
        return ordered
    last = len(ordered) - 1
    return [ordered[round(i * last / (most - 1))] for i in range(most)]
