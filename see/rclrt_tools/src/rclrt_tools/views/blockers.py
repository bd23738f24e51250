# Copyright 2026 The rclrt Authors
# SPDX-License-Identifier: Apache-2.0
"""Which job a job has waited for.

A record says that its group was busy, or that no thread slept, when the job became ready. Who it
was is seen in the other records: of the jobs that ran at that time (for a group: of that group's),
the one that ended first let it in.
"""

from collections.abc import Sequence

import numpy as np
import numpy.typing as npt
from rclrt_tools.trace import Records, layout
from rclrt_tools.views.timeline import Ints, Source

LOOSE_NS = 50_000
"""A job takes its thread and its group a moment before its start is noted, and keeps them a moment
after its end. That long, at most, if no other explains it."""

MOST_THREADS = 1000
"""Threads of one executor, at most. With more nothing is said: it is no trace of ours."""

MOST_KEPT = 1 << 16
NEVER = np.iinfo(np.int64).max


class Blockers:
    """Give it batches of a timeline one after the other."""

    def __init__(self, sources: Sequence[Source]) -> None:
        self._sources = sources
        self._ids: list[Ints] = []
        self._groups: list[Ints] = []
        self._kept = [layout.blank(0) for _ in sources]

    def _begin(self) -> None:
        """Not before the first batch: callbacks without an entry get one when they are read."""
        self._ids = [np.array(sorted(s.callbacks), dtype=np.int64) for s in self._sources]
        self._groups = [
            np.array([source.callbacks[int(i)].group for i in ids], dtype=np.int64)
            for source, ids in zip(self._sources, self._ids, strict=True)
        ]

    def find(self, records: Records, source: Ints) -> tuple[Ints, npt.NDArray[np.uint64]]:
        """Return, for each record, callback and sequence of the job it waited for; else -1 and 0.

        The callback is an id of the same source.
        """
        if not self._ids:
            self._begin()
        callback = np.full(len(records), -1, dtype=np.int64)
        sequence = np.zeros(len(records), dtype=np.uint64)
        ran = records["outcome"] <= layout.EXCEPTION
        waits = ran & np.isin(
            records["waited_for"], (layout.WAITED_FOR_GROUP, layout.WAITED_FOR_THREAD)
        )
        for number in np.unique(source).tolist():
            mine = source == number
            jobs = np.concatenate((self._kept[number], records[mine & ran]))
            asking = np.flatnonzero(mine & waits)
            found = who_blocked(
                jobs,
                self._group(number, jobs["callback"]),
                records[asking],
                self._group(number, records["callback"][asking]),
            )
            there = found >= 0
            callback[asking[there]] = jobs["callback"][found[there]]
            sequence[asking[there]] = jobs["sequence"][found[there]]
            newest = int(records["ready_ns"][mine].max())
            self._kept[number] = jobs[jobs["end_ns"] > newest - LOOSE_NS][-MOST_KEPT:]
        return callback, sequence

    def _group(self, number: int, callback: npt.NDArray[np.uint32]) -> Ints:
        return self._groups[number][np.searchsorted(self._ids[number], callback)]


def who_blocked(jobs: Records, group: Ints, asking: Records, wanted: Ints) -> Ints:
    """Return the place in `jobs` of the job that each of `asking` has waited for, or -1.

    All are of one executor; `group` and `wanted` are the groups of their callbacks.
    """
    found = np.full(len(asking), -1, dtype=np.int64)
    threads = np.unique(jobs["thread"]).tolist() if len(asking) else []
    for loose in (0, LOOSE_NS) if len(threads) <= MOST_THREADS else ():
        open_ = np.flatnonzero(found < 0)
        found[open_] = _search(jobs, group, asking[open_], wanted[open_], threads, loose)
    return found


def _search(
    jobs: Records, group: Ints, asking: Records, wanted: Ints, threads: list[int], loose: int
) -> Ints:
    best = np.full(len(asking), -1, dtype=np.int64)
    end = np.full(len(asking), NEVER, dtype=np.int64)
    any_group = asking["waited_for"] == layout.WAITED_FOR_THREAD
    for thread in threads if len(asking) else ():
        mine = np.flatnonzero(jobs["thread"] == thread)
        mine = mine[np.argsort(jobs["start_ns"][mine], kind="stable")]
        last = np.searchsorted(jobs["start_ns"][mine], asking["ready_ns"] + loose, "right") - 1
        there = mine[np.maximum(last, 0)]
        itself = (jobs["sequence"][there] == asking["sequence"]) & (
            jobs["callback"][there] == asking["callback"]
        )
        last -= itself
        there = mine[np.maximum(last, 0)]
        fits = (last >= 0) & (jobs["end_ns"][there] > asking["ready_ns"] - loose)
        fits &= (any_group | (group[there] == wanted)) & (jobs["end_ns"][there] < end)
        best[fits] = there[fits]
        end[fits] = jobs["end_ns"][there[fits]]
    return best
