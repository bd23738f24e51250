# Copyright 2026 The rclrt Authors
# SPDX-License-Identifier: Apache-2.0
"""Numbers from records: how jobs arrive, and what starting one costs."""

from __future__ import annotations

from collections.abc import Callable, Sequence

import numpy as np

from rclrt_tools.observe.parts import Ints, Key, Part, times_of
from rclrt_tools.trace import Records

NEARLY = 1.1
"""Arrivals whose mean gap is no more than so many times the least are taken as sporadic."""


def grid(release: Ints) -> int:
    """Return the period of a grid that all releases lie on exactly, or 0.

    The grid of a timer is exact. A gap is a skipped timestamp, or a record that is missing.
    """
    apart = np.diff(release)
    least = int(apart.min()) if len(apart) else 0
    return least if least > 0 and np.all(apart % least == 0) else 0


def arrivals(release: Ints, span: int) -> tuple[int, int]:
    """Return the least gap, or a period and a jitter that all arrivals fit into.

    Parameters
    ----------
    release
        Sorted, not empty.
    span
        Of the whole trace: what came once came once in this time.
    """
    if len(release) == 1:
        return max(1, span), 0
    least = int(np.diff(release).min())
    mean = int(release[-1] - release[0]) // (len(release) - 1)
    if mean <= least * NEARLY:
        return max(1, least), 0
    period = max(1, mean)
    ahead = np.arange(len(release), dtype=np.int64) * period - release
    return period, int((ahead - np.minimum.accumulate(ahead)).max())


class Busy:
    """When any job of some executors was under way."""

    def __init__(self, parts: Sequence[Part]) -> None:
        every = [mine for part in parts for mine in part.ran.values()]
        start, end = (times_of(every, which) for which in ("start_ns", "end_ns"))
        order = np.argsort(start, kind="stable")
        start, end = start[order], np.maximum.accumulate(end[order])
        begins = np.flatnonzero(np.append(True, start[1:] > end[:-1])[: len(start)])
        self._start = start[begins]
        self._end = end[np.append(begins[1:], len(start)) - 1] if len(start) else end
        self._before = np.append(0, np.cumsum(self._end - self._start))

    def until(self, time: Ints) -> Ints:
        """Return for how long that was so before each of these instants, ns."""
        if not len(self._start):
            return np.zeros(len(time), dtype=np.int64)
        stretch = np.searchsorted(self._start, time, side="right") - 1
        inside = np.minimum(time, self._end[stretch]) - self._start[stretch]
        return np.where(stretch < 0, 0, self._before[stretch] + inside)


def _of_each(parts: Sequence[Part], time_of: Callable[[Busy, Records], Ints]) -> dict[Key, Ints]:
    """Return a time of each job, given when jobs of its machine were under way."""
    found = {}
    by_clock: dict[bytes, list[int]] = {}
    for number, part in enumerate(parts):
        by_clock.setdefault(part.clock, []).append(number)
    for numbers in by_clock.values():
        busy = Busy([parts[number] for number in numbers])
        for number in numbers:
            for id_, records in parts[number].ran.items():
                found[number, id_] = time_of(busy, records)
    return found


def idle_of(parts: Sequence[Part]) -> dict[Key, Ints]:
    """Return for how long each job was ready while no job was under way on its machine, ns."""

    def idle(busy: Busy, records: Records) -> Ints:
        ready = np.maximum(records["ready_ns"], records["release_ns"])
        start = np.maximum(records["start_ns"], ready)
        waited: Ints = (start - ready) - (busy.until(start) - busy.until(ready))
        return waited

    return _of_each(parts, idle)


def late_of(parts: Sequence[Part]) -> dict[Key, Ints]:
    """Return for how long each job was not ready after its release while other jobs ran, ns."""

    def late(busy: Busy, records: Records) -> Ints:
        ready = np.maximum(records["ready_ns"], records["release_ns"])
        waited: Ints = busy.until(ready) - busy.until(records["release_ns"])
        return waited

    return _of_each(parts, late)
