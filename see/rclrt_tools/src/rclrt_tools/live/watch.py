# Copyright 2026 The rclrt Authors
# SPDX-License-Identifier: Apache-2.0
"""Watches all executors that run: which there are, what they do, and on which threads.

Of threads it shows what the kernel has in force, not what was asked for.
"""

from __future__ import annotations

import time
from collections.abc import Callable
from dataclasses import dataclass, field
from pathlib import Path
from typing import TYPE_CHECKING, Any

import numpy as np
import numpy.typing as npt
from rclrt_tools.live.activity import Activity
from rclrt_tools.live.files import Process, has_owner, live_files, reason
from rclrt_tools.live.follow import Follower, ProbedFiles, Tail
from rclrt_tools.live.outside import Outside
from rclrt_tools.live.record import is_wanted
from rclrt_tools.live.threads import Thread, threads_of
from rclrt_tools.trace.layout import TraceError

if TYPE_CHECKING:
    from rclrt_tools.watch.sources import Live

LOOKS_NS = 500_000_000
"""How often it looks for new programs, and for those that have ended."""

PROBES_NS = 2_000_000_000
"""How often it looks for processes under the probe: it has to ask every process."""

FEW_NS, MOST_NS = 20_000_000, 250_000_000
FEW_RECORDS = 256
"""Reads more often while more than so many are new; a thread keeps its newest 1023."""

MAX_ENDED = 200


@dataclass
class Watched:
    """One executor.

    state: `runs`; `elsewhere`: in a container, so the kernel cannot be asked; `killed`: its process
        has ended and left its live trace; `ended`: it has removed that, or was under the probe;
        `unreadable`.
    lost: Records that were overwritten before they were read, without those before the first look.
    """

    path: Path
    follower: Follower | Tail
    activity: Activity
    state: str
    jobs: float = 0.0
    lost: int = 0
    missed: int = 0
    why: str = ""

    @property
    def process(self) -> Process:
        """Return the executor that runs it."""
        return self.follower.process

    @property
    def followed(self) -> bool:
        """Return whether there may be new records; else the file is closed."""
        return self.state in ("runs", "elsewhere")


@dataclass(frozen=True)
class ThreadUse:
    """A thread and what it did since the last snapshot; `jobs` is None outside."""

    process: Process
    thread: Thread
    cpu: float | None
    preempted: float | None
    jobs: float | None
    slept: float | None = None


@dataclass
class Snapshot:
    """All at one time.

    recent, cpu: For each executor that is read, what its callbacks did; share of a CPU of each
        process.
    unreadable: Paths and why.
    chains: Of a model, if one was given, and what is not as it says: callback, text, how often.
    outside: Processes that were started without us.
    """

    now_ns: int
    executors: list[Watched]
    recent: list[npt.NDArray[np.void]]
    threads: list[ThreadUse]
    cpu: dict[Process, float]
    unreadable: dict[Path, str] = field(default_factory=dict)
    chains: list[dict[str, Any]] = field(default_factory=list)
    broken: list[tuple[str, str, int]] = field(default_factory=list)
    outside: list[Process] = field(default_factory=list)

    @property
    def followed(self) -> list[Watched]:
        """The executors that `recent` belongs to."""
        return [one for one in self.executors if one.followed]


class Watch:
    """Call `poll` again and again, and `snapshot` when the numbers are wanted.

    pause_ns: When to call `poll` again.
    """

    def __init__(
        self,
        wanted: list[str],
        window_ns: int,
        places: list[Path] | None = None,
        clock: Callable[[], int] = time.monotonic_ns,
        probed: Callable[[], list[Path]] | None = None,
        chains: Live | None = None,
        outside: Callable[[list[str]], list[Process]] | None = None,
        from_begin: bool = False,
    ) -> None:
        self._from_begin = from_begin
        self._chains = chains
        self._wanted = wanted
        self._window_ns = window_ns
        self._places = places
        self._clock = clock
        self._watched: dict[tuple[Path, int], Watched] = {}
        self._ended: list[Watched] = []
        self._refused: set[tuple[Path, int]] = set()
        self._unreadable: dict[tuple[Path, int], str] = {}
        # `list` makes an empty one: a user that says where to look means no other places.
        self._probed = probed or (ProbedFiles().look if places is None else list)
        self._find_outside = outside or (Outside().look if places is None else lambda _: [])
        self._outside: list[Process] = []
        self._tails: set[Path] = set()
        self._next_look = self._next_probes = 0
        self._threads: dict[tuple[Process, int], tuple[int, Thread]] = {}
        self.pause_ns = MOST_NS

    def poll(self) -> None:
        """Read what is new."""
        now = self._clock()
        if now >= self._next_look:
            self._next_look = now + LOOKS_NS
            self._look(now)
        if self._chains:
            self._chains.step()
            self._chains.said.clear()  # The processes are shown anyway.
        most = 0
        for key, one in list(self._watched.items()):
            if one.followed:
                most = max(most, self._read(key, one))
        follows = self._chains or any(one.followed for one in self._watched.values())
        self.pause_ns = (
            PROBES_NS
            if not follows
            else max(FEW_NS, self.pause_ns // 2)
            if most > FEW_RECORDS
            else min(MOST_NS, self.pause_ns * 5 // 4)
        )

    def close(self) -> None:
        """Close all files."""
        if self._chains:
            self._chains.close()
        for one in self._watched.values():
            if one.followed:
                one.follower.close()
        self._watched.clear()

    def recount(self) -> None:
        """Count anew."""
        for one in self._watched.values():
            one.activity.recount(self._clock())
            one.lost = 0

    def _look(self, now: int) -> None:
        there: set[tuple[Path, int]] = set()
        if now >= self._next_probes:
            self._next_probes = now + PROBES_NS
            self._tails = set(self._probed())
            self._outside = self._find_outside(self._wanted)
        for path in (*live_files(self._places), *self._tails):
            try:
                there.add((path, path.lstat().st_ino))
            except OSError:
                continue
        self._refused &= there
        self._unreadable = {key: why for key, why in self._unreadable.items() if key in there}
        for key in sorted(there - self._watched.keys() - self._refused):
            self._begin(key, now)
        for key in self._watched.keys() - there:
            self._end(key, "ended")
        for key, one in list(self._watched.items()):
            if one.followed and one.follower.runs() is False:
                self._read(key, one)
                self._stop(one, one.follower.left_by)

    def _begin(self, key: tuple[Path, int], now: int) -> None:
        path = key[0]
        try:
            follower = Tail(path) if path in self._tails else Follower(path)
        except (TraceError, OSError) as error:
            # What nobody owns was left by a program that was killed, and is nobody's fault.
            if path in self._tails or isinstance(error, PermissionError) or has_owner(path):
                self._refuse(key, error)
            self._refused.add(key)
            return
        if not is_wanted(follower.process, self._wanted):
            self._refused.add(key)
            follower.close()
            return
        state = {True: "runs", False: "killed", None: "elsewhere"}[follower.runs()]
        activity = Activity(self._window_ns, now - self._window_ns)
        one = self._watched[key] = Watched(path, follower, activity, "runs")
        self._read(key, one)
        if follower.missed or follower.earlier:  # Something is missing of the time before.
            activity.recount(self._clock())
        else:  # All of it: the first job tells when it began.
            activity.begin_ns = max(activity.begin_ns, min(now, activity.first_ns))
        one.missed, one.lost = follower.missed, 0
        self._stop(one, state)

    def _read(self, key: tuple[Path, int], one: Watched) -> int:
        try:
            records = one.follower.poll()
        except (TraceError, OSError) as error:
            self._end(key, "unreadable")
            self._refused.add(key)
            if one.process.runs() is not False:  # Else it was killed: what is left is nobody's.
                self._refuse(key, error)
            return 0
        one.activity.learn(one.follower.callbacks)
        one.activity.add(records, self._clock())
        one.lost += one.follower.missed - one.missed
        one.missed = one.follower.missed
        return len(records)

    def _refuse(self, key: tuple[Path, int], error: Exception) -> None:
        self._refused.add(key)
        if len(self._unreadable) < MAX_ENDED:
            self._unreadable[key] = reason(error)

    def _end(self, key: tuple[Path, int], state: str) -> None:
        one = self._watched.pop(key)
        if state == "ended" and one.followed:
            self._ended = [*self._ended, one][-MAX_ENDED:]
        self._stop(one, state)

    @staticmethod
    def _stop(one: Watched, state: str) -> None:
        if one.followed:
            one.state = state
            if not one.followed:
                one.follower.close()

    def snapshot(self) -> Snapshot:
        """Read, and return what all do now; CPU times of threads since the last snapshot."""
        self.poll()
        now = self._clock()
        executors = sorted(
            [*self._watched.values(), *self._ended],
            key=lambda one: (one.process.program, one.process.number, one.follower.header.executor),
        )
        unreadable = {path: why for (path, _), why in self._unreadable.items()}
        snapshot = Snapshot(now, executors, [], [], {}, unreadable)
        if self._chains:
            content = self._chains.content()
            snapshot.chains, broken = content["chains"], content["broken_assumptions"]
            snapshot.broken = [(one["callback"], one["text"], one["times"]) for one in broken]
        jobs: dict[tuple[Process, int], float] = {}
        for one in snapshot.followed:
            recent, rates = one.activity.recent(now)
            one.jobs = sum(rates.values())
            snapshot.recent.append(recent)
            for thread, rate in rates.items():
                jobs[one.process, thread] = jobs.get((one.process, thread), 0.0) + rate
        ours = {one.process.number for one in executors if one.state == "runs"}
        snapshot.outside = [
            one for one in self._outside if one.number not in ours and one.runs() is not False
        ]
        self._use(snapshot, jobs)
        return snapshot

    def _use(self, snapshot: Snapshot, jobs: dict[tuple[Process, int], float]) -> None:
        before, self._threads = self._threads, {}
        ours = {one.process: None for one in snapshot.executors if one.state == "runs"}
        for process in [*ours, *snapshot.outside]:
            now = self._clock()
            for thread in threads_of(process.number):
                key = (process, thread.number)
                self._threads[key] = (now, thread)
                cpu = preempted = slept = None
                if key in before and now > before[key][0]:
                    began, was = before[key]
                    span = now - began
                    cpu = max(0, thread.cpu_ns - was.cpu_ns) / span
                    preempted = max(0, thread.preempted - was.preempted) / span * 1e9
                    slept = max(0, thread.slept - was.slept) / span * 1e9
                    snapshot.cpu[process] = snapshot.cpu.get(process, 0.0) + cpu
                    if self._from_begin:
                        self._threads[key] = before[key]
                ran = jobs.get(key, 0.0) if process in ours else None
                use = ThreadUse(process, thread, cpu, preempted, ran, slept)
                snapshot.threads.append(use)
