# Copyright 2026 The rclrt Authors
# SPDX-License-Identifier: Apache-2.0
"""What took a CPU from jobs that were there: time that no job of the records accounts for.

From the moment at which a CPU has jobs until it has none, it runs these jobs, or something else:
threads of the middleware and of timers, interrupts, the host of a virtual machine, other programs.
The records say how long each job ran. What is left was taken, whoever took it.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence

import numpy as np

from rclrt_tools.observe.parts import Ints, Part
from rclrt_tools.trace import Records, layout

SHORTEST_NS = 10_000_000
MOST_SHARE = 0.1
"""The share of a window that may be taken. What takes more at one blow gets a longer window."""
NEXT_TIME = 1.5
"""Another run may take more: the most of it is assumed to be so many times what was seen."""

OURS = (layout.MODEL_EVENTS, layout.MODEL_POOL, layout.MODEL_ISOLATED)
BY_PRIORITY = {layout.POLICY_FIFO, layout.POLICY_RR}
NEEDED = np.dtype([(name, np.int64) for name in ("release_ns", "end_ns", "cpu_ns")])
"""The fields of a record that are copied: whole records take five times the memory."""


def taken_of(parts: Sequence[Part], least: int) -> tuple[int, int] | None:
    """Return how much was taken from a CPU at most, and in what window, ns.

    None where records do not say: jobs that may move between CPUs, or that do not go by priority.
    None as well if it is so much in all windows that a callback must have slept, or another program
    runs all the time.

    Parameters
    ----------
    least
        What each job costs besides, at least.
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
    if header.model != layout.MODEL_EVENTS:
        return header.ordering != layout.ORDER_EDF
    several = {int(one) for jobs in part.ran.values() for one in np.unique(jobs["priority"])}
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
