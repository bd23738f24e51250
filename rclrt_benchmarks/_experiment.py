# Copyright 2026 The rclrt Authors
# SPDX-License-Identifier: Apache-2.0
"""What experiments share: types of arguments, and percentiles that are samples."""

from __future__ import annotations

import argparse
import math
import os
from collections.abc import Sequence
from pathlib import Path


def positive(text: str) -> int:
    """Return the whole number above 0 that `text` is; a type of an argument."""
    value = int(text)
    if value <= 0:
        raise argparse.ArgumentTypeError(f"{value} is not positive")
    return value


def writable_file(text: str) -> Path:
    """Return the path `text` if a file can be written there; a type of an argument."""
    path = Path(text)
    if path.is_dir() or not path.parent.is_dir():
        raise argparse.ArgumentTypeError(f"{text} is a folder or in a folder that does not exist")
    if not os.access(path if path.exists() else path.parent, os.W_OK):
        raise argparse.ArgumentTypeError(f"{text} may not be written")
    return path


def samples_needed(fraction: float) -> int:
    """Return how many samples the percentile at `fraction` needs: 100 for 0.99.

    With fewer, the value above which 1 % should lie is simply the maximum.
    """
    return math.ceil(round(1.0 / (1.0 - fraction), 6))


def percentile(samples: Sequence[float], fraction: float) -> float | None:
    """Return the smallest sample that at least `fraction` of all do not exceed.

    Parameters
    ----------
    samples
        Shape (n,), sorted, any unit.
    fraction
        In (0, 1), e.g. 0.99.

    Returns
    -------
    float or None
        A value that was measured, not interpolated; None with fewer samples than `samples_needed`.
    """
    if len(samples) < samples_needed(fraction):
        return None
    rank = math.ceil(round(fraction * len(samples), 6))
    return samples[rank - 1]
