# Copyright 2026 The rclrt Authors
# SPDX-License-Identifier: Apache-2.0
"""Where live traces are, and whether their programs still run.

An executor keeps its newest records in a file in memory, in a directory of its user:
`/dev/shm/rclrt-<uid>`, or `/run/user/<uid>/rclrt` where that cannot be had.
"""

import fcntl
import os
import stat
import time
from collections.abc import Callable, Iterable, Iterator
from contextlib import suppress
from dataclasses import dataclass, field
from pathlib import Path
from typing import Generic, Protocol, TypeVar

from rclrt_tools.trace import layout
from rclrt_tools.trace.layout import TraceError

SHARED = Path("/dev/shm")
STATE, PARENT, FLAGS, BORN, POLICY = 0, 1, 6, 19, 38
"""Places in what `stat_of` returns."""
MAX_FILES = 65_536
"""Somebody may have filled the directory."""


@dataclass(frozen=True)
class Process:
    """Which process has written a file.

    namespace: Number of its PID namespace; 0: unknown.
    born: When it began: field 22 of `/proc/<pid>/stat`, the low 32 bits.
    file: The trace, if it was one in a directory of live traces.
    """

    number: int
    namespace: int
    born: int
    program: str
    file: str = field(default="", compare=False)

    def runs(self) -> bool | None:
        """Return whether it still runs; None: it cannot be seen from here."""
        try:
            if Path("/proc/self/ns/pid").stat().st_ino != self.namespace:
                # Its process locks the file as long as it lives.
                return None if has_lock(Path(self.file)) else False
            fields = stat_of(f"/proc/{self.number}")[1]
            # A zombie has ended.
            return int(fields[BORN]) % 2**32 == self.born and fields[STATE] not in "ZX"
        except FileNotFoundError:
            return False
        except (OSError, ValueError, IndexError):
            return None


def stat_of(folder: str) -> tuple[str, list[str]]:
    """Return the name of a process or thread in /proc, and its fields from the third of proc(5).

    Raises OSError, IndexError: It has ended, or may not be looked at.
    """
    name, _, rest = proc_text(f"{folder}/stat").rpartition(")")
    return name.partition("(")[2], rest.split()


def proc_text(path: str) -> str:
    """Return what a file of /proc has: there are many, so without the layers of text files."""
    with open(path, "rb", buffering=0) as file:  # noqa: PTH123
        return file.read().decode("utf-8", "replace")


def read_process(stream: int) -> tuple[layout.Header, Process] | None:
    """Return what an open file begins with; None: it is no live trace."""
    fixed = layout.HEADER.size + layout.CHUNK.size + layout.PROCESS.size
    try:
        begin = os.pread(stream, fixed, 0)
        if len(begin) < fixed or begin[:8] != layout.MAGIC:
            return None
        fields = layout.HEADER.unpack_from(begin)
        kind, _ = layout.CHUNK.unpack_from(begin, layout.HEADER.size)
        namespace, born, length = layout.PROCESS.unpack_from(begin, fixed - layout.PROCESS.size)
        name = os.pread(stream, min(length, 256), fixed).decode("utf-8", "replace")
    except OSError:
        return None
    if fields[1:3] != (2, layout.RECORD.itemsize) or kind != layout.CHUNK_PROCESS:
        return None
    header = layout.Header(*fields[3:])
    path = str(Path(f"/proc/self/fd/{stream}").readlink())
    return header, Process(header.process, namespace, born, printable(name), path)


def reason(error: Exception) -> str:
    """Return what is wrong, for people: the file and the words, no number."""
    text = str(error)
    if isinstance(error, OSError) and error.strerror:
        text = f"{error.filename}: {error.strerror}" if error.filename else error.strerror
    return printable(text)


def printable(text: str) -> str:
    """Return it without what a terminal would obey."""
    return text if text.isprintable() else "".join(c if c.isprintable() else "?" for c in text)


def open_file(path: Path) -> int:
    """Open a file that somebody else may have put there: no link, no pipe.

    Raises OSError: It cannot be opened or is no regular file.
    """
    stream = os.open(path, os.O_RDONLY | os.O_NOFOLLOW | os.O_NONBLOCK | os.O_CLOEXEC)
    if not stat.S_ISREG(os.fstat(stream).st_mode):
        os.close(stream)
        raise OSError(0, "no regular file", str(path))
    return stream


def directories() -> list[Path]:
    """Return the user's directories; for root those of all users."""
    user = os.geteuid()
    if user != 0:
        return [SHARED / f"rclrt-{user}", Path(f"/run/user/{user}/rclrt")]
    there = sorted(name for name in os.listdir(SHARED) if name.startswith("rclrt-"))  # noqa: PTH208
    return [*(SHARED / name for name in there), *sorted(Path("/run/user").glob("*/rclrt"))]


def live_files(places: Iterable[Path] | None = None) -> list[Path]:
    """Return the files that may be live traces, of running programs and of those that have ended.

    A directory that another user may write is not looked into.
    """
    found: list[Path] = []
    for place in directories() if places is None else places:
        try:
            info = place.lstat()
            if not stat.S_ISDIR(info.st_mode) or info.st_mode & 0o077:
                continue
            with os.scandir(place) as entries:
                for entry in entries:
                    if entry.name.endswith(".trace") and len(found) < MAX_FILES:
                        found.append(Path(entry.path))
        except OSError:
            continue
    return sorted(found)


def has_lock(path: Path) -> bool:
    """Return whether a process holds the lock of a live trace, in whatever PID namespace.

    Raises OSError: It cannot be opened, or is a link or a pipe.
    """
    with os.fdopen(open_file(path), "rb") as stream:
        try:
            fcntl.flock(stream, fcntl.LOCK_SH | fcntl.LOCK_NB)
        except BlockingIOError:
            return True
    return False


def has_owner(path: Path) -> bool:
    """Return whether a process that we may look at has the file open or in its memory.

    If a file does not say its writer, nothing else does: what a killed program has left may
    hold anything, or nothing. Asks every process, so it is for files that cannot be read.
    """
    try:
        info = path.lstat()
    except OSError:
        return False
    with suppress(OSError):
        if has_lock(path):
            return True
    mapped = f" {os.major(info.st_dev):02x}:{os.minor(info.st_dev):02x} {info.st_ino} "
    for process in Path("/proc").glob("[0-9]*"):
        try:
            if mapped in (process / "maps").read_text(encoding="utf-8", errors="replace"):
                return True
            for descriptor in (process / "fd").iterdir():
                if str(descriptor.readlink()) == str(path):
                    return True
        except OSError:
            continue
    return False


def live_processes() -> Iterator[tuple[Path, Process]]:
    """Yield the live traces, of what runs and what ran, with the processes that wrote them."""
    for path in live_files():
        try:
            stream = open_file(path)
        except OSError:
            continue
        try:
            begin = read_process(stream)
        finally:
            os.close(stream)
        if begin is not None:
            yield path, begin[1]


LOOKS_S = 0.2
"""How often it looks for new programs, and for those that have ended."""


class OfProcess(Protocol):
    """Whatever is made of a live trace."""

    def runs(self) -> bool | None:
        """Return whether its program still runs; None: elsewhere."""


One = TypeVar("One", bound=OfProcess)


class Running(Generic[One]):
    """Looks for live traces, and forgets those whose programs have ended.

    begin: Makes something of a file, or None if it is not wanted. What it raises of TraceError and
        OSError is told.
    end: Gets it back when the program has ended, or with the reason when it cannot go on.
    """

    def __init__(
        self,
        begin: Callable[[Path], One | None],
        end: Callable[[One, str], None],
        tell: Callable[[str], None],
        places: list[Path] | None = None,
    ) -> None:
        self.all: dict[Path, One] = {}
        self._begin = begin
        self._end = end
        self._tell = tell
        self._places = places
        self._refused: set[Path] = set()
        self._next_look = 0.0

    def look(self) -> bool:
        """Look, if it is time to; return whether it was."""
        if time.monotonic() < self._next_look:
            return False
        self._next_look = time.monotonic() + LOOKS_S
        there = set(live_files(self._places))
        self._refused &= there
        for path in sorted(there - self.all.keys() - self._refused):
            try:
                one = self._begin(path)
            except FileNotFoundError:  # Its program has ended since the look.
                continue
            except (TraceError, OSError) as error:
                if isinstance(error, OSError) or has_owner(path):
                    self._tell(reason(error))
                one = None
            if one is None:
                self._refused.add(path)
            else:
                self.all[path] = one
        for path, one in list(self.all.items()):
            if path not in there or one.runs() is False:
                self.end(path)
        return True

    def each(self, step: Callable[[One], None]) -> None:
        """Do this with each of them; of what raises TraceError or OSError that was the end."""
        for path, one in list(self.all.items()):
            try:
                step(one)
            except (TraceError, OSError) as error:
                self.end(path, reason(error))

    def end(self, path: Path, why: str = "") -> None:
        """Go on without this one."""
        self._refused.add(path)
        self._end(self.all.pop(path), why)

    def close(self) -> None:
        """End all of them."""
        for path in list(self.all):
            self.end(path)
