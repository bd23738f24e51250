# Copyright 2026 The rclrt Authors
# SPDX-License-Identifier: Apache-2.0
"""Where a watch gets its records: trace files, or executors that run."""

from __future__ import annotations

import os
import time
from collections.abc import Callable
from pathlib import Path

from rclrt_analysis.live.files import live_files
from rclrt_analysis.live.follow import Follower
from rclrt_analysis.live.record import is_wanted
from rclrt_analysis.trace import TraceError, layout, read_trace
from rclrt_analysis.trace.layout import Header, Records
from rclrt_analysis.watch.watch import Watch

PAUSE_S = 0.05
LOOKS_S = 0.5
SETTLES_NS = 300_000_000
"""Records are that old when they are judged: those of other threads are there by then."""

POLICIES = {
    layout.POLICY_OTHER: os.SCHED_OTHER,
    layout.POLICY_FIFO: os.SCHED_FIFO,
    layout.POLICY_RR: os.SCHED_RR,
}
LOOKS_IN_A_ROW = 3


def watch_files(watch: Watch, paths: list[Path]) -> None:
    """Take all of these files, which have one clock.

    Raises
    ------
    TraceError
        A file cannot be read, is of version 1, or has another clock.
    """
    ends = []
    boots = set()
    for path in paths:
        trace = read_trace(path)
        if trace.version == 1:
            raise TraceError(f"{path}: version 1 does not say what released jobs; record it anew")
        boots.add(trace.header.boot_id)
        if len(boots) > 1:
            raise TraceError(f"{path}: of another boot or machine than {paths[0]}")
        watch.add(trace.header, trace.callbacks, trace.records)
        watch.lost_records += trace.dropped
        if len(trace.records):
            ends.append(int(trace.records["end_ns"].max()))
    watch.settle(max(ends, default=0))


class Threads:
    """Whether real-time threads still have what their jobs asked for."""

    def __init__(self) -> None:
        self._asked: dict[tuple[Header, int], set[tuple[int, int]]] = {}
        self._odd: dict[tuple[Header, int], int] = {}

    def add(self, header: Header, records: Records) -> None:
        """Note what the threads of an executor have had."""
        for thread, policy, priority in zip(
            *(records[name].tolist() for name in ("thread", "policy", "priority")), strict=True
        ):
            if thread and policy != layout.POLICY_UNKNOWN:
                self._asked.setdefault((header, thread), set()).add((policy, priority))

    def look(self, tell: Callable[[Header, str], None]) -> None:
        """Tell of threads that ran every job in real time and do not any more."""
        for (header, thread), asked in list(self._asked.items()):
            if any(policy not in (layout.POLICY_FIFO, layout.POLICY_RR) for policy, _ in asked):
                continue
            try:
                now = os.sched_getscheduler(thread) & ~0x40000000  # reset-on-fork
                priority = os.sched_getparam(thread).sched_priority
            except OSError:
                del self._asked[header, thread]  # It has ended.
                continue
            if now in (os.SCHED_FIFO, os.SCHED_RR):
                # What a job lends or inherits is more, never less than what was asked for.
                odd = priority < min(priority for _, priority in asked)
            else:
                odd = True
            looks = self._odd.get((header, thread), 0) + 1 if odd else 0
            self._odd[header, thread] = looks
            if looks == LOOKS_IN_A_ROW:
                word = {os.SCHED_FIFO: "fifo", os.SCHED_RR: "rr"}.get(now, "other")
                tell(header, f"thread {thread} has {word} {priority}, which no job of it asked for")


class Live:
    """The executors of this user that run."""

    def __init__(self, watch: Watch, programs: list[str], places: list[Path] | None = None) -> None:
        self._watch = watch
        self._programs = programs
        self._places = places
        self._followers: dict[Path, Follower] = {}
        self._refused: set[Path] = set()
        self._missed: dict[Path, int] = {}
        self._threads = Threads()
        self._next_look = 0.0
        self.said: list[str] = []

    def step(self) -> None:
        """Take what is new, and judge what is old enough."""
        if time.monotonic() >= self._next_look:
            self._next_look = time.monotonic() + LOOKS_S
            self._look()
        now = time.clock_gettime_ns(time.CLOCK_MONOTONIC)
        for path, follower in list(self._followers.items()):
            try:
                records = follower.poll()
            except (TraceError, OSError) as error:
                self._end(path, str(error))
                continue
            names = self._watch.system.callback_of
            if not any(entry.name in names for entry in follower.callbacks.values()):
                continue  # It has nothing to do with this system.
            self._threads.add(follower.header, records)
            self._watch.add(follower.header, follower.callbacks, records)
            self._missed[path] = follower.missed
        self._watch.lost_records = sum(self._missed.values())
        self._watch.settle(now - SETTLES_NS)

    def close(self) -> None:
        """Close all files."""
        for path in list(self._followers):
            self._end(path)

    def _end(self, path: Path, why: str = "") -> None:
        self._followers.pop(path).close()
        self._refused.add(path)
        if why:
            self.said.append(why)

    def _look(self) -> None:
        there = set(live_files(self._places))
        self._refused &= there
        for path in there - self._followers.keys() - self._refused:
            try:
                follower = Follower(path)
            except (TraceError, OSError) as error:
                self.said.append(str(error))
                self._refused.add(path)
                continue
            self._followers[path] = follower
            if follower.process.runs() is False or not is_wanted(follower.process, self._programs):
                self._end(path)
                continue
            follower.poll()  # What was before the watch began is of no account.
            self._missed[path] = follower.missed = 0
        for path, follower in list(self._followers.items()):
            if path not in there or follower.process.runs() is False:
                self._end(path, f"{follower.process.program} ({follower.process.number}) has ended")
        self._threads.look(self._tell_of_thread)

    def _tell_of_thread(self, header: Header, text: str) -> None:
        for follower in self._followers.values():
            if follower.header != header:
                continue
            names = {entry.name for entry in follower.callbacks.values()}
            for executor in self._watch.system.executors:
                members = self._watch.system.members(executor.name)
                if any(one.name in names for one in members):
                    self._watch.assumptions.foreign(executor.name, text)
                    return
