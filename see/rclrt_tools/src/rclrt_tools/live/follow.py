# Copyright 2026 The rclrt Authors
# SPDX-License-Identifier: Apache-2.0
"""Reads a live trace again and again: what is new since the last time.

Or a trace file that a process under the probe writes (`./rclrt observe`): `Tail`.
"""

import os
import re
from dataclasses import dataclass
from pathlib import Path

import numpy as np
from rclrt_tools.live.files import BORN, Process, open_file, printable, read_process, stat_of
from rclrt_tools.trace import layout
from rclrt_tools.trace.layout import RECORD, Entry, Records, TraceError

MOST_BYTES = 1 << 24
"""Bytes of records that are read at once."""

FOLDER = b"\0RCLRT_PROBE_FOLDER="


class ProbedFiles:
    """Finds the trace files of processes that run under the probe and may be looked into."""

    def __init__(self, proc: Path = Path("/proc")) -> None:
        self._proc = proc
        self._others: set[str] = set()
        self._turn = 0

    def look(self) -> list[Path]:
        """Return them. A process that had none is asked again at every fifth look only."""
        self._turn += 1
        found: list[Path] = []
        there = set(filter(str.isdecimal, os.listdir(self._proc)))  # noqa: PTH208
        self._others &= there
        for process in there:
            if process in self._others and (int(process) + self._turn) % 5:
                continue
            self._others.add(process)
            try:
                with open(f"{self._proc}/{process}/environ", "rb", buffering=0) as file:  # noqa: PTH123
                    _, is_probed, folder = (b"\0" + file.read()).partition(FOLDER)
                if not is_probed:
                    continue
                self._others.remove(process)
                cwd = (self._proc / process / "cwd").readlink()
                place = cwd / os.fsdecode(folder.partition(b"\0")[0])
                name = re.compile(rf".*-{process}-[0-9a-f]{{16}}(\.\d+)?\.trace")
                found += [path for path in place.iterdir() if name.fullmatch(path.name)]
            except (OSError, ValueError):
                continue
        return sorted(found)


class _Growing:
    """A file to which its writer adds chunks, and how far it has been read."""

    process: Process

    def __init__(self, path: Path) -> None:
        self.path = path
        self._stream = open_file(path)
        self.callbacks: dict[int, Entry] = {}
        self.missed = self.earlier = 0
        self._at = layout.HEADER.size
        self._chunks = 0

    def close(self) -> None:
        """Close the file."""
        os.close(self._stream)

    def runs(self) -> bool | None:
        """Return whether its process still runs; None: it does, in another PID namespace."""
        return self.process.runs()

    def _read(self, at: int, size: int) -> bytes:
        data = os.pread(self._stream, size, at)
        if len(data) < size:
            raise TraceError(f"{self.path}: somebody has cut it short")
        return data


class Tail(_Growing):
    """What is new in a trace file that grows; the same as `Follower`.

    What was there when it was opened is passed over and counts as `earlier`.

    Raises TraceError: The file is no trace, or not that of a process that runs.
    Raises OSError: It cannot be opened, or is a link or a pipe.
    """

    left_by = "ended"  # Its process leaves the file, however it ends.

    def __init__(self, path: Path) -> None:
        super().__init__(path)
        self._known = 0
        try:
            self.header = self._header()
            self.process = self._process()
            self._passing = True
            self.poll()
            self._passing = False
        except BaseException:
            os.close(self._stream)
            raise

    def poll(self) -> Records:
        """Return the records that are new.

        Raises TraceError: Somebody else has written into the file.
        """
        size = os.fstat(self._stream).st_size
        if size < self._known:
            raise TraceError(f"{self.path}: somebody has cut it short")
        self._known = size
        header = self._header()
        if header.process != self.process.number:
            raise TraceError(f"{self.path}: its beginning has changed")
        self.header = header
        parts: list[bytes] = []
        while self._at + layout.CHUNK.size <= size and sum(map(len, parts)) < MOST_BYTES:
            kind, length = layout.CHUNK.unpack(self._read(self._at, layout.CHUNK.size))
            content = self._at + layout.CHUNK.size
            if kind == layout.CHUNK_NONE or content + length > size:
                break  # It is not yet written as a whole.
            self._at = content + length + (-length % 8)
            if kind == layout.CHUNK_RECORDS:
                count = length // RECORD.itemsize
                taken = 0 if self._passing else min(count, MOST_BYTES // RECORD.itemsize)
                self.earlier += count if self._passing else 0
                self.missed += 0 if self._passing else count - taken
                parts.append(self._read(content, taken * RECORD.itemsize))
            elif kind == layout.CHUNK_CALLBACK:
                self._chunks += 1
                if self._chunks > MAX_CHUNKS:
                    raise TraceError(f"{self.path}: byte {content}: too many callbacks")
                data = self._read(content, min(length, MOST_OF_ENTRY))
                key, entry = entry_of(self.path, content, data)
                self.callbacks[key] = entry
        return np.frombuffer(b"".join(parts), RECORD)

    def _header(self) -> layout.Header:
        data = os.pread(self._stream, layout.HEADER.size, 0)
        if len(data) < layout.HEADER.size or not data.startswith(layout.MAGIC):
            raise TraceError(f"{self.path}: this is no trace")
        fields = layout.HEADER.unpack(data)
        if fields[1:3] != (2, RECORD.itemsize):
            raise TraceError(f"{self.path}: version {fields[1]}, not 2")
        return layout.Header(*fields[3:])

    def _process(self) -> Process:
        number = self.header.process
        name = self.path.name.rpartition(f"-{number}")[0]
        try:
            born = int(stat_of(f"/proc/{number}")[1][BORN]) % 2**32
        except (OSError, ValueError, IndexError) as error:
            raise TraceError(f"{self.path}: its process has ended") from error
        return Process(number, Path("/proc/self/ns/pid").stat().st_ino, born, printable(name))


MAX_CHUNKS = 100_000
MAX_NAMES = 1 << 23
"""Bytes of all entries of callbacks: twice what a writer puts there."""

MOST_OF_ENTRY = layout.ENTRY.size + 2 * layout.MAX_NAME
MAX_CAPACITY = 1 << 20
MAX_AT_ONCE = 1 << 40
"""Records of a thread between two looks: years of them."""
MAX_RECORDS = 1 << 21
"""In all rings of a file: so much may have to be read at once. A file may have holes."""


def entry_of(path: Path, at: int, data: bytes) -> tuple[int, Entry]:
    """Return the id and the entry of a callback that a file has at this byte."""
    fixed = layout.ENTRY.size
    if len(data) < fixed:
        raise TraceError(f"{path}: byte {at}: a callback entry of {len(data)} bytes")
    key, group, parallelism, kind, period, name, group_name = layout.ENTRY.unpack_from(data)
    if long := layout.too_long(key, name, group_name):
        raise TraceError(f"{path}: byte {at}: {long}")
    names = data[fixed : fixed + name + group_name]
    return key, Entry(
        printable(names[:name].decode("utf-8", "replace")),
        group,
        printable(names[name:].decode("utf-8", "replace")),
        parallelism,
        kind,
        period,
    )


@dataclass
class _Ring:
    at: int  # of its entry
    capacity: int
    next: int = 0  # record


class Follower(_Growing):
    """A live trace and how far it has been read.

    header, process: Its writer. The executor and its model are known from the first `poll` on at
        the latest.
    callbacks: Entries by id; grows. `entries` has the same as they are in the file, in its order.
    missed: Records that were overwritten before they were read, from the first `poll` on.
    earlier: Records that were overwritten before that.

    Raises TraceError: The file is no live trace.
    Raises OSError: It cannot be opened, or is a link or a pipe.
    """

    left_by = "killed"  # A process that ends removes its file.

    def __init__(self, path: Path) -> None:
        super().__init__(path)
        begin = read_process(self._stream)
        if begin is None:
            os.close(self._stream)
            raise TraceError(f"{path}: this is no live trace")
        self.header: layout.Header = begin[0]
        self.process = begin[1]
        self.entries: list[bytes] = []
        self._rings: list[_Ring] = []
        self._names = 0
        self._has_polled = False

    def poll(self) -> Records:
        """Return the records that are new, those of each thread in their order.

        Raises TraceError: Somebody else has written into the file.
        """
        # The header first: it is complete before there are records.
        begin = read_process(self._stream)
        if begin is None or begin[1] != self.process:
            raise TraceError(
                f"{self.path}: its beginning has changed: somebody has written into it"
            )
        self.header = begin[0]
        self._look_for_chunks()
        self._has_polled = True
        parts = [part for ring in self._rings if len(part := self._new(ring))]
        if not parts:
            return np.zeros(0, RECORD)
        return parts[0] if len(parts) == 1 else np.concatenate(parts)

    def _look_for_chunks(self) -> None:
        size = os.fstat(self._stream).st_size
        while self._at + layout.CHUNK.size <= size:
            kind, length = layout.CHUNK.unpack(self._read(self._at, layout.CHUNK.size))
            content = self._at + layout.CHUNK.size
            if kind == layout.CHUNK_NONE:
                return
            self._chunks += 1
            if content + length > size:  # It may have grown since.
                size = os.fstat(self._stream).st_size
            if content + length > size or self._chunks > MAX_CHUNKS:
                raise TraceError(f"{self.path}: byte {self._at}: this chunk cannot be")
            if kind == layout.CHUNK_CALLBACK:
                self._callback(content, length)
            elif kind == layout.CHUNK_RING:
                _, capacity = layout.RING.unpack(self._read(content, layout.RING.size))
                room = (length - layout.RING.size) // RECORD.itemsize
                if not 0 < capacity <= min(room, MAX_CAPACITY) or capacity & (capacity - 1):
                    raise TraceError(f"{self.path}: byte {content}: a ring of {capacity} records")
                ring = _Ring(content, capacity)
                if not self._has_polled:  # What was overwritten before is nobody's loss.
                    ring.next = max(0, self._head(ring) - capacity + 1)
                    self.earlier += ring.next
                self._rings.append(ring)
                if sum(ring.capacity for ring in self._rings) > MAX_RECORDS:
                    raise TraceError(f"{self.path}: its rings have more than {MAX_RECORDS} records")
            self._at = content + length + (-length % 8)

    def _callback(self, at: int, length: int) -> None:
        data = self._read(at, min(length, MOST_OF_ENTRY))
        key, entry = entry_of(self.path, at, data)
        self.callbacks[key] = entry
        self.entries.append(data)
        self._names += len(data)
        if self._names > MAX_NAMES:
            raise TraceError(f"{self.path}: names of more than {MAX_NAMES} bytes cannot be")

    def _new(self, ring: _Ring) -> Records:
        head = self._head(ring)
        if head < ring.next:
            ring.next = head  # Somebody else has written it.
        first = max(ring.next, head - ring.capacity + 1)
        if head - ring.next > MAX_AT_ONCE:
            raise TraceError(f"{self.path}: byte {ring.at}: {head} records cannot be")
        if first >= head:
            return np.zeros(0, RECORD)
        begin, end = first % ring.capacity, (head - 1) % ring.capacity + 1
        spans = [(begin, end)] if begin < end else [(begin, ring.capacity), (0, end)]
        slots = ring.at + layout.RING.size
        item = RECORD.itemsize
        data = b"".join(self._read(slots + a * item, (b - a) * item) for a, b in spans)
        records = np.frombuffer(data, RECORD)
        # Its thread may have written on while these were copied.
        whole = max(first, min(head, self._head(ring) - ring.capacity + 1))
        self.missed += whole - ring.next
        ring.next = head
        return records[whole - first :]

    def _head(self, ring: _Ring) -> int:
        (head,) = layout.LOST.unpack(self._read(ring.at, layout.LOST.size))
        return int(head)
