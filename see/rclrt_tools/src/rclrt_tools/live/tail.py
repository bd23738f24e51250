# Copyright 2026 The rclrt Authors
# SPDX-License-Identifier: Apache-2.0
"""Trace files that processes under the probe write (`./rclrt observe`): which, and what is new."""

from __future__ import annotations

import os
import re
from pathlib import Path

import numpy as np

from rclrt_tools.live.files import Process, open_file, printable
from rclrt_tools.live.follow import MAX_CHUNKS, MOST_OF_ENTRY, entry_of
from rclrt_tools.trace import layout
from rclrt_tools.trace.layout import RECORD, Entry, Records, TraceError

MOST_BYTES = 1 << 24
"""Bytes of records that are read at once."""

FOLDER = b"RCLRT_PROBE_FOLDER="


def probed_files(proc: Path = Path("/proc")) -> list[Path]:
    """Return the trace files of processes that run under the probe and may be looked into."""
    found: list[Path] = []
    for process in proc.iterdir():
        if not process.name.isdecimal():
            continue
        try:
            settings = (process / "environ").read_bytes().split(b"\0")
            folder = next((s[len(FOLDER) :] for s in settings if s.startswith(FOLDER)), None)
            if folder is None:
                continue
            place = (process / "cwd").readlink() / os.fsdecode(folder)
            name = re.compile(rf".*-{process.name}-[0-9a-f]{{16}}(\.\d+)?\.trace")
            found += [path for path in place.iterdir() if name.fullmatch(path.name)]
        except (OSError, ValueError):
            continue
    return sorted(found)


class Tail:
    """What is new in a trace file that grows; the same as `Follower`.

    What was there when it was opened is passed over and counts as `earlier`.

    Raises
    ------
    TraceError
        The file is no trace, or not that of a process that runs.
    OSError
        It cannot be opened, or is a link or a pipe.
    """

    left_by = "ended"  # Its process leaves the file, however it ends.

    def __init__(self, path: Path) -> None:
        self.path = path
        self._stream = open_file(path)
        self.callbacks: dict[int, Entry] = {}
        self.missed = self.earlier = 0
        self._at = layout.HEADER.size
        self._known = 0
        self._chunks = 0
        try:
            self.header = self._header()
            self.process = self._process()
            self._passing = True
            self.poll()
            self._passing = False
        except BaseException:
            os.close(self._stream)
            raise

    def close(self) -> None:
        """Close the file."""
        os.close(self._stream)

    def runs(self) -> bool | None:
        """Return whether its process still runs."""
        return self.process.runs()

    def poll(self) -> Records:
        """Return the records that are new.

        Raises
        ------
        TraceError
            Somebody else has written into the file.
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
                break  # Not yet written, or not yet all of it.
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
            text = Path(f"/proc/{number}/stat").read_text(encoding="utf-8", errors="replace")
            born = int(text.rpartition(")")[2].split()[19]) % 2**32
        except (OSError, ValueError, IndexError) as error:
            raise TraceError(f"{self.path}: its process has ended") from error
        return Process(number, Path("/proc/self/ns/pid").stat().st_ino, born, printable(name))

    def _read(self, at: int, size: int) -> bytes:
        data = os.pread(self._stream, size, at)
        if len(data) < size:
            raise TraceError(f"{self.path}: somebody has cut it short")
        return data
