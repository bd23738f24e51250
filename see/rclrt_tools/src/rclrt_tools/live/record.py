# Copyright 2026 The rclrt Authors
# SPDX-License-Identifier: Apache-2.0
"""Writes the live traces of running executors into trace files.

The executors know nothing of it: no thread of theirs does anything for it. In the background
(`./rclrt trace start` and `stop`) the folder of the recording says which process it is, so several
folders may be recorded into at once, and nothing else is left behind.
"""

import contextlib
import os
import signal
import subprocess
import time
from collections.abc import Callable
from pathlib import Path
from typing import BinaryIO

from rclrt_tools import cli
from rclrt_tools.live.files import BORN, STATE, Process, Running, reason, stat_of
from rclrt_tools.live.follow import Follower
from rclrt_tools.places import me
from rclrt_tools.trace import layout
from rclrt_tools.trace.layout import TraceError

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
        self._stream.write(layout.packed_header(self.follower.header))

    @property
    def process(self) -> Process:
        """The writer of the live trace."""
        return self.follower.process

    def runs(self) -> bool | None:
        """Return whether its program still runs."""
        return self.follower.runs()

    def step(self) -> None:
        """Write what is new.

        Raises TraceError, OSError: The live trace cannot be read, or the file not written.
        """
        records = self.follower.poll()
        for entry in self.follower.entries[self._entries :]:
            self._stream.write(layout.packed_chunk(layout.CHUNK_CALLBACK, entry))
        self._entries = len(self.follower.entries)
        if len(records):
            self._stream.write(layout.packed_chunk(layout.CHUNK_RECORDS, records.tobytes()))
        if self.follower.missed != self._lost:
            self._lost = self.follower.missed
            lost = layout.LOST.pack(min(self._lost, MOST_LOST))
            self._stream.write(layout.packed_chunk(layout.CHUNK_LOST, lost))
        self.count += len(records)
        self._stream.flush()

    def close(self) -> None:
        """End the file."""
        self.follower.close()
        self._stream.seek(0)
        self._stream.write(layout.packed_header(self.follower.header))
        self._stream.close()


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

    Raises OSError: The folder cannot be made.
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


NAME = ".recording"
PATIENCE_S = 10.0


def born(process: int) -> str:
    """Return when a process began, as the kernel counts; empty: it does not run."""
    try:
        fields = stat_of(f"/proc/{process}")[1]
    except OSError:
        return ""
    return "" if fields[STATE] in "ZX" else fields[BORN]


def running(folder: Path) -> int:
    """Return the process that records into the folder; 0: none."""
    try:
        process, began = (folder / NAME).read_text(encoding="utf-8").split()
        return int(process) if born(int(process)) == began else 0
    except (OSError, ValueError):
        return 0


def start(folder: Path, options: list[str]) -> str:
    """Begin to record, and return what to say.

    Raises ValueError: A recording into this folder runs, or it ended at once; the text says why.
    Raises OSError: The folder cannot be made or written.
    """
    if running(folder):
        raise ValueError(f"{folder}: process {running(folder)} records into it already")
    folder.mkdir(parents=True, exist_ok=True)
    log = folder / f"{NAME}.log"
    command = cli.command("trace", "record", "-o", str(folder))
    with log.open("wb") as out:
        child = subprocess.Popen(
            [*command, *options], stdin=subprocess.DEVNULL, stdout=out, stderr=out,
            start_new_session=True,
        )  # fmt: skip
    (folder / NAME).write_text(f"{child.pid} {born(child.pid)}\n", encoding="utf-8")
    end = time.monotonic() + PATIENCE_S
    while b"recording into" not in log.read_bytes() and time.monotonic() < end:
        if child.poll() is not None:
            raise ValueError(log.read_text(encoding="utf-8").strip() or "it ended at once")
        time.sleep(0.02)
    child.returncode = 0  # It goes on without us.
    return f"process {child.pid} records into {folder}; {me()} trace stop -o {folder} ends it"


def stop(folder: Path) -> str:
    """End the recording into a folder, and return what it said.

    Raises ValueError: There is none, or it does not end.
    """
    process = running(folder)
    if not process:
        raise ValueError(f"{folder}: no recording into this folder runs")
    began = born(process)
    os.kill(process, signal.SIGTERM)
    end = time.monotonic() + PATIENCE_S
    while born(process) == began:
        if time.monotonic() >= end:
            raise ValueError(f"process {process} does not end")
        time.sleep(0.02)
    log = folder / f"{NAME}.log"
    said = log.read_text(encoding="utf-8", errors="replace")
    for left in (folder / NAME, log):
        with contextlib.suppress(OSError):
            left.unlink()
    return said.strip()
