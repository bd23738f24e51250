# Copyright 2026 The rclrt Authors
# SPDX-License-Identifier: Apache-2.0
"""Interleaving: short slices of every row in rotating order.

What disturbs the machine for a while (another program, a hot processor) then disturbs all
rows, not the one whose turn it was.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

from rclrt_tools.reference.executors import Row

MIN_SLICE_S = 1.0
# A slice should last so long that its start does not dominate.
GOOD_SLICE_S = 4.0
# All slices of a row together: 110 samples of a hot path at 10 Hz, enough for p99.
GOOD_TOTAL_S = 11.0
MAX_ROUNDS = 4


@dataclass(frozen=True)
class Slice:
    """One run of one row."""

    row: Row
    seconds: float


def make_schedule(rows: Sequence[Row], available_s: float, overhead_s: float) -> list[Slice]:
    """Divide a time among rows.

    Parameters
    ----------
    rows
        Without repetition.
    available_s
        Time for all slices, s.
    overhead_s
        What a slice takes besides the time it measures, s.

    Returns
    -------
    list of Slice
        As many rounds as leave slices of `GOOD_SLICE_S` and `GOOD_TOTAL_S` for each row, at
        most `MAX_ROUNDS`; each round begins with another one. Slices are never shorter than
        `MIN_SLICE_S`, whatever the time.
    """
    seconds = MIN_SLICE_S
    rounds = 1
    for rounds in range(MAX_ROUNDS, 0, -1):
        seconds = available_s / (rounds * len(rows)) - overhead_s
        if seconds >= GOOD_SLICE_S and seconds * rounds >= GOOD_TOTAL_S:
            break
    seconds = max(seconds, MIN_SLICE_S)
    return [
        Slice(rows[(first + turn) % len(rows)], seconds)
        for first in range(rounds)
        for turn in range(len(rows))
    ]
