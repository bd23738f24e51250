# Copyright 2026 The rclrt Authors
# SPDX-License-Identifier: Apache-2.0
"""Live traces written by hand."""

import fcntl
import os
from pathlib import Path

from rclrt_tools.live.watch import Watch
from rclrt_tools.trace import layout
from rclrt_tools.trace.layout import RECORD, blank

CAPACITY = 8
MS = 1_000_000
BEGIN = 1_000_000 * MS
WINDOW = 5_000 * MS


def born(process: int | str = "self") -> int:
    text = Path(f"/proc/{process}/stat").read_text(encoding="utf-8")
    return int(text.rpartition(")")[2].split()[19])


class Program:
    """A live trace, written as the engine does."""

    def __init__(
        self,
        folder: Path,
        born_at: int | None = None,
        number: int | None = None,
        program: str = "robot",
        capacity: int = CAPACITY,
        executor: int = 1,
        namespace: int | None = None,
    ) -> None:
        folder.mkdir(mode=0o700, exist_ok=True)
        number = os.getpid() if number is None else number
        self.path = folder / f"robot-{number}-{executor}.trace"
        if namespace is None:
            namespace = Path("/proc/self/ns/pid").stat().st_ino
        born_at = born() if born_at is None else born_at
        self.capacity = capacity
        self.stream = self.path.open("wb", buffering=0)
        fcntl.flock(self.stream, fcntl.LOCK_EX)  # As an executor does.
        self.stream.write(
            layout.HEADER.pack(layout.MAGIC, 2, 128, bytes(16), 0, number, executor, 2, 2, 0)
        )
        name = program.encode()
        self.chunk(layout.CHUNK_PROCESS, layout.PROCESS.pack(namespace, born_at, len(name)) + name)
        self.rings: list[int] = []
        self.heads: list[int] = []

    def chunk(self, kind: int, content: bytes) -> int:
        at = self.stream.seek(0, os.SEEK_END)
        self.stream.write(
            layout.CHUNK.pack(kind, len(content)) + content + bytes(-len(content) % 8)
        )
        return at + layout.CHUNK.size

    def callback(self, key: int, name: str, group: str = "", period_ns: int = 5) -> None:
        one, other = name.encode(), group.encode()
        entry = layout.ENTRY.pack(key, 0, 1, 1, period_ns, len(one), len(other))
        self.chunk(layout.CHUNK_CALLBACK, entry + one + other)

    def ring(self) -> int:
        content = layout.RING.pack(0, self.capacity) + bytes(self.capacity * RECORD.itemsize)
        self.rings.append(self.chunk(layout.CHUNK_RING, content))
        self.heads.append(0)
        return len(self.rings) - 1

    def job(self, ring: int, sequence: int, callback: int = 1, **fields: int) -> None:
        one = blank(1)
        one["sequence"], one["callback"], one["end_ns"] = sequence, callback, sequence
        for name, value in fields.items():
            one[name] = value
        slot = self.heads[ring] % self.capacity
        at = self.rings[ring] + layout.RING.size + slot * RECORD.itemsize
        os.pwrite(self.stream.fileno(), one.tobytes(), at)
        self.heads[ring] += 1
        self.head(ring, self.heads[ring])

    def head(self, ring: int, value: int) -> None:
        os.pwrite(self.stream.fileno(), layout.LOST.pack(value), self.rings[ring])


class Robot(Program):
    """A timer of 50 ms and a subscription; and the clock of those that watch it."""

    def __init__(self, folder: Path) -> None:
        super().__init__(folder, capacity=128)
        self.folder, self.now = folder, BEGIN
        self.callback(1, "/robot/timer/50ms", "/robot", 50 * MS)
        self.callback(7, "/robot/subscription/scan", "/robot", -1)
        self.ring()

    def watching(self, *wanted: str) -> Watch:
        return Watch([*wanted], WINDOW, [self.folder], lambda: self.now)
