# Copyright 2026 The rclrt Authors
# SPDX-License-Identifier: Apache-2.0
"""Whether two runs differ, callback by callback.

Jobs that follow each other are alike: one long job makes many wait. So jobs are taken in blocks of
neighbours, as many in a block in both runs, and of each block its median and its worst. These are
compared by ranks (Mann and Whitney, with ties, as a normal distribution). A difference that is none
is shown in 5 % of cases at most, for all rows together (Holm), if jobs of different blocks have
little in common. Rows with fewer than `FEWEST` blocks in either run say so instead.
"""

from __future__ import annotations

import math
from collections.abc import Sequence
from dataclasses import dataclass, replace
from typing import Any

import numpy as np
import numpy.typing as npt

from rclrt_tools.trace import Records, layout
from rclrt_tools.views.summary import ms, split
from rclrt_tools.views.timeline import Numbers, Timeline

FEWEST = 8
MOST = 16
"""A run is cut into this number of blocks, up to twice as many; more jobs make longer blocks."""

GRAIN = 1 << 12
"""Values of which a median is taken, at most: that of a longer block is the mean of several."""

LEVEL = 0.05
RESAMPLES = 1000
Floats = npt.NDArray[np.float64]


class Blocks:
    """Medians and maxima of blocks of consecutive values."""

    def __init__(self) -> None:
        self.size = 1
        self.count = 0
        self.medians: Floats = np.zeros(0)
        self.worst: Floats = np.zeros(0)
        self._rest: Floats = np.zeros(0)
        self._begun = (np.zeros(0), np.zeros(0))  # medians and maxima of a block not yet whole

    def add(self, values: Floats) -> None:
        """Take these as what comes next."""
        self.count += len(values)
        values = np.concatenate((self._rest, values))
        while len(values) >= min(self.size, GRAIN):
            # As many as fit, so that memory stays small.
            grain = min(self.size, GRAIN)
            each = self.size // grain
            room = (2 * MOST - len(self.medians)) * each - len(self._begun[0])
            whole = min(room, len(values) // grain) * grain
            grains = values[:whole].reshape(-1, grain)
            medians = np.append(self._begun[0], np.median(grains, axis=1))
            worst = np.append(self._begun[1], grains.max(axis=1))
            full = len(medians) // each * each
            self.medians = np.append(self.medians, medians[:full].reshape(-1, each).mean(axis=1))
            self.worst = np.append(self.worst, worst[:full].reshape(-1, each).max(axis=1))
            self._begun = (medians[full:], worst[full:])
            values = values[whole:]
            if len(self.medians) >= 2 * MOST:
                self.coarsen()
        self._rest = values.copy()  # not all of what it is a part of

    def coarsen(self) -> None:
        """Make one block of each two."""
        even = len(self.medians) // 2 * 2
        self.medians = self.medians[:even].reshape(-1, 2).mean(axis=1)
        self.worst = self.worst[:even].reshape(-1, 2).max(axis=1)
        self.size *= 2


@dataclass(frozen=True)
class Difference:
    """One row: a time of one callback in both runs, ns.

    Attributes
    ----------
    what
        "median" or "worst" of a block.
    n, blocks
        Jobs and blocks of both runs.
    low, high
        An interval that has the difference of the means in 95 % of resamples of the blocks.
    p
        How likely so different ranks are if both runs are alike; None with too few blocks.
    """

    name: str
    time: str
    what: str
    n: tuple[int, int]
    blocks: tuple[int, int]
    values: tuple[float, float]
    low: float = 0.0
    high: float = 0.0
    p: float | None = None
    shown: bool = False


def rank_test(first: Floats, second: Floats) -> float:
    """Return how likely ranks are at least so different if both come from one distribution."""
    n, m = len(first), len(second)
    both = np.concatenate((first, second))
    _, inverse, counts = np.unique(both, return_inverse=True, return_counts=True)
    ranks = (np.cumsum(counts) - (counts - 1) / 2)[inverse]
    u = ranks[:n].sum() - n * (n + 1) / 2
    ties = float((counts.astype(np.float64) ** 3 - counts).sum())
    variance = n * m / 12 * (n + m + 1 - ties / ((n + m) * (n + m - 1)))
    if variance <= 0:
        return 1.0
    z = max(0.0, abs(u - n * m / 2) - 0.5) / math.sqrt(variance)
    return math.erfc(z / math.sqrt(2))


def _interval(first: Floats, second: Floats) -> tuple[float, float]:
    dice = np.random.default_rng(1)
    means = [
        one[dice.integers(0, len(one), (RESAMPLES, len(one)))].mean(axis=1)
        for one in (first, second)
    ]
    low, high = np.percentile(means[1] - means[0], (2.5, 97.5)).tolist()
    return low, high


Series = dict[tuple[str, str], Blocks]


def series_of(timeline: Timeline) -> Series:
    """Return the times of each callback, by its name and what time it is."""
    found: Series = {}
    numbers: Numbers | None = None
    for batch in timeline.batches():
        numbers = numbers or Numbers(timeline.sources)
        ran = batch.records["outcome"] <= layout.EXCEPTION
        records = batch.records[ran]
        index = numbers.index(batch.source[ran], records["callback"])
        for number, jobs in split(index, records):
            source, id_ = numbers.callbacks[number]
            name = timeline.sources[source].callbacks[id_].name
            for time, values in _times(jobs).items():
                found.setdefault((name, time), Blocks()).add(values.astype(np.float64))
    return found


def _times(jobs: Records) -> dict[str, Any]:
    return {
        "response": jobs["end_ns"] - jobs["release_ns"],
        "execution": jobs["cpu_ns"][jobs["cpu_ns"] >= 0],
        "waiting": jobs["start_ns"] - jobs["ready_ns"],
    }


def compare(first: Series, second: Series) -> list[Difference]:
    """Return a row for every time that both runs have, those that differ first."""
    rows = []
    for key in first.keys() & second.keys():
        a, b = first[key], second[key]
        while a.size != b.size:
            (a if a.size < b.size else b).coarsen()
        for what, one, other in (("median", a.medians, b.medians), ("worst", a.worst, b.worst)):
            if not len(one) or not len(other):
                continue
            row = Difference(
                *key, what, (a.count, b.count), (len(one), len(other)),
                (float(one.mean()), float(other.mean())),
            )  # fmt: skip
            if min(len(one), len(other)) >= FEWEST:
                low, high = _interval(one, other)
                row = replace(row, low=low, high=high, p=rank_test(one, other))
            rows.append(row)
    return _holm(rows)


def _holm(rows: Sequence[Difference]) -> list[Difference]:
    tested = sorted((row for row in rows if row.p is not None), key=lambda row: row.p or 0.0)
    found = []
    holds = True
    for i, row in enumerate(tested):
        holds = holds and (row.p or 0.0) <= LEVEL / (len(tested) - i)
        found.append(replace(row, shown=holds))
    found.sort(key=lambda row: (not row.shown, -abs(row.values[1] - row.values[0]), row.name))
    return found + sorted(
        (row for row in rows if row.p is None), key=lambda row: (row.name, row.time)
    )


def to_text(rows: Sequence[Difference], first: Series, second: Series) -> str:
    """Return the rows for a terminal, and a sentence."""
    different = sum(row.shown for row in rows)
    tested = sum(row.p is not None for row in rows)
    width = min(36, max([len(row.name) for row in rows] + [8]))
    lines = [
        f"{'callback':{width}} {'time':9} {'of blocks':9} {'first, ms':>11} {'second, ms':>11} "
        f"{'difference, ms, in 95 %':>27} {'jobs':>17} {'blocks':>8} {'p':>8}"
    ]
    for row in rows:
        name = row.name if len(row.name) <= width else "..." + row.name[3 - width :]
        clean = "".join(c if c.isprintable() else "?" for c in name)
        between = "-" if row.p is None else f"{ms(round(row.low))} to {ms(round(row.high))}"
        n, blocks = (f"{one}, {other}" for one, other in (row.n, row.blocks))
        p = "too few" if row.p is None else f"{row.p:.2g}"
        mark = ""
        if row.shown:
            mark = "  <- longer" if row.values[1] > row.values[0] else "  <- shorter"
        lines.append(
            f"{clean:{width}} {row.time:9} {row.what:9} {ms(round(row.values[0])):>11} "
            f"{ms(round(row.values[1])):>11} {between:>27} {n:>17} {blocks:>8} {p:>8}{mark}"
        )
    for label, mine, others in (("first", first, second), ("second", second, first)):
        names = sorted({name for name, _ in mine} - {name for name, _ in others})
        if names:
            lines.append(f"only in the {label}: " + ", ".join(ascii(name) for name in names[:20]))
    lines.append(
        f"{different} of {tested} times differ (rank test of blocks of consecutive jobs, "
        f"{LEVEL:.0%} for all together); {len(rows) - tested} have too few jobs"
    )
    return "\n".join(lines)
