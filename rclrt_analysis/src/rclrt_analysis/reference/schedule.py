# Copyright 2026 The rclrt Authors
# SPDX-License-Identifier: Apache-2.0
"""Interleaving: short slices of every executor in rotating order.

What disturbs the machine for a while (another program, a hot processor) then disturbs all
executors, not the one whose turn it was.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

MIN_SLICE_S = 1.0
# A slice should last so long that its start does not dominate.
GOOD_SLICE_S = 4.0
# All slices of an executor together: 110 samples of a hot path at 10 Hz, enough for p99.
GOOD_TOTAL_S = 11.0
MAX_ROUNDS = 4


@dataclass(frozen=True)
class Slice:
    """One run of one executor."""

    executor: str
    seconds: float


def make_schedule(executors: Sequence[str], available_s: float, overhead_s: float) -> list[Slice]:
    """Divide a time among executors.

    Parameters
    ----------
    executors
        Names, without repetition.
    available_s
        Time for all slices, s.
    overhead_s
        What a slice takes besides the time it measures, s.

    Returns
    -------
    list of Slice
        As many rounds as leave slices of `GOOD_SLICE_S` and `GOOD_TOTAL_S` for each executor, at
        most `MAX_ROUNDS`; each round begins with another executor. Slices are never shorter than
        `MIN_SLICE_S`, whatever the time.
    """
    seconds = MIN_SLICE_S
    rounds = 1
    for rounds in range(MAX_ROUNDS, 0, -1):
        seconds = available_s / (rounds * len(executors)) - overhead_s
        if seconds >= GOOD_SLICE_S and seconds * rounds >= GOOD_TOTAL_S:
            break
    seconds = max(seconds, MIN_SLICE_S)
    return [
        Slice(executors[(first + turn) % len(executors)], seconds)
        for first in range(rounds)
        for turn in range(len(executors))
    ]
