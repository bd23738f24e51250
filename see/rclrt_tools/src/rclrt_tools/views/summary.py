# Copyright 2026 The rclrt Authors
# SPDX-License-Identifier: Apache-2.0
"""What each callback did, in one table, from any number of records."""

from bisect import bisect_left
from collections import Counter
from collections.abc import Iterator, Sequence
from dataclasses import dataclass, field
from typing import Any

import numpy as np
import numpy.typing as npt
from rclrt_tools.live.files import printable
from rclrt_tools.places import me
from rclrt_tools.statistics import samples_needed
from rclrt_tools.trace import NO_DEADLINE, Entry, Records, layout
from rclrt_tools.views.blockers import Blockers
from rclrt_tools.views.timeline import Batch, Ints, Numbers, Source, Timeline

MOST_VALUES = 1 << 16
MOST_IN_ALL = 1 << 23
"""Values of all callbacks together: with very many callbacks each may keep fewer."""

FEWEST_VALUES = 1 << 10
BITS, FEWEST_BITS = 10, 5
TIMES = ("response", "execution", "waiting")
NAME = 36


class Distribution:
    """How often which value was seen; exact up to `most` different ones.

    With more, values are rounded up by at most `error`, which is 1 in 2^BITS, or more if these are
    still too many. The largest is always exact.
    """

    def __init__(self, most: int = MOST_VALUES) -> None:
        self._most = most
        self._bits = BITS + 1
        self._values: Ints = np.zeros(0, dtype=np.int64)
        self._counts: Ints = np.zeros(0, dtype=np.int64)
        self._new: list[Ints] = []
        self._waiting = 0
        self.count = 0
        self.largest: int | None = None

    def add(self, values: Ints) -> None:
        """Count these."""
        if not len(values):
            return
        self.count += len(values)
        self.largest = max(int(values.max()), self.largest or int(values.max()))
        self._new.append(values)
        self._waiting += len(values)
        if self._waiting > self._most:
            self._settle()

    def _settle(self) -> None:
        new = np.concatenate(self._new) if self._new else self._values[:0]
        self._new, self._waiting = [], 0
        values = np.concatenate((self._values, new))
        counts = np.concatenate((self._counts, np.ones(len(new), dtype=np.int64)))
        self._values, self._counts = _merged(values, counts)
        if self.error:
            self._round()
        while len(self._values) > self._most and self._bits > FEWEST_BITS:
            self._bits -= 1
            self._round()

    def _round(self) -> None:
        self._values, self._counts = _merged(_rounded(self._values, self._bits), self._counts)

    @property
    def error(self) -> float:
        """By how much of it a percentile may be too high."""
        return 0.0 if self._bits > BITS else 0.5**self._bits

    @property
    def kept(self) -> int:
        """How many values are in memory."""
        return len(self._values) + self._waiting

    def counts(self) -> tuple[Ints, Ints]:
        """Return the values, and how often each was seen."""
        self._settle()
        return self._values, self._counts

    def percentile(self, fraction: float) -> int | None:
        """Return the smallest value that so many do not exceed; None with too few for that."""
        if self.count < samples_needed(fraction):
            return None
        self._settle()
        rank = -(-round(fraction * self.count, 6) // 1)
        found = int(self._values[np.searchsorted(np.cumsum(self._counts), rank)])
        return min(found, self.largest or found)


def _merged(values: Ints, counts: Ints) -> tuple[Ints, Ints]:
    found, inverse = np.unique(values, return_inverse=True)
    return found, np.bincount(inverse, weights=counts, minlength=len(found)).astype(np.int64)


def _rounded(values: Ints, bits: int) -> Ints:
    """Return values rounded up to `bits` + 1 significant bits."""
    _, exponent = np.frexp(np.abs(values).astype(np.float64))
    step = np.int64(1) << np.maximum(exponent - bits - 1, 0).astype(np.int64)
    found: Ints = -(-values // step) * step
    return found


@dataclass
class Row:
    """One callback.

    times: From the release to the end; CPU time of jobs that were measured; from ready to started.
    waited: How many jobs found their group busy, and how many found no thread.
    blockers: How many of them waited for a job of which callback.
    """

    label: str
    name: str
    kind: int
    source: int = 0
    times: dict[str, Distribution] = field(
        default_factory=lambda: {name: Distribution() for name in TIMES}
    )
    jobs: int = 0
    waited: dict[str, int] = field(default_factory=lambda: {"group": 0, "thread": 0})
    blockers: Counter[str] = field(default_factory=Counter)
    late: int = 0
    latest: int | None = None
    exceptions: int = 0
    dropped: int = 0
    skipped: int = 0

    def add(self, records: Records) -> None:
        """Count these."""
        outcome = records["outcome"]
        self.dropped += int(records["jobs"][outcome == layout.DROPPED].sum())
        self.skipped += int(records["jobs"][outcome == layout.SKIPPED].sum())
        self.exceptions += int((outcome == layout.EXCEPTION).sum())
        ran = records[outcome <= layout.EXCEPTION]
        if not len(ran):
            return
        self.jobs += len(ran)
        self.times["response"].add(ran["end_ns"] - ran["release_ns"])
        self.times["execution"].add(ran["cpu_ns"][ran["cpu_ns"] >= 0])
        self.times["waiting"].add(ran["start_ns"] - ran["ready_ns"])
        self.waited["group"] += int((ran["waited_for"] == layout.WAITED_FOR_GROUP).sum())
        self.waited["thread"] += int((ran["waited_for"] == layout.WAITED_FOR_THREAD).sum())
        due = ran["deadline_ns"]
        known = (due != NO_DEADLINE) & (np.abs(due // 2) < 2**60)
        if known.any():
            lateness = ran["end_ns"][known] - due[known]
            self.late += int((lateness > 0).sum())
            self.latest = max(int(lateness.max()), self.latest or int(lateness.max()))


@dataclass
class Summary:
    """All callbacks, and the whole."""

    rows: list[Row]
    first: int | None = None
    last: int | None = None
    wrong: int = 0


def split(index: npt.NDArray[np.int64], records: Records) -> Iterator[tuple[int, Records]]:
    """Yield the records of each number, in the order they have."""
    order = np.argsort(index, kind="stable")
    numbers, begins = np.unique(index[order], return_index=True)
    parts = np.split(records[order], begins[1:])
    yield from zip(numbers.tolist(), parts, strict=len(numbers) > 0)


def row_keys(sources: Sequence[Source], numbers: Numbers) -> list[tuple[object, ...]]:
    """Return what tells callbacks apart; several files of one executor have them in common."""
    keys: list[tuple[object, ...]] = []
    for number, id_ in numbers.callbacks:
        header = sources[number].header
        # The probe has numbers of its own for executors, and does not know their model.
        executor = (header.boot_id, header.process, header.executor, header.model)
        keys.append((executor if header.executor else number, id_))
    return keys


def _row(label: str, entry: Entry, number: int, most: int) -> Row:
    times = {name: Distribution(most) for name in TIMES}
    return Row(label, entry.name, entry.kind, number, times)


def summarize(timeline: Timeline) -> Summary:
    """Return what all records say."""
    summary = Summary([])
    numbers: Numbers | None = None
    by_number: list[Row] = []
    blockers = Blockers(timeline.sources)
    for batch in timeline.batches():
        if numbers is None:
            numbers = Numbers(timeline.sources)
            rows: dict[tuple[object, ...], Row] = {}
            share = MOST_IN_ALL // (len(TIMES) * max(1, len(numbers.callbacks)))
            most = min(MOST_VALUES, max(FEWEST_VALUES, share))
            for key, (number, id_) in zip(
                row_keys(timeline.sources, numbers), numbers.callbacks, strict=True
            ):
                source = timeline.sources[number]
                entry = source.callbacks[id_]
                by_number.append(rows.setdefault(key, _row(source.label, entry, number, most)))
            summary.rows = list(rows.values())
        first, last = int(batch.records["release_ns"].min()), int(batch.records["end_ns"].max())
        summary.first = first if summary.first is None else min(summary.first, first)
        summary.last = last if summary.last is None else max(summary.last, last)
        index = numbers.index(batch.source, batch.records["callback"])
        for number, records in split(index, batch.records):
            by_number[number].add(records)
        _add_blockers(by_number, numbers, index, batch, blockers)
    summary.wrong = timeline.wrong
    return summary


def _add_blockers(
    rows: list[Row], numbers: Numbers, index: Ints, batch: Batch, blockers: Blockers
) -> None:
    callback, _ = blockers.find(batch.records, batch.source)
    known = np.flatnonzero(callback >= 0)
    by = numbers.index(batch.source[known], callback[known].astype(np.uint32))
    pairs, counts = np.unique(np.stack((index[known], by)), axis=1, return_counts=True)
    for (waiting, blocker), count in zip(pairs.T.tolist(), counts.tolist(), strict=True):
        rows[waiting].blockers[rows[blocker].name] += count


def ms(ns: int | None) -> str:
    """Return a time in ms."""
    return "-" if ns is None else f"{ns / 1e6:.3f}"


def to_text(sources: Sequence[Source], summary: Summary) -> str:
    """Return tables for a terminal."""
    lines = []
    for source in sources:
        header = source.header
        who = f"process {header.process}" if header.process else "simulated"
        missing = f", {source.reader.dropped} records are missing" if source.reader.dropped else ""
        model = layout.word(layout.MODELS, header.model)
        lines.append(
            f"{source.label}: {who}, executor {header.executor}, "
            f"{model}, {layout.word(layout.ORDERINGS, header.ordering)}, "
            f"{source.reader.count} records{missing}"
        )
    if summary.wrong:
        lines.append(f"{summary.wrong} records contradict themselves: left out")
    if summary.first is None or summary.last is None:
        return "\n".join([*lines, "no records"])
    lines += _twice(sources, summary)
    lines += [f"{(summary.last - summary.first) / 1e9:.3f} s", "", *_table(summary)]
    error = max((row.times[name].error for row in summary.rows for name in TIMES), default=0)
    if error:
        lines.append(
            f"percentiles of many different values are rounded up by at most {100 * error:.2g} %"
        )
    return "\n".join(lines)


def _twice(sources: Sequence[Source], summary: Summary) -> list[str]:
    """Return what to say of processes that the probe and their own executors have recorded."""
    seen: dict[tuple[bytes, int, str], set[bool]] = {}
    for row in summary.rows:
        header = sources[row.source].header
        if header.process and row.jobs:
            key = (header.boot_id, header.process, row.name)
            seen.setdefault(key, set()).add(header.model == layout.MODEL_UNKNOWN)
    return [
        f"process {process} is in two recordings, by {me()} observe and by its executors: its "
        "jobs are in both"
        for process in sorted({key[1] for key, kinds in seen.items() if len(kinds) > 1})
    ]


def _table(summary: Summary) -> list[str]:
    rows = sorted(
        (row for row in summary.rows if row.jobs or row.dropped or row.skipped),
        key=lambda row: (-row.late, -(row.times["response"].largest or 0), row.name),
    )
    labels = len({row.label for row in rows}) > 1
    names = [f"{row.label}: {row.name}" if labels else row.name for row in rows]
    width = _width(names)
    over = "".join(f" | {name + ', ms':^26}" for name in TIMES)
    head = "".join(f" |{'p50':>9}{'p99':>9}{'max':>9}" for _ in TIMES)
    lines = [
        f"{'':{width}} {'':9}{over} | {'blocked by':^14} | {'':26} | blocked",
        f"{'callback':{width}} {'jobs':>9}{head} | {'group':>6} {'thread':>7} | "
        f"{'late':>8} {'dropped':>8} {'skipped':>8} | mostly by",
    ]
    for name, row in zip(names, rows, strict=True):
        cells = "".join(
            f" |{ms(t.percentile(0.5)):>9}{ms(t.percentile(0.99)):>9}{ms(t.largest):>9}"
            for t in row.times.values()
        )
        part = [f"{100 * count / max(1, row.jobs):.1f}%" for count in row.waited.values()]
        lines.append(
            f"{_cut(name, width):{width}} {row.jobs:9}{cells} | {part[0]:>6} {part[1]:>7} | "
            f"{row.late:8} {row.dropped:8} {row.skipped:8} | {_mostly(row)}".rstrip()
        )
    silent = sum(1 for row in summary.rows if not (row.jobs or row.dropped or row.skipped))
    return lines + ([f"{silent} more callbacks did not run"] if silent else [])


def _mostly(row: Row) -> str:
    """Return whose jobs it waited for most often, and how often."""
    if not row.blockers:
        return ""
    name, count = min(row.blockers.items(), key=lambda item: (-item[1], item[0]))
    return f"{printable(name)} ({count})"


def _cut(name: str, width: int) -> str:
    return printable(name if len(name) <= width else "..." + name[3 - width :])


def _width(names: Sequence[str]) -> int:
    """Return how wide names are shown: so wide that no two look alike."""
    longest = max([len(name) for name in names] + [8])
    different = len(set(names))

    def tells_apart(width: int) -> bool:
        return len({_cut(name, width) for name in names}) == different

    return bisect_left(range(longest), True, lo=min(NAME, longest), key=tells_apart)


def to_json(sources: Sequence[Source], summary: Summary) -> dict[str, Any]:
    """Return the same for programs, schema 1; times in ms, null for none."""

    def number(ns: int | None) -> float | None:
        return None if ns is None else ns / 1e6

    return {
        "schema": 1,
        "files": [
            {
                "name": source.label,
                "process": source.header.process,
                "executor": source.header.executor,
                "model": layout.word(layout.MODELS, source.header.model),
                "records": source.reader.count,
                "missing": source.reader.dropped,
            }
            for source in sources
        ],
        "wrong": summary.wrong,
        "callbacks": [
            {
                "file": row.label,
                "name": row.name,
                "kind": layout.word(layout.KINDS, row.kind),
                "jobs": row.jobs,
                **{
                    f"{name}_ms": {
                        "n": times.count,
                        "p50": number(times.percentile(0.5)),
                        "p99": number(times.percentile(0.99)),
                        "max": number(times.largest),
                    }
                    for name, times in row.times.items()
                },
                "waited_for": row.waited,
                "blockers": dict(sorted(row.blockers.items())),
                "late": row.late,
                "latest_ms": number(row.latest),
                "exceptions": row.exceptions,
                "dropped": row.dropped,
                "skipped": row.skipped,
            }
            for row in summary.rows
        ],
    }
