# Copyright 2026 The rclrt Authors
# SPDX-License-Identifier: Apache-2.0
"""Writes the live traces of running executors into trace files.

The executors know nothing of it: no thread of theirs does anything for it.
"""

from __future__ import annotations

import time
from collections.abc import Callable
from pathlib import Path
from typing import BinaryIO

from rclrt_tools.live.files import Process, reason
from rclrt_tools.live.follow import Follower
from rclrt_tools.live.running import Running
from rclrt_tools.trace import layout
from rclrt_tools.trace.layout import RECORD, TraceError

PAUSE_S = 0.02
MOST_LOST = 2**64 - 1


class Recording:
    """One live trace and the file that gets its records."""

    def __init__(self, follower: Follower, path: Path) -> None:
        self.follower = follower
        self.path = path
        self.count = 0
        self._stream: BinaryIO = path.open("wb")
        self._entries = 0
        self._lost = 0
        self._stream.write(self._header())

    @property
    def process(self) -> Process:
        """The writer of the live trace."""
        return self.follower.process

    def runs(self) -> bool | None:
        """Return whether its program still runs."""
        return self.follower.runs()

    def step(self) -> None:
        """Write what is new.

        Raises
        ------
        TraceError, OSError
            The live trace cannot be read, or the file not written.
        """
        records = self.follower.poll()
        for entry in self.follower.entries[self._entries :]:
            self._chunk(layout.CHUNK_CALLBACK, entry)
        self._entries = len(self.follower.entries)
        if len(records):
            self._chunk(layout.CHUNK_RECORDS, records.tobytes())
        if self.follower.missed != self._lost:
            self._lost = self.follower.missed
            self._chunk(layout.CHUNK_LOST, layout.LOST.pack(min(self._lost, MOST_LOST)))
        self.count += len(records)
        self._stream.flush()

    def close(self) -> None:
        """End the file."""
        self.follower.close()
        self._stream.seek(0)
        self._stream.write(self._header())
        self._stream.close()

    def _header(self) -> bytes:
        h = self.follower.header
        return layout.HEADER.pack(
            layout.MAGIC, 2, RECORD.itemsize, h.boot_id, h.clock_offset_ns, h.process, h.executor,
            h.model, h.ordering, h.timers_preempt,
        )  # fmt: skip

    def _chunk(self, kind: int, content: bytes) -> None:
        self._stream.write(
            layout.CHUNK.pack(kind, len(content)) + content + bytes(-len(content) % 8)
        )


def is_wanted(process: Process, wanted: list[str]) -> bool:
    """Return whether it is one of these numbers or names; no wishes: all."""
    return not wanted or str(process.number) in wanted or process.program in wanted


def record(
    folder: Path,
    wanted: list[str],
    until: Callable[[], bool],
    tell: Callable[[str], None],
    places: list[Path] | None = None,
) -> list[Recording]:
    """Record until `until` says so, also programs that begin meanwhile.

    Programs that have ended before are left alone: their live traces are files already.

    Raises
    ------
    OSError
        The folder cannot be made.
    """
    folder.mkdir(parents=True, exist_ok=True)
    done: list[Recording] = []

    def begin(path: Path) -> Recording | None:
        follower = Follower(path)
        if follower.runs() is not False and is_wanted(follower.process, wanted):
            return Recording(follower, _free(folder / path.name))
        follower.close()
        return None

    def end(recording: Recording, why: str) -> None:
        try:
            if not why:
                recording.step()
            recording.close()
        except (TraceError, OSError) as error:
            why = reason(error)
        if why:
            tell(f"{recording.path}: {why}")
        done.append(recording)

    running = Running(begin, end, tell, places)
    while not until():
        running.look()
        running.each(Recording.step)
        time.sleep(PAUSE_S)
    running.close()
    return done


def _free(path: Path) -> Path:
    """Return the path, or one like it that nobody has: another recording may be in this folder."""
    paths = (path.with_name(f"{path.stem}~{i}{path.suffix}") for i in range(2, 1000))
    return path if not path.exists() else next(one for one in paths if not one.exists())
