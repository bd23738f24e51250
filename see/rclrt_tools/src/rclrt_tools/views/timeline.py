# Copyright 2026 The rclrt Authors
# SPDX-License-Identifier: Apache-2.0
"""Several trace files on one clock, in the order of time, without holding all of them."""

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, replace
from pathlib import Path

import numpy as np
import numpy.typing as npt
from rclrt_tools.trace import Entry, Header, Records, TraceReader, layout
from rclrt_tools.trace.layout import is_sane
from rclrt_tools.trace.read import BLOCK

NEVER = 2**62
MOST_WAITING = 1 << 22
"""Records held back for the order of time, at most; beyond that some come out late."""

TIMES = ("release_ns", "ready_ns", "start_ns", "end_ns", "root_ns")


@dataclass(frozen=True)
class Source:
    """One file, and what is added to its times."""

    reader: TraceReader
    label: str
    offset: int = 0

    @property
    def header(self) -> Header:
        """The header of the file."""
        return self.reader.header

    @property
    def callbacks(self) -> Mapping[int, Entry]:
        """The callbacks of the file, by the id in their records."""
        return self.reader.callbacks


@dataclass(frozen=True)
class Batch:
    """Some records in the order of `ready_ns`.

    source: Shape (n,), of each record the number of its source.
    horizon: No record of a later batch was ready before, as far as `MOST_WAITING` allows.
    """

    records: Records
    source: npt.NDArray[np.int64]
    horizon: int


def open_sources(
    paths: Sequence[Path], offsets: Mapping[Path, int] | None = None, wall_clock: bool = False
) -> list[Source]:
    """Open trace files that share a clock, or are given one.

    offsets: Added to the times of these files, ns.
    wall_clock: Files of different boots are put together by CLOCK_REALTIME, as it was when each was
        made.

    Raises TraceError: A file cannot be read.
    Raises ValueError: Files are of different boots, and nothing says how their clocks differ.
    """
    offsets = offsets or {}
    readers: list[TraceReader] = []
    try:
        for path in paths:
            readers.append(TraceReader(path))
        sources = [
            Source(reader, path.name.removesuffix(".trace"), offsets.get(path, 0))
            for reader, path in zip(readers, paths, strict=True)
        ]
        first = sources[0].header
        for i, (source, path) in enumerate(zip(sources, paths, strict=True)):
            if source.header.boot_id == first.boot_id or path in offsets:
                continue
            if not wall_clock:
                raise ValueError(
                    f"{path}: of another boot than {paths[0]}, so its clock says nothing there. "
                    f"Say what to add to its times with --offset {path}=MS, or put both together "
                    "by their wall clocks with --wall-clock"
                )
            apart = source.header.clock_offset_ns - first.clock_offset_ns
            sources[i] = replace(source, offset=max(-(2**60), min(2**60, apart)))
        return sources
    except BaseException:
        close(readers)
        raise


def close(readers: Sequence[TraceReader | Source]) -> None:
    """Close the files."""
    for reader in readers:
        (reader.reader if isinstance(reader, Source) else reader).close()


class Timeline:
    """The records of all sources.

    wrong: How many records were left out because they contradict themselves. Counts while `batches`
        runs.
    """

    def __init__(self, sources: Sequence[Source], block: int = BLOCK) -> None:
        self.sources = sources
        self.wrong = 0
        self._block = block

    def _blocks(self, number: int) -> Iterator[Records]:
        source = self.sources[number]
        for found in source.reader.blocks(self._block):
            good = found[is_sane(found)]
            if source.offset:
                good = good.copy()
                for name in TIMES:
                    known = good[name] != layout.UNKNOWN if name == "root_ns" else slice(None)
                    good[name][known] += source.offset
                due = good["deadline_ns"] != layout.NO_DEADLINE
                good["deadline_ns"][due] += source.offset
            self.wrong += len(found) - len(good)
            yield good

    def _earliest(self, number: int) -> list[int]:
        """Return, for each block, the first `ready_ns` in it and all after it."""
        first = [int(b["ready_ns"].min()) if len(b) else NEVER for b in self._blocks(number)]
        suffix = np.minimum.accumulate(np.array([*first, NEVER], dtype=np.int64)[::-1])[::-1]
        found: list[int] = suffix.tolist()
        return found

    def batches(self) -> Iterator[Batch]:
        """Yield all records."""
        earliest = [self._earliest(i) for i in range(len(self.sources))]
        self.wrong = 0
        blocks = [self._blocks(i) for i in range(len(self.sources))]
        place = [0] * len(self.sources)
        waiting: list[tuple[Records, npt.NDArray[np.int64]]] = []
        count, enough, horizon = 0, self._block, -NEVER
        while True:
            coming = [first[at] for first, at in zip(earliest, place, strict=True)]
            least = min(coming, default=NEVER)
            if least < NEVER and count < enough:
                number = coming.index(least)
                block = next(blocks[number], None)
                place[number] += 1
                if block is not None and len(block):
                    waiting.append((block, np.full(len(block), number, dtype=np.int64)))
                    count += len(block)
                continue
            if not count:
                return
            records = np.concatenate([one for one, _ in waiting])
            source = np.concatenate([one for _, one in waiting])
            horizon = max(horizon, least)
            if count >= MOST_WAITING:
                horizon = max(horizon, int(np.median(records["ready_ns"])) + 1)
            now = np.flatnonzero(records["ready_ns"] < horizon)
            later = records["ready_ns"] >= horizon
            now = now[np.argsort(records["ready_ns"][now], kind="stable")]
            if len(now):
                yield Batch(records[now], source[now], horizon)
            waiting = [(records[later], source[later])]
            count = int(later.sum())
            # What is held back is not looked at again with every block.
            enough = max(self._block, 2 * count)


Ints = npt.NDArray[np.int64]


class Numbers:
    """Callbacks, numbered from 0: by source, then by id.

    callbacks: The source and the id of each.
    """

    def __init__(self, sources: Sequence[Source]) -> None:
        self._ids = [np.array(sorted(source.callbacks), dtype=np.int64) for source in sources]
        self._first = np.cumsum([0, *(len(ids) for ids in self._ids)])
        self.callbacks = [(number, int(id_)) for number, ids in enumerate(self._ids) for id_ in ids]

    def index(self, source: Ints, callback: npt.NDArray[np.uint32]) -> Ints:
        """Return the number of each pair, -1 for what no source has."""
        found = np.full(len(source), -1, dtype=np.int64)
        for number in np.unique(source).tolist():
            mine = source == number
            ids = self._ids[number]
            wanted = callback[mine].astype(np.int64)
            place = np.minimum(np.searchsorted(ids, wanted), max(0, len(ids) - 1))
            there = ids[place] == wanted if len(ids) else np.zeros(len(wanted), np.bool_)
            found[mine] = np.where(there, place + self._first[number], -1)
        return found
