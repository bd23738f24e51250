# Copyright 2026 The rclrt Authors
# SPDX-License-Identifier: Apache-2.0
"""Numbers from records: how jobs arrive, what starting one costs, what took a CPU from them.

From the moment at which a CPU has jobs until it has none, it runs these jobs, or something else:
threads of the middleware and of timers, interrupts, the host of a virtual machine, other programs.
The records say how long each job ran. What is left was taken, whoever took it.
"""

from collections.abc import Callable, Iterator, Sequence

import numpy as np

from rclrt_tools.observe.parts import Ints, Key, Part, times_of
from rclrt_tools.trace import Records, layout

NEARLY = 1.1
"""Arrivals whose mean gap is no more than so many times the least are taken as sporadic."""
BURST = 0.1
"""What all came within this share of a trace is a burst, no source that goes on."""


def grid(release: Ints) -> int:
    """Return the period of a grid that all releases lie on exactly, or 0.

    The grid of a timer is exact. A gap is a skipped timestamp, or a record that is missing.
    """
    apart = np.diff(release)
    least = int(apart.min()) if len(apart) else 0
    return least if least > 0 and np.all(apart % least == 0) else 0


def arrivals(release: Ints, span: int) -> tuple[int, int]:
    """Return the least gap, or a period and a jitter that all arrivals fit into.

    release: Sorted, not empty.
    span: Of the whole trace: what came once, or in one burst, came once in this time.
    """
    apart = int(release[-1] - release[0])
    if apart < BURST * span or len(release) == 1:
        period = max(1, span // len(release))
    else:
        least = int(np.diff(release).min())
        period = max(1, apart // (len(release) - 1))
        if period <= least * NEARLY:
            return max(1, least), 0
    ahead = np.arange(len(release), dtype=np.int64) * period - release
    return period, int((ahead - np.minimum.accumulate(ahead)).max())


class Busy:
    """When jobs of some executors were under way: any, or so many at once."""

    def __init__(self, parts: Sequence[Part], many: int = 1) -> None:
        every = [mine for part in parts for mine in part.ran.values()]
        # At the same instant ends come first: what begins then is another stretch.
        time = np.concatenate([times_of(every, which) for which in ("end_ns", "start_ns")])
        order = np.argsort(time, kind="stable")
        ends = order < len(order) // 2
        busy = np.cumsum(np.where(ends, np.int8(-1), np.int8(1)), dtype=np.int32) >= many
        changes = np.flatnonzero(np.diff(busy, prepend=False))
        # Before all of them: no job.
        self._time = np.append(np.iinfo(np.int64).min // 2, time[order[changes]])
        self._busy = np.append(False, busy[changes])
        self._before = np.append(0, np.cumsum(np.diff(self._time) * self._busy[:-1]))

    def until(self, time: Ints) -> Ints:
        """Return for how long that was so before each of these instants, ns."""
        step = np.searchsorted(self._time, time, side="right") - 1
        inside = (time - self._time[step]) * self._busy[step]
        found: Ints = self._before[step] + inside
        return found

    def over_between(self, begin: Ints, end: Ints) -> Ints:
        """Return for how long that was so between instants, in stretches that were over then."""
        step = np.searchsorted(self._time, end, side="right") - 1
        return np.maximum(self._before[step] - self.until(begin), 0)


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


SHORTEST_NS = 10_000_000
MOST_SHARE = 0.1
"""The share of a window that may be taken. What takes more at one blow gets a longer window."""
NEXT_TIME = 1.5
"""Another run may take more: the most of it is assumed to be so many times what was seen."""

OURS = (layout.MODEL_PRIORITY_EVENTS, layout.MODEL_PREEMPTIVE, layout.MODEL_ISOLATED)
BY_PRIORITY = set(layout.WITH_PRIORITY)
NEEDED = np.dtype([(name, np.int64) for name in ("release_ns", "end_ns", "cpu_ns")])
"""The fields of a record that are copied: whole records take five times the memory."""


def taken_of(parts: Sequence[Part], least: int) -> tuple[int, int] | None:
    """Return how much was taken from a CPU at most, and in what window, ns.

    None where records do not say: jobs that may move between CPUs, or that do not go by priority.
    None as well if it is so much in all windows that a callback must have slept, or another program
    runs all the time.

    least: What each job costs besides, at least.
    """
    by_cpu: dict[tuple[bytes, int], list[Records]] = {}
    for part in parts:
        if part.ran and part.header.model not in OURS:
            return None
        if part.ran and not _is_bounded(part):
            return None
        for jobs in part.ran.values():
            masks = np.unique(jobs["cpus"]).tolist()
            if len(masks) > 1 or masks[0].bit_count() != 1 or masks[0] & layout.MORE_CPUS:
                return None
            if not set(np.unique(jobs["policy"]).tolist()) <= BY_PRIORITY:
                return None
            by_cpu.setdefault((part.clock, masks[0]), []).append(_measured(jobs))
    busy = [_busy(np.concatenate(mine), least) for mine in by_cpu.values()]
    if not busy:
        return None
    for window in _windows(busy):
        most = round(NEXT_TIME * max(_most(*one, window) for one in busy))
        if most <= MOST_SHARE * window:
            return most, window
    return None


def _is_bounded(part: Part) -> bool:
    """Return whether bounds of such an executor count what is taken: not by deadline, nor FIFO."""
    header = part.header
    if header.model != layout.MODEL_PRIORITY_EVENTS:
        return header.ordering != layout.ORDER_EDF
    several = part.values_of("priority")
    return header.ordering != layout.ORDER_EDF and not header.timers_preempt and len(several) > 1


def _measured(jobs: Records) -> Records:
    """Return the jobs of a callback, those that nobody measured with the usual execution time."""
    known = jobs["cpu_ns"] >= 0
    took = jobs["end_ns"] - jobs["start_ns"]
    usual = int(np.median(jobs["cpu_ns"][known])) if known.any() else took
    measured = np.empty(len(jobs), NEEDED)
    measured["release_ns"], measured["end_ns"] = jobs["release_ns"], jobs["end_ns"]
    measured["cpu_ns"] = np.where(known, jobs["cpu_ns"], np.minimum(took, usual))
    return measured


def _windows(busy: Sequence[tuple[Ints, Ints, Ints]]) -> Iterator[int]:
    span = max(int(end[-1] - begin[0]) for begin, end, _ in busy)
    window = SHORTEST_NS
    yield window
    while (window := 2 * window) <= span:
        yield window


def _busy(jobs: Records, least: int) -> tuple[Ints, Ints, Ints]:
    """Return when a CPU had jobs, from when to when, and how much of that was taken, ns."""
    jobs = jobs[np.argsort(jobs["release_ns"], kind="stable")]
    release, end = jobs["release_ns"], np.maximum.accumulate(jobs["end_ns"])
    first = np.flatnonzero(np.append(True, release[1:] > end[:-1]))
    begins = release[first]
    ends = end[np.append(first[1:], len(jobs)) - 1]
    left = ends - begins - np.add.reduceat(jobs["cpu_ns"] + least, first)
    return begins, ends, np.maximum(left, 0)


def _most(begin: Ints, end: Ints, taken: Ints, window: int) -> int:
    """Return the most that a window meets, wherever within a busy time it was taken."""
    total = np.append(0, np.cumsum(taken))
    last = np.searchsorted(begin, end + window, side="left")
    return int((total[last] - total[:-1]).max())
