# Copyright 2026 The rclrt Authors
# SPDX-License-Identifier: Apache-2.0
"""Which messages go together by their stamps: what message_filters' policies do."""

from collections import deque
from collections.abc import Sequence

from rclrt_analysis.simulation.jobs import Job

PENALTY = 0.1
"""How much shorter a set must be, for each unit that it is later, to be a better one."""

Stamped = tuple[int, Job]


def stamp_of(job: Job) -> int:
    """Return when the job began that started the way to this one; messages are there when released.

    Those that others have not caused.
    """
    while job.released_by is not None:
        job = job.released_by
    return job.start if job.start >= 0 else job.release


class Exact:
    """Sets of one stamp. A set that is there makes those of earlier stamps vain."""

    def __init__(self, topics: Sequence[str], queue: int) -> None:
        self._topics = topics
        self._queue = queue
        self._sets: dict[int, dict[str, Job]] = {}

    def add(self, topic: str, job: Job) -> list[list[Job]]:
        """Take a message; return the sets that are complete with it."""
        stamp = stamp_of(job)
        mine = self._sets.setdefault(stamp, {})
        mine[topic] = job
        if len(mine) < len(self._topics):
            while len(self._sets) > self._queue:
                del self._sets[min(self._sets)]
            return []
        self._sets = {other: kept for other, kept in self._sets.items() if other > stamp}
        return [list(mine.values())]


class Approximate:
    """Sets that span as little time as possible, each around a pivot, its latest message."""

    def __init__(self, topics: Sequence[str], queue: int) -> None:
        self._number = {topic: i for i, topic in enumerate(topics)}
        self._queue = queue
        self._waiting: list[deque[Stamped]] = [deque() for _ in topics]
        self._past: list[list[Stamped]] = [[] for _ in topics]
        self._dropped = [False] * len(topics)
        self._best: list[Stamped] = []
        self._pivot = -1
        self._found: list[list[Job]] = []

    def add(self, topic: str, job: Job) -> list[list[Job]]:
        """Take a message; return the sets that nothing later can better."""
        i = self._number[topic]
        self._found = []
        self._waiting[i].append((stamp_of(job), job))
        if len(self._waiting[i]) == 1:
            self._process()
        if len(self._waiting[i]) + len(self._past[i]) > self._queue:
            self._recover()
            self._waiting[i].popleft()
            self._dropped[i] = True
            if self._pivot >= 0:
                self._best, self._pivot = [], -1
                self._process()
        return self._found

    def _recover(self) -> None:
        for waiting, past in zip(self._waiting, self._past, strict=True):
            waiting.extendleft(reversed(past))
            past.clear()

    def _process(self) -> None:
        while all(self._waiting):
            fronts = [waiting[0][0] for waiting in self._waiting]
            # If several are equal, the last one counts.
            latest = len(fronts) - 1 - fronts[::-1].index(max(fronts))
            first = min(range(len(fronts)), key=fronts.__getitem__)
            end, start = fronts[latest], fronts[first]
            for i in range(len(fronts)):
                self._dropped[i] &= i == latest
            if self._pivot < 0:
                if self._dropped[latest]:
                    self._waiting[first].popleft()
                    continue
                self._take()
                self._pivot = latest
            elif (end - self._end) * (1 + PENALTY) < start - self._start:
                self._take()
            self._past[first].append(self._waiting[first].popleft())
            pivot = self._best[self._pivot][0]
            if first == self._pivot or (end - self._end) * (1 + PENALTY) >= pivot - self._start:
                self._publish()
            elif not all(self._waiting) and not self._settled(pivot):
                return

    @property
    def _start(self) -> int:
        return min(stamp for stamp, _ in self._best)

    @property
    def _end(self) -> int:
        return max(stamp for stamp, _ in self._best)

    def _take(self) -> None:
        self._best = [waiting[0] for waiting in self._waiting]
        for past in self._past:
            past.clear()

    def _publish(self) -> None:
        self._found.append([job for _, job in self._best])
        self._best, self._pivot = [], -1
        self._recover()
        for waiting in self._waiting:
            waiting.popleft()

    def _settled(self, pivot: int) -> bool:
        """Publish if no later messages, whatever their stamps, can make a better set."""
        at = [0] * len(self._waiting)
        while True:
            fronts = []
            for waiting, past, moved in zip(self._waiting, self._past, at, strict=True):
                if moved < len(waiting):
                    fronts.append(waiting[moved][0])
                else:
                    newest = waiting[-1] if waiting else past[-1]
                    fronts.append(max(newest[0], pivot))
            end, start = max(fronts), min(fronts)
            first = fronts.index(start)
            if (end - self._end) * (1 + PENALTY) >= pivot - self._start:
                self._publish()
                return True
            if (end - self._end) * (1 + PENALTY) < start - self._start or at[first] >= len(
                self._waiting[first]
            ):
                return False
            at[first] += 1
