# Copyright 2026 The rclrt Authors
# SPDX-License-Identifier: Apache-2.0
"""One thread with a queue of events, ordered FIFO, by priority or by deadline [Teper25 §IV-V]."""

import heapq
from collections import deque
from collections.abc import Callable

from rclrt_analysis.model import Executor, ExecutorKind, Kind, Policy, Release
from rclrt_analysis.simulation.jobs import Job
from rclrt_analysis.simulation.simulate import CHOOSE, END, RELEASE, Clock

Order = Callable[[Job], tuple[int, ...]]


def _order(executor: Executor) -> Order:
    if executor.kind is ExecutorKind.EVENTS_FIFO:
        return lambda job: (job.sequence,)
    if executor.policy is Policy.EDF:
        return lambda job: (job.deadline, *job.place)
    return lambda job: (-job.urgency, *job.place)


def make(clock: Clock, executor: Executor, members: list[int]) -> "EventsExecutor":
    """Return the executor of a model."""
    if executor.release is Release.RELEASE_AND_EXECUTE:
        return ReleaseAndExecute(clock, executor, members)
    return EventsExecutor(clock, executor, members)


def reserved_threads(
    clock: Clock, executor: Executor, members: list[int]
) -> dict[int, Callable[[Job], None]]:
    """Return what jobs are released to if each group has a thread with a reservation."""
    groups: dict[str, EventsExecutor] = {}
    found: dict[int, Callable[[Job], None]] = {}
    for index in members:
        callback = clock.system.callbacks[index]
        name = callback.group or f"\0{callback.name}"
        if name not in groups:
            groups[name] = EventsExecutor(clock, executor, [])
        found[index] = groups[name].release
    return found


class EventsExecutor:
    """Release-only: the timer thread preempts the executor's for delta per release."""

    own_timers: tuple[int, ...] = ()

    def __init__(self, clock: Clock, executor: Executor, members: list[int]) -> None:
        self._clock = clock
        self._order = _order(executor)
        self._queue: list[tuple[tuple[int, ...], int, Job]] = []
        self._waiting: dict[int, deque[Job]] = {}
        self._replaces = executor.kind is not ExecutorKind.EVENTS_FIFO
        self._running: Job | None = None
        self._end = 0
        self._releasing_until = 0
        self._delta = clock.system.overheads.release
        self._core = executor.cores[0]
        self._supplied = clock.supplied(executor)
        self._timers = {i for i in members if clock.system.callbacks[i].kind is Kind.TIMER}

    def release(self, job: Job) -> None:
        """Take a job that is released now."""
        clock = self._clock
        self._push(job)
        ready = clock.now
        if self._delta and job.callback in self._timers:
            self._releasing_until = max(clock.now, self._releasing_until) + self._delta
            ready = self._releasing_until
            if self._running is not None:
                self._end += self._delta
                clock.at(self._end, END, self._finish)
        if self._running is None:
            clock.at(ready, CHOOSE, self._choose)

    def _push(self, job: Job) -> None:
        mine = self._waiting.setdefault(job.callback, deque())
        if self._replaces and self._clock.replaced(job, mine) is not None:
            mine.clear()
        mine.append(job)
        heapq.heappush(self._queue, (self._order(job), job.sequence, job))

    def _is_idle(self) -> bool:
        """Return whether nothing waits, and forget what has begun or given way."""
        while self._queue and self._queue[0][2].start >= 0:
            heapq.heappop(self._queue)
        return not self._queue

    def _finish(self) -> None:
        job = self._running
        if job is None or self._end != self._clock.now:
            return  # It was prolonged.
        self._running = None
        self._clock.finish(job)
        self._clock.at(self._clock.now, CHOOSE, self._choose)

    def _choose(self) -> None:
        clock = self._clock
        idle = self._is_idle()
        if self._running is not None or idle or clock.now < self._releasing_until:
            if self._running is None and not idle:
                clock.at(self._releasing_until, CHOOSE, self._choose)
            return
        if self._supplied is not None:
            given = self._supplied.next(clock.now)
            if given > clock.now:
                clock.at(given, CHOOSE, self._choose)
                return
        self._start()

    def _start(self) -> None:
        """Start what is first, or what came before it of its callback, which has its deadline."""
        clock = self._clock
        job = self._waiting[self._queue[0][2].callback].popleft()
        self._running = job
        job.core = self._core
        clock.begin(job)
        self._end = clock.now + job.work
        if self._supplied is not None:
            self._end = self._supplied.finish(clock.now, job.work)
        clock.publish_inside(job)
        clock.at(self._end, END, self._finish)


class ReleaseAndExecute(EventsExecutor):
    """The timer thread releases what is due, then executes one job, and so on.

    A timestamp that passed unseen because another of the same timer was still due is skipped.
    """

    def __init__(self, clock: Clock, executor: Executor, members: list[int]) -> None:
        super().__init__(clock, executor, members)
        self.own_timers = tuple(sorted(self._timers))
        self._next: dict[int, int] = {}
        for index in self.own_timers:
            callback = clock.system.callbacks[index]
            period = callback.period or 1
            given = (clock.options.offsets or {}).get(callback.name, callback.offset)
            self._next[index] = clock.random.randrange(period) if given is None else given
            clock.at(self._next[index], RELEASE, self._wake)

    def _wake(self) -> None:
        if self._running is None:
            self._clock.at(self._clock.now, CHOOSE, self._choose)

    def _choose(self) -> None:
        clock = self._clock
        if self._running is not None or clock.now < self._releasing_until:
            return
        released = 0
        for index in self.own_timers:
            timestamp = self._next[index]
            if timestamp <= clock.now:
                job = clock.make_job(index, timestamp, [])
                job.release = timestamp
                job.place = (timestamp, job.sequence)
                self._push(job)
                period = clock.system.callbacks[index].period or 1
                skipped = (clock.now - timestamp) // period
                clock.run.skipped[index] += skipped
                self._next[index] = timestamp + (1 + skipped) * period
                clock.at(self._next[index], RELEASE, self._wake)
                released += 1
        if released and self._delta:
            self._releasing_until = clock.now + released * self._delta
            clock.at(self._releasing_until, CHOOSE, self._start_best)
        else:
            self._start_best()

    def _start_best(self) -> None:
        if self._running is None and not self._is_idle():
            self._start()
