# Copyright 2026 The rclrt Authors
# SPDX-License-Identifier: Apache-2.0
"""The records of a run as a page shows them: a picture of all of it, and jobs in detail."""

from dataclasses import dataclass, field

import numpy as np
import numpy.typing as npt
from rclrt_tools.trace import NO_DEADLINE, Records, TraceError, layout
from rclrt_tools.views.summary import Summary, row_keys
from rclrt_tools.views.timeline import Batch, Ints, Numbers, Timeline

MOST_JOBS = 1 << 20
"""Records in detail, at most."""

MOST_ROWS = 20_000
CELLS = 1 << 21
"""Cells of the picture of the whole: callbacks times columns, about."""

AROUND = 20
"""A longer run keeps so many times the response on both sides of each callback's worst job."""

AROUND_NS = 50_000_000
NUMBER_BITS = 44


@dataclass
class Density:
    """Callbacks times columns: share of the time busy, and whether a job was late."""

    busy: npt.NDArray[np.float64]
    late: npt.NDArray[np.bool_]
    _full: npt.NDArray[np.int32]

    @classmethod
    def of(cls, rows: int) -> "Density":
        """Return one in which nothing has happened."""
        shape = (rows, int(np.clip(CELLS // max(1, rows), 64, 4096)))
        return cls(np.zeros(shape), np.zeros(shape, np.bool_), np.zeros(shape, np.int32))

    def add(
        self, row: Ints, jobs: Records, late: npt.NDArray[np.bool_], begin: int, span: int
    ) -> None:
        """Add jobs to the columns in which they ran."""
        columns = self.busy.shape[1]
        width = span / columns
        start, end = ((jobs[name] - begin) / width for name in ("start_ns", "end_ns"))
        first, last = (np.clip(t.astype(np.int64), 0, columns - 1) for t in (start, end))
        one = first == last
        np.add.at(self.busy, (row[one], first[one]), (end - start)[one])
        more = ~one
        r, a, b = row[more], first[more], last[more]
        np.add.at(self.busy, (r, a), (a + 1 - start[more]))
        np.add.at(self.busy, (r, b), (end[more] - b))
        # The columns between are full: noted where that begins and ends, and summed up by `settle`.
        np.add.at(self._full, (r, a + 1), 1)
        np.add.at(self._full, (r, b), -1)
        self.late[row[late], last[late]] = True

    def settle(self) -> None:
        """Count what was only noted. Call it once, when all jobs are there."""
        self.busy += np.cumsum(self._full, axis=1)


@dataclass
class Jobs:
    """Everything a page shows of a run; times in ns of the clock of the records.

    worst_at: Of each callback: release and end of its worst job; of the latest one if it has
        deadlines.
    stated: Whether somebody has stated a deadline for the callback, so far as records say: they are
        as long for all of its jobs, and not those of the jobs that released them.
    kept: Jobs in detail by start, and of each its callback and the job that released it (or -1).
    windows: Outside of these there is no detail. Empty: all is there.
    """

    begin: int
    span: int
    density: Density
    worst_at: list[tuple[int, int] | None]
    stated: npt.NDArray[np.bool_]
    kept: Records
    row: Ints
    by: Ints
    key: npt.NDArray[np.uint64]
    executors: dict[tuple[bytes, int, int], int]
    windows: list[tuple[int, int]] = field(default_factory=list)


class _Keys:
    """Numbers for jobs and messages, across files."""

    def __init__(self, timeline: Timeline) -> None:
        headers = [source.header for source in timeline.sources]
        self.executors: dict[tuple[bytes, int, int], int] = {}
        self.of_source = np.array(
            [self.executors.setdefault((h.boot_id, h.process, h.executor), i)
             for i, h in enumerate(headers)], dtype=np.uint64,
        )  # fmt: skip
        self._headers = headers

    def jobs(self, source: Ints, records: Records) -> npt.NDArray[np.uint64]:
        return number_of(self.of_source[source], records["sequence"])

    def causes(self, source: Ints, records: Records) -> npt.NDArray[np.uint64]:
        """Return the job that published what released each; of no executor if not known."""
        executor = np.full(len(records), len(self._headers), dtype=np.uint64)
        pairs, inverse = np.unique(
            np.stack((source, records["by_executor"].astype(np.int64))), axis=1, return_inverse=True
        )
        known = [
            self.executors.get((h.boot_id, h.process, number), len(self._headers))
            for number, h in ((n, self._headers[s]) for s, n in pairs.T.tolist())
        ]
        named = records["cause"] == layout.CAUSE_JOB
        executor[named] = np.array(known, dtype=np.uint64)[inverse.reshape(-1)[named]]
        return number_of(executor, records["by_sequence"])


def number_of(
    executor: npt.NDArray[np.uint64], sequence: npt.NDArray[np.uint64]
) -> npt.NDArray[np.uint64]:
    """Return one number for a job of an executor."""
    found: npt.NDArray[np.uint64] = (executor << np.uint64(NUMBER_BITS)) | (
        sequence & np.uint64((1 << NUMBER_BITS) - 1)
    )
    return found


def collect(timeline: Timeline, summary: Summary) -> Jobs:
    """Return the run.

    Raises TraceError: There is nothing to show, or there are too many callbacks.
    """
    if summary.first is None or summary.last is None:
        raise TraceError("no records, so there is nothing to show")
    if len(summary.rows) > MOST_ROWS:
        text = f"a page shows {MOST_ROWS} callbacks at most; these are {len(summary.rows)}"
        raise TraceError(text)
    begin, span = summary.first, max(1, summary.last - summary.first)
    whole = sum(source.reader.count for source in timeline.sources) <= MOST_JOBS
    scan = _Scan(timeline, len(summary.rows), begin, span, whole)
    for batch in timeline.batches():
        scan.add(batch)
    scan.density.settle()
    if not whole:
        windows = scan.windows(summary)
        left = MOST_JOBS
        for batch in timeline.batches():
            left -= scan.keep(batch, windows, left)
            if left <= 0:  # What comes later is not shown in detail.
                stop = int(batch.records["start_ns"].max())
                windows = [(a, min(b, stop)) for a, b in windows if a < stop]
                break
    kept, row, by, key = scan.linked()
    stated = (scan.longest_due == scan.shortest_due) & (scan.longest_due < NO_DEADLINE)
    same = (by >= 0) & (kept["deadline_ns"] == kept["deadline_ns"][np.maximum(by, 0)])
    released = np.bincount(row[by >= 0], minlength=len(stated))
    stated &= ~((np.bincount(row[same], minlength=len(stated)) == released) & (released > 0))
    return Jobs(
        begin, span, scan.density, scan.worst_at, stated, kept, row, by, key,
        scan.keys.executors, [] if whole else windows,
    )  # fmt: skip


class _Scan:
    def __init__(self, timeline: Timeline, rows: int, begin: int, span: int, whole: bool) -> None:
        self.keys = _Keys(timeline)
        self.density = Density.of(rows)
        self.worst_at: list[tuple[int, int] | None] = [None] * rows
        self.shortest_due = np.full(rows, NO_DEADLINE, np.int64)
        self.longest_due = np.full(rows, -1, np.int64)
        self._worst = [(False, -1)] * rows
        self._numbers = Numbers(timeline.sources)
        keys = row_keys(timeline.sources, self._numbers)
        place = {key: i for i, key in enumerate(dict.fromkeys(keys))}
        self._row = np.array([place[key] for key in keys], dtype=np.int64)
        self._begin, self._span, self._whole = begin, span, whole
        self._kept: list[tuple[Records, Ints, Ints]] = []

    def _rows(self, batch: Batch) -> Ints:
        return self._row[self._numbers.index(batch.source, batch.records["callback"])]

    def add(self, batch: Batch) -> None:
        row, records = self._rows(batch), batch.records
        ran = records["outcome"] <= layout.EXCEPTION
        jobs, mine = records[ran], row[ran]
        due = jobs["deadline_ns"]
        known = (due != NO_DEADLINE) & (np.abs(due // 2) < 2**60)
        relative = np.where(known, due - jobs["release_ns"], NO_DEADLINE)
        np.minimum.at(self.shortest_due, mine, relative)
        np.maximum.at(self.longest_due, mine, relative)
        late = known & (jobs["end_ns"] > due)
        self.density.add(mine, jobs, late, self._begin, self._span)
        size = np.where(known, jobs["end_ns"] - due, jobs["end_ns"] - jobs["release_ns"])
        order = np.lexsort((size, known, mine))
        last = np.flatnonzero(np.diff(mine[order], append=-1))
        for i in order[last].tolist():
            candidate = (bool(known[i]), int(size[i]))
            if self.worst_at[mine[i]] is None or candidate > self._worst[mine[i]]:
                self._worst[mine[i]] = candidate
                self.worst_at[mine[i]] = (int(jobs["release_ns"][i]), int(jobs["end_ns"][i]))
        if self._whole:
            self._kept.append((records, row, batch.source))

    def windows(self, summary: Summary) -> list[tuple[int, int]]:
        """Return where to keep detail: around the worst jobs, the worst first, as fits."""
        total = sum(row.jobs for row in summary.rows)
        order = sorted(range(len(self._worst)), key=lambda i: self._worst[i], reverse=True)
        room = self._span * MOST_JOBS / max(1, total) / 2
        found: list[tuple[int, int]] = []
        for i in order:
            at = self.worst_at[i]
            if at is None:
                continue
            around = max(AROUND_NS, AROUND * (at[1] - at[0]))
            room -= 2 * around + at[1] - at[0]
            if room < 0 and found:
                break
            found.append((at[0] - around, at[1] + around))
        merged: list[tuple[int, int]] = []
        for a, b in sorted(found):
            if merged and a <= merged[-1][1]:
                merged[-1] = (merged[-1][0], max(b, merged[-1][1]))
            else:
                merged.append((a, b))
        return merged

    def keep(self, batch: Batch, windows: list[tuple[int, int]], most: int) -> int:
        """Keep the records of a batch that lie in the windows; return how many these are."""
        begins, ends = (np.array(side, dtype=np.int64) for side in zip(*windows, strict=True))
        first = np.searchsorted(ends, batch.records["ready_ns"])
        inside = first < len(begins)
        first = np.minimum(first, len(begins) - 1)
        inside &= batch.records["end_ns"] >= begins[first]
        chosen = np.flatnonzero(inside)[:most]
        if len(chosen):
            records, source = batch.records[chosen], batch.source[chosen]
            row = self._row[self._numbers.index(source, records["callback"])]
            self._kept.append((records, row, source))
        return len(chosen)

    def linked(self) -> tuple[Records, Ints, Ints, npt.NDArray[np.uint64]]:
        """Return the kept jobs by start, with callback, releasing job and number."""
        records = np.concatenate([part[0] for part in self._kept])
        row = np.concatenate([part[1] for part in self._kept])
        source = np.concatenate([part[2] for part in self._kept])
        self._kept.clear()
        causes = self._causes(records, source)
        jobs = np.flatnonzero(records["outcome"] != layout.PUBLISHED)
        jobs = jobs[np.argsort(records["start_ns"][jobs], kind="stable")]
        key, causes = self.keys.jobs(source[jobs], records[jobs]), causes[jobs]
        ran = np.flatnonzero(records["outcome"][jobs] <= layout.EXCEPTION)
        by = ran[np.argsort(key[ran], kind="stable")]
        place = np.minimum(np.searchsorted(key[by], causes), max(0, len(by) - 1))
        found = by[place] if len(by) else np.full(len(jobs), -1)
        good = (key[found] == causes) & (found < np.arange(len(jobs)))
        return records[jobs], row[jobs], np.where(good, found, -1), key

    def _causes(self, records: Records, source: Ints) -> npt.NDArray[np.uint64]:
        """Return what released each: as its record says, or the publisher of its message."""
        causes = self.keys.causes(source, records)
        name = records["publisher"] * np.uint64(0x9E3779B97F4A7C15) + records["message"]
        numbered = (records["publisher"] != 0) & (records["message"] != layout.NO_MESSAGE)
        sent = np.flatnonzero(numbered & (records["outcome"] == layout.PUBLISHED))
        sent = sent[np.argsort(name[sent], kind="stable")]
        takes = np.flatnonzero(numbered & (records["cause"] == layout.CAUSE_MESSAGE))
        if len(sent) and len(takes):
            place = np.minimum(np.searchsorted(name[sent], name[takes]), len(sent) - 1)
            good = name[sent[place]] == name[takes]
            causes[takes[good]] = self.keys.jobs(source, records)[sent[place[good]]]
        return causes
