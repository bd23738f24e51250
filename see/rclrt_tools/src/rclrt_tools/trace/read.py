# Copyright 2026 The rclrt Authors
# SPDX-License-Identifier: Apache-2.0
"""Reads trace files, also while a program still writes them.

Whatever a file holds, memory stays within a few times its size, and `TraceReader.blocks` within a
few blocks and the rings. Files are read, not mapped: a mapped file that somebody cuts short ends
the program.
"""

import os
import stat
from array import array
from collections.abc import Iterator
from pathlib import Path

import numpy as np

from rclrt_tools.arguments import trace_files
from rclrt_tools.trace import layout
from rclrt_tools.trace.layout import (
    MAGIC,
    RECORD,
    Entry,
    Header,
    Records,
    Rings,
    Trace,
    TraceError,
    ring_records,
)

MAX_CALLBACKS = 1_000_000
BLOCK = 1 << 17
"""Records that `blocks` hands out at a time."""

MAX_IN_RINGS = 1 << 21
MAX_IN_MEMORY = 10_000_000
"""Records that are read at once, of all files together. A model of so many takes 3.2 GiB. A file
may have holes, and so be longer than its disk."""

MAX_NOTE = 1 << 16
"""Bytes of a remark that are read."""

WINDOW = 1 << 12
"""Bytes read at once where only the heads of chunks are wanted."""


class Callbacks(dict[int, Entry]):
    """Entries by id. A writer that was killed may have left some out: these get a name."""

    def __missing__(self, key: int) -> Entry:
        """Return, and keep, an entry for a callback of which there is none."""
        entry = Entry(f"callback {key}", group=key)
        self[key] = entry
        return entry


class TraceReader:
    """An open trace file, of which everything is known but the records.

    callbacks: By id. Grows while `blocks` meets callbacks without an entry.
    dropped, header, notes: See `Trace`.
    count: How many records there are, before doubles are left out.

    Raises TraceError: The file cannot be read or is no trace; the text names the byte.
    """

    def __init__(self, path: Path) -> None:
        self.path = path
        self.callbacks = Callbacks()
        self.dropped = 0
        self.notes: dict[int, str] = {}
        self.header = Header()
        self._rings: list[Records] = []
        self._in_rings = 0
        self._offsets = array("Q")
        self._counts = array("Q")
        self._window = b""
        self._window_at = 0
        try:
            if not stat.S_ISREG(path.stat().st_mode):
                raise TraceError(f"{path}: this is no regular file")
            self._stream = path.open("rb")
            self._size = os.fstat(self._stream.fileno()).st_size
        except (OSError, ValueError) as error:
            raise TraceError(f"{path}: {getattr(error, 'strerror', error)}") from error
        try:
            self._start()
            self._chunks()
        except BaseException:
            self.close()
            raise
        self.count = sum(self._counts) + sum(len(ring) for ring in self._rings)

    def close(self) -> None:
        """Close the file."""
        self._stream.close()

    def __enter__(self) -> "TraceReader":
        return self

    def __exit__(self, *_: object) -> None:
        self.close()

    def _read(self, at: int, size: int) -> bytes:
        """Return bytes, fewer if the file ends."""
        parts = []
        size = min(size, self._size - at)  # What a damaged file asks for is not allocated.
        try:
            while size > 0:
                part = os.pread(self._stream.fileno(), size, at)
                if not part:
                    break
                parts.append(part)
                at += len(part)
                size -= len(part)
        except OSError as error:
            raise TraceError(f"{self.path}: byte {at}: {error.strerror}") from error
        return parts[0] if len(parts) == 1 else b"".join(parts)

    def _peek(self, at: int, size: int) -> bytes:
        """Return a few bytes, as `_read`, with few system calls."""
        begin = at - self._window_at
        if begin < 0 or begin + size > len(self._window):
            self._window = self._read(at, max(size, WINDOW))
            self._window_at, begin = at, 0
        return self._window[begin : begin + size]

    def _wrong(self, at: int, text: str) -> TraceError:
        return TraceError(f"{self.path}: byte {at}: {text}")

    def _start(self) -> None:
        start = self._peek(0, layout.START.size)
        if len(start) < layout.START.size:
            raise TraceError(f"{self.path}: {self._size} bytes are too few for a header")
        magic, version, size = layout.START.unpack(start)
        if magic != MAGIC:
            raise TraceError(
                f"{self.path}: this is no trace file: it starts with {magic!r}, not {MAGIC!r}"
            )
        if (version, size) != (2, RECORD.itemsize):
            raise TraceError(
                f"{self.path}: version {version} with records of {size} bytes; this reads version "
                f"2 with {RECORD.itemsize}: record it anew"
            )

    def _add_records(self, at: int, count: int) -> None:
        if count:
            self._offsets.append(at)
            self._counts.append(count)

    def _chunks(self) -> None:
        head = self._peek(0, layout.HEADER.size)
        if len(head) < layout.HEADER.size:
            raise TraceError(f"{self.path}: {self._size} bytes are too few for a header")
        self.header = Header(*layout.HEADER.unpack(head)[3:])
        at = layout.HEADER.size
        unpack, head_size = layout.CHUNK.unpack, layout.CHUNK.size
        while at + head_size <= self._size:
            chunk = self._peek(at, head_size)
            if len(chunk) < head_size:
                return  # Somebody has cut it off meanwhile.
            kind, size = unpack(chunk)
            if kind == layout.CHUNK_NONE:
                return
            self._chunk(kind, at + head_size, size)
            at += head_size + size + (-size % 8)

    def _chunk(self, kind: int, at: int, size: int) -> None:
        here = min(size, self._size - at)
        if kind == layout.CHUNK_RECORDS:
            self._add_records(at, here // RECORD.itemsize)
        elif kind == layout.CHUNK_RING:
            self._ring(at, size, here)
        elif here < size:
            return  # The file was cut off inside of this chunk.
        elif kind == layout.CHUNK_CALLBACK:
            self._callback(at, size)
        elif kind == layout.CHUNK_LOST:
            if size < layout.LOST.size:
                raise self._wrong(at, f"the number of lost records has {size} bytes")
            (self.dropped,) = layout.LOST.unpack(self._peek(at, layout.LOST.size))
        elif kind == layout.CHUNK_NOTE:
            self._note(self._read(at, min(size, MAX_NOTE)))

    def _note(self, content: bytes) -> None:
        if len(content) < layout.NOTE.size:
            return  # It is for people: no reason to refuse a file.
        (key,) = layout.NOTE.unpack(content[: layout.NOTE.size])
        if key in self.notes or len(self.notes) < MAX_CALLBACKS:
            self.notes[key] = content[layout.NOTE.size :].decode("utf-8", "replace")

    def _callback(self, at: int, size: int) -> None:
        fixed = layout.ENTRY.size
        if size < fixed:
            raise self._wrong(at, f"a callback entry of {size} bytes; it has at least {fixed}")
        key, group, parallelism, kind, period, name, group_name = layout.ENTRY.unpack(
            self._peek(at, fixed)
        )
        if fixed + name + group_name > size:
            raise self._wrong(at, f"the names of callback {key} are longer than their chunk")
        if long := layout.too_long(key, name, group_name):
            raise self._wrong(at, long)
        try:
            both = self._read(at + fixed, name + group_name)
            entry = Entry(
                both[:name].decode("utf-8"),
                group,
                both[name:].decode("utf-8"),
                parallelism,
                kind,
                period,
            )
        except UnicodeError as error:
            raise self._wrong(at + fixed, str(error)) from error
        if self.callbacks.setdefault(key, entry) != entry:
            raise self._wrong(at, f"callback {key} has two entries that differ")
        self._limit()

    def _limit(self) -> None:
        if len(self.callbacks) > MAX_CALLBACKS:
            raise TraceError(
                f"{self.path}: more than {MAX_CALLBACKS} callbacks; is the file damaged?"
            )

    def _ring(self, at: int, size: int, here: int) -> None:
        if here < layout.RING.size:
            if size < layout.RING.size:
                raise self._wrong(at, f"a ring of {size} bytes; it has {layout.RING.size} and more")
            return
        head, capacity = layout.RING.unpack(self._read(at, layout.RING.size))
        if capacity == 0 or capacity & (capacity - 1):
            raise self._wrong(at, f"a ring of {capacity} records, which is no power of two")
        if layout.RING.size + capacity * RECORD.itemsize > size:
            raise self._wrong(at, f"a ring of {capacity} records in a chunk of {size} bytes")
        begin = at + layout.RING.size
        whole = min(capacity, (here - layout.RING.size) // RECORD.itemsize)
        self._in_rings += whole
        if self._in_rings > MAX_IN_RINGS:
            raise self._wrong(at, f"rings of more than {MAX_IN_RINGS} records; is it damaged?")
        data = self._read(begin, whole * RECORD.itemsize)
        slots = np.frombuffer(data, RECORD, len(data) // RECORD.itemsize)
        # Its thread may have written on while these were copied.
        again = self._read(at, layout.RING.size)
        newer = layout.RING.unpack(again)[0] if len(again) == layout.RING.size else head
        self._rings.append(ring_records(slots, capacity, head, newer))

    def blocks(self, size: int = BLOCK) -> Iterator[Records]:
        """Yield the records in the order of the file, those of rings last and without doubles."""
        rings = Rings(self._rings)
        for block in self._blocks(size):
            rings.seen(block)
            yield self._known(block)
        rest = rings.rest()
        if len(rest):
            yield self._known(rest)

    def _known(self, block: Records) -> Records:
        for key in np.unique(block["callback"]).tolist():
            self.callbacks[key]  # An entry for each.
        self._limit()
        return block

    def _blocks(self, size: int) -> Iterator[Records]:
        """Yield what is in chunks of records; several small chunks make a block."""
        parts: list[bytes] = []
        waiting = 0
        for at, count in zip(self._offsets, self._counts, strict=True):
            for first in range(0, count, size):
                here = min(size, count - first)
                if waiting + here > size and parts:
                    yield self._records(parts)
                    parts, waiting = [], 0
                take = self._peek if here * RECORD.itemsize < WINDOW else self._read
                data = take(at + first * RECORD.itemsize, here * RECORD.itemsize)
                parts.append(data[: len(data) // RECORD.itemsize * RECORD.itemsize])
                waiting += here
        if parts:
            yield self._records(parts)

    def _records(self, parts: list[bytes]) -> Records:
        return np.frombuffer(parts[0] if len(parts) == 1 else b"".join(parts), RECORD)


def named_traces(paths: list[Path]) -> list[tuple[str, Trace]]:
    """Return the content of trace files, and of those in folders, each with a name for it.

    Raises TraceError: One cannot be read, or there is none.
    """
    try:
        files = trace_files(paths)
    except ValueError as error:
        raise TraceError(str(error)) from error
    found: list[tuple[str, Trace]] = []
    before = 0
    for path in files:
        found.append((path.name.removesuffix(".trace"), read_trace(path, before)))
        before += len(found[-1][1].records)
    return found


def read_trace(path: Path, before: int = 0) -> Trace:
    """Return the content of a trace file.

    A record that was cut short is left out. So are the doubles of records that are in the ring of
    their thread and were written to the file as well.

    before: How many records have been read of other files.

    Raises TraceError: It cannot be read, or is no trace, or there is too much in it.
    """
    with TraceReader(path) as reader:
        if reader.count + before > MAX_IN_MEMORY:
            others = f" after {before} of other files" if before else ""
            raise TraceError(
                f"{path}: {reader.count} records{others}; at most {MAX_IN_MEMORY} can be looked at "
                "here. Give fewer files, or record for a shorter time; rclrt trace takes files "
                "of any length"
            )
        records = np.empty(reader.count, RECORD)
        count = 0
        for block in reader.blocks():
            records[count : count + len(block)] = block
            count += len(block)
        return Trace(
            dict(reader.callbacks),
            records[:count],
            reader.dropped,
            reader.header,
            dict(reader.notes),
        )
