# Copyright 2026 The rclrt Authors
# SPDX-License-Identifier: Apache-2.0
"""Where a watch gets its records: trace files, or executors that run."""

import os
import time
from pathlib import Path
from typing import Any

import numpy as np
from rclrt_tools.arguments import trace_files
from rclrt_tools.live.files import Process, Running
from rclrt_tools.live.follow import Follower
from rclrt_tools.live.record import is_wanted
from rclrt_tools.live.threads import WORKER, threads_of
from rclrt_tools.trace import TraceError, layout, read_trace
from rclrt_tools.trace.layout import Header, Records, is_sane
from rclrt_tools.watch.watch import Watch

PAUSE_S = 0.05
SETTLES_NS = 300_000_000
"""Records are that old when they are judged: those of other threads are there by then."""

SETTLED_S = 1
"""So long after its begin a thread has the policy that is its own, not that of its parent."""


def watch_files(watch: Watch, paths: list[Path]) -> None:
    """Take all of these files, which have one clock.

    Raises TraceError: A file cannot be read, or has another clock.
    """
    begins: list[int] = []
    ends: list[int] = []
    boots = set()
    try:
        paths = trace_files(paths)
    except ValueError as error:
        raise TraceError(str(error)) from error
    for path in paths:
        trace = read_trace(path)
        boots.add(trace.header.boot_id)
        if len(boots) > 1:
            raise TraceError(f"{path}: of another boot or machine than {paths[0]}")
        records = trace.records[is_sane(trace.records)]
        watch.add(trace.header, trace.callbacks, records)
        watch.lost_records += trace.dropped + len(trace.records) - len(records)
        if len(records):
            begins.append(int(records["start_ns"].min()))
            ends.append(int(records["end_ns"].max()))
    watch.settle(min(begins, default=0))  # From here on a chain may be silent.
    watch.settle(max(ends, default=0))


ENDS_NS = 2_000_000_000
"""So long a process may take to end after it has removed its live trace."""


class Live:
    """The executors of this user that run."""

    def __init__(self, watch: Watch, programs: list[str], places: list[Path] | None = None) -> None:
        self._watch = watch
        self._programs = programs
        self._running = Running(self._begin, self._end, self._say, places)
        self._missed: dict[Path, int] = {}
        self._of_model: dict[Path, tuple[int, bool]] = {}  # With how many callbacks.
        self._workers: set[int] = set()  # Threads that run jobs, of the model or not.
        self._odd = 0
        self._gone: list[tuple[int, Process]] = []  # When it was, and whose live trace.
        self._unseen = 0
        self.said: list[str] = []

    def step(self) -> None:
        """Take what is new, and judge what is old enough."""
        if self._running.look():
            self._look_at_threads()
            self._look_for_gone()
        now = time.clock_gettime_ns(time.CLOCK_MONOTONIC)
        self._running.each(self._take)
        self._watch.lost_records = sum(self._missed.values()) + self._odd + self._unseen
        self._watch.settle(now - SETTLES_NS)

    def content(self) -> dict[str, Any]:
        """Return what was seen, as `./rclrt watch --json` does."""
        return self._watch.to_json()

    def close(self) -> None:
        """Close all files."""
        for follower in self._running.all.values():
            follower.close()
        self._running.all.clear()

    def _say(self, text: str) -> None:
        self.said.append(text)

    def _begin(self, path: Path) -> Follower | None:
        follower = Follower(path)
        if follower.runs() is False:
            follower.close()
            return None
        try:
            before = follower.poll()  # What was before the watch began is of no other account.
            if follower.process.runs():
                self._ran(before)
        except (TraceError, OSError):
            follower.close()
            raise
        return follower

    def _take(self, follower: Follower) -> None:
        records = follower.poll()
        now = time.clock_gettime_ns(time.CLOCK_MONOTONIC)
        every, records = len(records), records[is_sane(records) & (records["end_ns"] <= now)]
        self._odd += every - len(records)
        is_here = bool(follower.process.runs())  # The numbers of threads elsewhere are not ours.
        if is_here:
            self._ran(records)
        if not self._is_of_model(follower):
            self._look_at_stranger(follower, records)
            return
        self._watch.add(follower.header, follower.callbacks, records)
        self._missed[follower.path] = follower.missed

    def _end(self, follower: Follower, why: str) -> None:
        follower.close()
        is_of_model = self._is_of_model(follower)
        self._of_model.pop(follower.path, None)
        if why:
            self._say(why)
            self._unseen += is_of_model  # At least one record is missing from now on.
        elif is_of_model:
            self._gone.append((time.monotonic_ns(), follower.process))

    def _look_for_gone(self) -> None:
        """Tell of processes without a live trace: of those that end, that goes first."""
        now = time.monotonic_ns()
        for at, process in list(self._gone):
            who = f"{process.program} ({process.number})"
            if process.runs() is False:
                self._say(f"{who} has ended")
            elif now - at > ENDS_NS:
                self._say(f"{who} goes on, but its live trace was removed: it is not seen any more")
                self._unseen += 1
            else:
                continue
            self._gone.remove((at, process))

    def _ran(self, records: Records) -> None:
        self._workers.update(np.unique(records["thread"]).tolist())

    def _look_at_threads(self) -> None:
        of: dict[Process, list[Header]] = {}
        for follower in self._running.all.values():
            if self._is_of_model(follower) and follower.process.runs():
                of.setdefault(follower.process, []).append(follower.header)
        ticks = os.sysconf("SC_CLK_TCK")
        settled = (time.clock_gettime(time.CLOCK_BOOTTIME) - SETTLED_S) * ticks
        for process, headers in of.items():
            threads = [one for one in threads_of(process.number) if one.born < settled]
            workers = {one.number for one in threads if one.name.startswith(WORKER)}
            self._watch.look(process.program, headers, threads, workers | self._workers)

    def _is_of_model(self, follower: Follower) -> bool:
        """Whether it has a callback of the model, and is one of the programs that were named."""
        count = len(follower.callbacks)
        before, is_it = self._of_model.get(follower.path, (0, False))
        if before != count:
            name_of = self._watch.name_of
            is_it = is_wanted(follower.process, self._programs) and any(
                name_of(entry.name) is not None for entry in follower.callbacks.values()
            )
            self._of_model[follower.path] = count, is_it
        return is_it

    def _look_at_stranger(self, follower: Follower, records: Records) -> None:
        """Tell of real-time jobs on the CPUs of the model: no bound counts them."""
        cores = {core for executor in self._watch.system.executors for core in executor.cores}
        is_real_time = np.isin(records["policy"], layout.REAL_TIME)
        if np.any(is_real_time & np.isin(records["cpu"], list(cores))):
            who = f"{follower.process.program} ({follower.process.number})"
            text = "is not in the model, and runs jobs in real time on its CPUs"
            self._watch.foreign("stranger", who, text)
