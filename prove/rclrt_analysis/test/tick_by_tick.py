# Copyright 2026 The rclrt Authors
# SPDX-License-Identifier: Apache-2.0
"""A second simulator, which shares nothing with the one of the package.

It goes from tick to tick: each core runs one unit of the most urgent job. Messages carry a stamp:
when the first callback of the chain got the data. What the chain does to an event outside is then
read off by asking each instant.
"""

import itertools
import random
from dataclasses import dataclass, field

from rclrt_analysis.model import Chain, ExecutorKind, Kind, System

NEVER = -1


@dataclass(eq=False)
class Work:
    callback: int
    release: int
    left: int
    publish_at: int
    """It publishes when so much is left."""
    stamp: int = NEVER
    completed: bool = True
    """Whether the chain's own message was the last to come wherever others were waited for."""
    started: bool = False
    published: bool = False


@dataclass
class Seen:
    """What came out of a chain.

    inputs: (release, stamp) of every job of the first callback.
    outputs: (end, stamp, completed) of every job of the last callback.
    """

    inputs: list[tuple[int, int]] = field(default_factory=list)
    outputs: list[tuple[int, int, bool]] = field(default_factory=list)
    running: int = 0

    def reactions(self) -> list[int]:
        """Return how long an event of each instant takes to come out, if it must be looked at."""
        found = []
        ends = sorted((end, stamp) for end, stamp, _ in self.outputs)
        last = max((stamp for _, stamp in ends), default=0)
        first = min((stamp for _, stamp in self.inputs if stamp >= self.running), default=last)
        i, best = 0, NEVER
        for event in range(first, last):
            while best <= event:  # Outputs that looked later than the event have it.
                best = max(best, ends[i][1])
                i += 1
            found.append(ends[i - 1][0] - event)
        return found

    def ages(self) -> list[int]:
        """Return how old the newest data that came out are, just before each instant."""
        found = []
        ends = sorted((end, stamp) for end, stamp, _ in self.outputs)
        newest, i = NEVER, 0
        for instant in range(ends[-1][0] + 1 if ends else 0):
            if newest >= self.running:
                found.append(instant - newest)
            while i < len(ends) and ends[i][0] <= instant:
                newest = max(newest, ends[i][1])
                i += 1
        return found

    def latencies(self, last_to_come: bool = False) -> list[int]:
        """Return how long each job's data, or newer, took to come out."""
        found = []
        for release, stamp in self.inputs:
            if last_to_come:
                through = [e for e, s, completed in self.outputs if s == stamp and completed]
            else:
                through = [end for end, s, _ in self.outputs if s >= stamp]
            if through and release >= self.running:
                found.append(min(through) - release)
        return found


class Ticks:
    """Runs a system of isolated and priority_events executors with a core each."""

    def __init__(self, system: System, chain: Chain, rng: random.Random) -> None:
        self.system, self.chain, self.rng = system, chain, rng
        number = {c.name: i for i, c in enumerate(system.callbacks)}
        self.wanted = [number[name] for name in chain.callbacks]
        self.next = [
            rng.randrange(c.period) if c.period is not None else None for c in system.callbacks
        ]
        self.late = [0] * len(system.callbacks)
        self.core = [system.executor_of[c.executor].cores[0] for c in system.callbacks]
        keeps = ExecutorKind.PRIORITY_EVENTS
        self.keeps = {e.cores[0]: e.kind is keeps for e in system.executors}
        self.ready: dict[int, list[Work]] = {core: [] for core in self.keeps}
        self.latest: dict[str, tuple[int, bool]] = {}
        self.stored: dict[int, dict[str, int]] = {}
        self.seen = Seen()
        self.unfinished = set(range(len(system.callbacks)))

    def go(self, ticks: int) -> Seen:
        for now in range(ticks):
            for core in self.ready:
                self._finish(core, now)
            for i, due in enumerate(self.next):
                if due is not None and due <= now:
                    self._release_timed(i, now)
            for core in self.ready:
                self._run(core, now)
        return self.seen

    def _release_timed(self, i: int, now: int) -> None:
        callback = self.system.callbacks[i]
        self._add(i, now, now if callback.kind is not Kind.TIMER else NEVER, True)
        nominal = (self.next[i] or 0) - self.late[i] + (callback.period or 1)
        self.late[i] = self.rng.choice((0, callback.jitter, self.rng.randint(0, callback.jitter)))
        self.next[i] = max(nominal + self.late[i], now)

    def _add(self, i: int, now: int, stamp: int, completed: bool) -> None:
        callback = self.system.callbacks[i]
        work = self.rng.choice((callback.wcet, callback.wcet, self.rng.randint(1, callback.wcet)))
        at = self.rng.choice((0, work - 1, self.rng.randrange(work)))
        job = Work(i, now, work, at, stamp, completed)
        if i == self.wanted[0] and callback.kind is not Kind.TIMER:
            job.stamp = now
            self.seen.inputs.append((now, now))
        self.ready[self.core[i]].append(job)

    def _run(self, core: int, now: int) -> None:
        ready = self.ready[core]
        if not ready:
            return
        job = ready[0]
        if not (self.keeps[core] and job.started):
            best = max(
                ready,
                key=lambda j: (
                    self.system.callbacks[j.callback].priority or 0,
                    j.started and self.keeps[core],
                    -j.release,
                ),
            )
            ready.remove(best)
            ready.insert(0, best)
            job = best
        if not job.started:
            self._begin(job, now)
        job.left -= 1

    def _begin(self, job: Work, now: int) -> None:
        job.started = True
        callback = self.system.callbacks[job.callback]
        if job.callback not in self.wanted:
            return
        place = self.wanted.index(job.callback)
        if not place:
            if callback.kind is Kind.TIMER:
                job.stamp = now
                self.seen.inputs.append((job.release, now))
            return
        before = self.system.callbacks[self.wanted[place - 1]].publishes
        if not set(before) & set(callback.triggers):
            read = [self.latest.get(t, (NEVER, True)) for t in before if t in callback.reads]
            job.stamp, job.completed = max(read)

    def _finish(self, core: int, now: int) -> None:
        for job in self.ready[core][:1]:
            if job.started and not job.published and job.left <= job.publish_at:
                self._publish(job, now)
            if job.started and job.left == 0:
                self.ready[core].remove(job)
                if self.unfinished:
                    self.unfinished.discard(job.callback)
                    self.seen.running = now + 1 if not self.unfinished else 1 << 40
                if job.callback == self.wanted[-1]:
                    self.seen.outputs.append((now, job.stamp, job.completed))

    def _publish(self, job: Work, now: int) -> None:
        job.published = True
        for topic in self.system.callbacks[job.callback].publishes:
            self.latest[topic] = (job.stamp, job.completed)
            for i, callback in enumerate(self.system.callbacks):
                if topic not in callback.triggers:
                    continue
                stamp, completed = job.stamp, job.completed
                if callback.wants_all:
                    stored = self.stored.setdefault(i, {})
                    stored[topic] = job.stamp
                    if len(stored) < len(callback.triggers):
                        continue
                    own = self._own_topic(i)
                    stamp, completed = stored.get(own, NEVER), completed and topic == own
                    stored.clear()
                if not self._is_hop(job.callback, i) and not callback.wants_all:
                    stamp = NEVER
                self._add(i, now, stamp, completed)

    def _is_hop(self, first: int, second: int) -> bool:
        wanted = self.wanted
        return any((a, b) == (first, second) for a, b in itertools.pairwise(wanted))

    def _own_topic(self, i: int) -> str:
        if i not in self.wanted or not self.wanted.index(i):
            return ""
        before = self.system.callbacks[self.wanted[self.wanted.index(i) - 1]]
        return next((t for t in before.publishes if t in self.system.callbacks[i].triggers), "")
