# Copyright 2026 The rclrt Authors
# SPDX-License-Identifier: Apache-2.0
"""What the callbacks of one executor did: of late, and since counting began."""

from collections import deque
from collections.abc import Mapping

import numpy as np
import numpy.typing as npt
from rclrt_tools.statistics import samples_needed
from rclrt_tools.trace import NO_DEADLINE, RECORD, Entry, Records, layout
from rclrt_tools.trace.layout import is_sane
from rclrt_tools.views.blockers import who_blocked

Ints = npt.NDArray[np.int64]
Floats = npt.NDArray[np.float64]

TIMES = ("response", "execution", "waiting")
WAITS = (layout.WAITED_FOR_GROUP, layout.WAITED_FOR_THREAD)
RECENT = np.dtype(
    [(name, "f8") for name in ("jobs", "rate", "cpu", "backlog", "latest", "group", "thread")]
    + [(f"{time}_{what}", "f8") for time in TIMES for what in ("n", "p50", "max")]
    + [("blocker", "f8"), ("blocked_for", "f8")]
)
"""Times in ns, shares of 1, NaN for what is unknown. `docs/how-to/top.md` says what they are.
`blocker` is a row: the callback that the job which waited longest has waited for; `blocked_for`
says why, as in records."""

TOTALS = np.dtype([(name, "i8") for name in ("late", "dropped", "skipped", "exceptions")])
MOST_KEPT = 1 << 18
"""Records of one executor in memory."""


class Activity:
    """Records come in; numbers for each callback come out, in the order of `entries`.

    begin_ns: All records of jobs that have ended since are here.
    totals, latest, newest: For each callback: counts, its largest lateness (NaN: no deadline), and
        its newest record; `end_ns` of that is 0 while there is none.
    first_ns: The earliest release; `NO_DEADLINE` while there is no record.
    strange: Records that cannot be true, or of callbacks that do not exist.
    """

    def __init__(self, window_ns: int, begin_ns: int) -> None:
        self.window_ns = window_ns
        self.begin_ns = begin_ns
        self.entries: list[Entry] = []
        self.totals = np.zeros(0, TOTALS)
        self.latest: Floats = np.zeros(0)
        self.newest = np.zeros(0, RECORD)
        self.first_ns = NO_DEADLINE
        self.strange = 0
        self._ids: Ints = np.zeros(0, np.int64)
        self._row_of_id: Ints = np.zeros(0, np.int64)
        self._kept: deque[tuple[Records, Ints]] = deque()
        self._count = 0

    def learn(self, callbacks: Mapping[int, Entry]) -> None:
        """Take over the callbacks that are new; none ever goes."""
        known = len(self.entries)
        if len(callbacks) == known:
            return
        self.entries = list(callbacks.values())
        ids = np.fromiter(callbacks, np.int64, len(callbacks))
        self._row_of_id = np.argsort(ids)
        self._ids = ids[self._row_of_id]
        more = len(ids) - known
        self.totals = np.concatenate((self.totals, np.zeros(more, TOTALS)))
        self.latest = np.concatenate((self.latest, np.full(more, np.nan)))
        self.newest = np.concatenate((self.newest, np.zeros(more, RECORD)))

    def add(self, records: Records, now_ns: int) -> None:
        """Count records that are new at `now_ns`."""
        if not len(records):
            return
        place = np.searchsorted(self._ids, records["callback"])
        place = np.minimum(place, max(0, len(self._ids) - 1))
        good = is_sane(records) & (records["end_ns"] <= now_ns)
        good &= (self._ids[place] == records["callback"]) if len(self._ids) else False
        self.strange += int((~good).sum())
        self.first_ns = min(
            self.first_ns, int(records["release_ns"][good].min(initial=NO_DEADLINE))
        )
        good &= records["outcome"] < layout.PUBLISHED
        records, rows = records[good], self._row_of_id[place[good]]
        order = np.argsort(records["end_ns"], kind="stable")
        records, rows = records[order], rows[order]
        ran = records["outcome"] <= layout.EXCEPTION
        self.newest[rows[ran]] = records[ran]  # The last one of several stays.
        counts = records["end_ns"] > self.begin_ns
        self._total(records[counts], rows[counts])
        ran &= counts
        if ran.any():
            self._kept.append((records[ran], rows[ran]))
            self._count += int(ran.sum())
        self._forget(now_ns - self.window_ns)

    def _total(self, records: Records, rows: Ints) -> None:
        outcome = records["outcome"]
        dated = (outcome <= layout.EXCEPTION) & _dated(records)
        lateness = records["end_ns"][dated] - records["deadline_ns"][dated]
        np.fmax.at(self.latest, rows[dated], lateness.astype(np.float64))
        self._count_up("late", rows[dated][lateness > 0])
        self._count_up("exceptions", rows[outcome == layout.EXCEPTION])
        for name, given_up in (("dropped", layout.DROPPED), ("skipped", layout.SKIPPED)):
            self._count_up(name, rows[outcome == given_up], records["jobs"][outcome == given_up])

    def _count_up(self, name: str, rows: Ints, jobs: Ints | None = None) -> None:
        self.totals[name] += np.bincount(rows, jobs, len(self.totals)).astype(np.int64)

    def _forget(self, before_ns: int) -> None:
        while self._kept:
            records = self._kept[0][0]
            newest = int(records["end_ns"].max(initial=0))
            if newest > before_ns:
                if self._count <= MOST_KEPT:
                    return
                self.begin_ns = max(self.begin_ns, newest)
            self._count -= len(records)
            self._kept.popleft()

    def recount(self, now_ns: int) -> None:
        """Begin anew."""
        self.begin_ns = now_ns
        self.totals[:] = 0
        self.latest[:] = np.nan
        self.strange = 0

    def _window(self, now_ns: int) -> tuple[Records, Ints, float]:
        begin = max(self.begin_ns, now_ns - self.window_ns)
        if not self._kept:
            return np.zeros(0, RECORD), np.zeros(0, np.int64), 1.0
        records = np.concatenate([part for part, _ in self._kept])
        rows = np.concatenate([part for _, part in self._kept])
        chosen = (records["end_ns"] > begin) & (records["end_ns"] <= now_ns)
        return records[chosen], rows[chosen], max(1.0, float(now_ns - begin))

    def recent(self, now_ns: int) -> tuple[npt.NDArray[np.void], dict[int, float]]:
        """Return what each callback did in the window, and jobs a second of each thread."""
        records, rows, span = self._window(now_ns)
        found = np.full(len(self.entries), np.nan, RECENT)
        size = len(found)
        jobs = np.bincount(rows, minlength=size)
        found["jobs"], found["rate"] = jobs, jobs / span * 1e9
        end, cpu, dated = records["end_ns"], records["cpu_ns"], _dated(records)
        measured = cpu >= 0
        for name, chosen, values in (
            ("response", measured | True, end - records["release_ns"]),
            ("execution", measured, cpu),
            ("waiting", measured | True, records["start_ns"] - records["ready_ns"]),
        ):
            distribution = _distribution(rows[chosen], values[chosen], size)
            for what, numbers in zip(("n", "p50", "max"), distribution, strict=True):
                found[f"{name}_{what}"] = numbers
        with np.errstate(invalid="ignore", divide="ignore"):
            # Jobs of which the CPU time is not known count as the others do.
            known = np.bincount(rows[measured], cpu[measured], size) / found["execution_n"]
            found["cpu"] = np.where(jobs > 0, known * jobs / span, 0)
            for name, reason in (("group", 1), ("thread", 2)):
                waited = np.bincount(rows[records["waited_for"] == reason], minlength=size)
                found[name] = waited / jobs
        lateness = end[dated] - records["deadline_ns"][dated]
        found["latest"] = _distribution(rows[dated], lateness, size)[2]
        found["backlog"] = _backlog(rows, records["ready_ns"], end, size)
        self._find_blockers(found, records, rows)
        threads, counts = np.unique(records["thread"], return_counts=True)
        return found, dict(zip(threads.tolist(), (counts / span * 1e9).tolist(), strict=True))

    def _find_blockers(self, found: npt.NDArray[np.void], records: Records, rows: Ints) -> None:
        waiting = records["start_ns"] - records["ready_ns"]
        order = np.lexsort((waiting, rows))
        last = np.flatnonzero(np.diff(rows[order], append=-1))
        longest = order[last]  # The job of each row that waited longest.
        longest = longest[np.isin(records["waited_for"][longest], WAITS)]
        if not len(longest):
            return
        group = np.fromiter((entry.group for entry in self.entries), np.int64, len(self.entries))
        by = who_blocked(records, group[rows], records[longest], group[rows[longest]])
        there = by >= 0
        found["blocker"][rows[longest[there]]] = rows[by[there]]
        found["blocked_for"][rows[longest]] = records["waited_for"][longest]


def _dated(records: Records) -> npt.NDArray[np.bool_]:
    due = records["deadline_ns"]
    dated: npt.NDArray[np.bool_] = (due != NO_DEADLINE) & (np.abs(due // 2) < 2**60)
    return dated


def _distribution(rows: Ints, values: Ints, size: int) -> tuple[Floats, Floats, Floats]:
    """Return for each row how many values, their median and the largest; medians are values."""
    counts = np.bincount(rows, minlength=size)
    ordered = values[np.lexsort((values, rows))].astype(np.float64)
    begin = np.cumsum(counts) - counts
    median, largest = np.full(size, np.nan), np.full(size, np.nan)
    some, enough = counts > 0, counts >= samples_needed(0.5)
    largest[some] = ordered[(begin + counts - 1)[some]]
    median[enough] = ordered[(begin + (counts + 1) // 2 - 1)[enough]]
    return counts.astype(np.float64), median, largest


def _backlog(rows: Ints, ready: Ints, end: Ints, size: int) -> Floats:
    """Return how many unfinished jobs of its row a job has found at most."""
    found = np.full(size, np.nan)
    if not len(rows):
        return found
    step = np.repeat(np.array([1, -1]), len(rows))
    order = np.lexsort((step, np.concatenate((ready, end)), np.tile(rows, 2)))
    # A row's steps add up to 0, so that each begins with 0.
    there = np.cumsum(step[order])
    counts = np.bincount(rows, minlength=size)
    begins, some = 2 * (np.cumsum(counts) - counts), counts > 0
    found[some] = np.maximum(np.maximum.reduceat(there, begins[some]) - 1, 0)
    return found
