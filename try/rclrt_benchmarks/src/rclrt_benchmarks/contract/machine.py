# Copyright 2026 The rclrt Authors
# SPDX-License-Identifier: Apache-2.0
"""The machine beside what is judged: when it was away, and what real-time threads of others took.

Neither a model nor an executor can do anything about a machine that is away. Threads of other
programs are looked for in /proc, some times a second: what comes and goes between two looks is not
seen.
"""

import json
import os
import subprocess
import threading
import time
from collections.abc import Collection, Iterator, Sequence
from dataclasses import dataclass
from pathlib import Path

from rclrt_tools.calibration import Calibration, read_samples
from rclrt_tools.commands.model.calibrate import PROGRAM
from rclrt_tools.places import program
from rclrt_tools.reference.program import ProgramError, ends_with_us


def calibrated(cpus: Sequence[int], samples: int, seconds: float) -> Calibration:
    """Measure what jobs cost here.

    Raises ProgramError: The machine does not allow it, or the program is not built.
    """
    command = [*_program(), str(samples), str(seconds), *map(str, cpus)]
    try:
        done = subprocess.run(command, capture_output=True, text=True, check=False, timeout=600)
    except (OSError, subprocess.TimeoutExpired) as error:
        raise ProgramError(1, str(error)) from error
    if done.returncode != 0:
        raise ProgramError(done.returncode, done.stdout + done.stderr)
    return read_samples(json.loads(done.stdout))


def _program() -> list[str]:
    return [*ends_with_us(), str(program("rclrt_benchmarks", PROGRAM))]


class Stalls:
    """The times at which the most urgent thread of a CPU did not run though it was due.

    Whatever delays it delays every callback: the host of a virtual machine, interrupts, firmware, a
    system call of another program that the kernel does not leave.

    spans: Known ones: CPU, begin and end.
    """

    def __init__(self, cpus: Sequence[int], spans: Sequence[tuple[int, int, int]] = ()) -> None:
        self._command = [*_program(), "stalls", *map(str, cpus)]
        self._spans = list(spans)

    def __enter__(self) -> "Stalls":
        self._process = subprocess.Popen(
            self._command,
            stdin=subprocess.PIPE,
            stdout=subprocess.PIPE,
            text=True,
            start_new_session=True,
        )
        return self

    def __exit__(self, *_: object) -> None:
        said, _error = self._process.communicate(timeout=60)
        for line in said.splitlines():
            fields = line.split()
            if len(fields) == 3:
                self._spans.append((int(fields[0]), int(fields[1]), int(fields[2])))

    @property
    def longest_ms(self) -> float:
        """Return the longest."""
        return max((end - begin for _, begin, end in self._spans), default=0) / 1e6

    def within(self, begin: int, end: int, cpu: int) -> int:
        """Return how long a CPU was away in that time, ns."""
        mine = ((a, b) for core, a, b in self._spans if core == cpu)
        return sum(max(0, min(b, end) - max(a, begin)) for a, b in mine)


REAL_TIME = (os.SCHED_FIFO, os.SCHED_RR, 6)
"""And SCHED_DEADLINE."""
LOOKS_EVERY_S = 0.25
KERNEL = 2
"""The parent of all threads of the kernel."""


@dataclass(frozen=True)
class Stranger:
    """A thread; `ran` is its CPU time so far, ns."""

    process: int
    thread: int
    name: str
    cpu: int
    ran: int


def look(proc: Path = Path("/proc"), known: Collection[int] = ()) -> Iterator[Stranger]:
    """Yield the real-time threads that are none of the kernel's, of known processes, or children.

    known: Processes, with their children.
    """
    for process in proc.iterdir():
        if not process.name.isdigit():
            continue
        try:
            parent = int(_fields(process / "stat")[1])
            if parent in (KERNEL, *known) or int(process.name) in (KERNEL, *known):
                continue
            threads = list((process / "task").iterdir())
        except (OSError, ValueError, IndexError):
            continue  # It has ended.
        for thread in threads:
            try:
                fields = _fields(thread / "stat")
                if int(fields[38]) not in REAL_TIME:
                    continue
                name = (thread / "comm").read_text(encoding="utf-8", errors="replace").strip()
                ran = int((thread / "schedstat").read_text(encoding="ascii").split()[0])
                yield Stranger(int(process.name), int(thread.name), name, int(fields[36]), ran)
            except (OSError, ValueError, IndexError):
                continue


def _fields(path: Path) -> list[str]:
    """Return the fields of a stat file from the third on, the state."""
    return path.read_text(encoding="utf-8", errors="replace").rpartition(")")[2].split()


class Strangers:
    """What they ran on some CPUs in the meantime."""

    def __init__(self, cpus: Collection[int], proc: Path = Path("/proc")) -> None:
        self._cpus = cpus
        self._proc = proc
        self._last: dict[tuple[int, int], int] = {}
        self.ran: dict[str, int] = {}
        """By name and process, ns."""
        self.spans: list[tuple[int, int, int]] = []
        """From one look to the next, and how long they ran in between, ns."""
        self._looked = time.monotonic_ns()

    def __enter__(self) -> "Strangers":
        self._ended = threading.Event()
        self.note(is_first=True)
        self._looking = threading.Thread(target=self._look, daemon=True)
        self._looking.start()
        return self

    def __exit__(self, *_: object) -> None:
        self._ended.set()
        self._looking.join()
        self.note()

    def _look(self) -> None:
        while not self._ended.wait(LOOKS_EVERY_S):
            self.note()

    def note(self, is_first: bool = False) -> None:
        """Look once; at the first look only what they have run already is noted."""
        since, self._looked, total = self._looked, time.monotonic_ns(), self.total
        for one in look(self._proc, (os.getpid(),)):
            before = self._last.get((one.process, one.thread), one.ran if is_first else 0)
            self._last[one.process, one.thread] = one.ran
            if one.cpu in self._cpus and one.ran > before:
                who = f"{one.name} ({one.process})"
                self.ran[who] = self.ran.get(who, 0) + one.ran - before
        if self.total > total:
            self.spans.append((since, time.monotonic_ns(), self.total - total))

    def within(self, begin: int, end: int) -> int:
        """Return how long they may have run in that time at most, ns."""
        return sum(
            min(ran, end - begin, until - since)
            for since, until, ran in self.spans
            if since < end and begin < until
        )

    @property
    def total(self) -> int:
        """Return how long all of them ran, ns."""
        return sum(self.ran.values())

    def __str__(self) -> str:
        worst = sorted(self.ran.items(), key=lambda item: -item[1])[:3]
        more = len(self.ran) - len(worst)
        said = ", ".join(f"{who} for {ns / 1e6:.1f} ms" for who, ns in worst)
        return said + (f" and {more} more" if more > 0 else "")
