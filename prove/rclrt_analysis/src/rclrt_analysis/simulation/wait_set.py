# Copyright 2026 The rclrt Authors
# SPDX-License-Identifier: Apache-2.0
"""The wait-set executors of rclcpp (eloquent and later): polling points and windows.

Single-threaded: at a polling point the ready entities are taken down, then one job of each is run
in order: timers, subscriptions, services, clients, each kind as registered; from galactic on groups
in some order of their own, from jazzy on all. Multi-threaded: its threads, each on a core of its
own, share what was taken down; an idle one polls anew when nothing of it can be taken.

Those of crystal and dashing look at timers before every pick. The executor of micro-ROS (rclc)
takes one message for each polling point, the one that came first, in the order of registration.
"""

from collections import deque
from collections.abc import Iterable

from rclrt_analysis.bounds.wait_set import (
    CHECKS_TIMERS_AT_EVERY_PICK,
    GROUPS_IN_ANY_ORDER,
    IN_ANY_ORDER,
    ORDER,
)
from rclrt_analysis.model import Executor, ExecutorKind, Kind
from rclrt_analysis.simulation.jobs import Job
from rclrt_analysis.simulation.simulate import CHOOSE, END, RELEASE, Clock


class WaitSet:
    """Both of them; the single-threaded one has one thread."""

    def __init__(self, clock: Clock, executor: Executor, members: list[int]) -> None:
        self._clock = clock
        callbacks = clock.system.callbacks
        self._micro_ros = executor.kind is ExecutorKind.MICRO_ROS
        self._group = {i: callbacks[i].group or f"\0{callbacks[i].name}" for i in members}
        place = {i: clock.random.random() for i in members}
        if clock.system.distro in GROUPS_IN_ANY_ORDER:
            of_group = {group: place[i] for i, group in self._group.items()}
            place = {i: of_group[group] for i, group in self._group.items()}
        elif clock.system.distro not in IN_ANY_ORDER:
            place = dict.fromkeys(members, 0.0)
        self._order = sorted(members, key=lambda i: (ORDER[callbacks[i].kind], place[i]))
        if self._micro_ros:
            self._order = members
        self._old = clock.system.distro in CHECKS_TIMERS_AT_EVERY_PICK
        self._supplied = clock.supplied(executor)
        self.own_timers = tuple(i for i in members if callbacks[i].kind is Kind.TIMER)
        self._waiting: dict[int, deque[Job]] = {i: deque() for i in members}
        self._ready: list[int] = []
        multi = executor.kind is ExecutorKind.WAIT_SET_MULTI
        self._idle = (executor.threads or len(members)) if multi else 1
        self._busy_groups: set[str] = set()
        self._planned = -1
        self._next: dict[int, int] = {}
        for index in self.own_timers:
            callback = callbacks[index]
            given = (clock.options.offsets or {}).get(callback.name, callback.offset)
            period = callback.period or 1
            self._next[index] = clock.random.randrange(period) if given is None else given
            clock.at(self._next[index], RELEASE, self._wake)

    def release(self, job: Job) -> None:
        """Take a message; the oldest goes if the queue is full."""
        queue = self._waiting[job.callback]
        depth = self._clock.system.callbacks[job.callback].depth
        if depth is not None and len(queue) >= depth:
            queue.popleft()
            self._clock.run.skipped[job.callback] += 1
        queue.append(job)
        self._wake()

    def _wake(self) -> None:
        now = self._clock.now
        if self._idle and self._planned != now:
            self._planned = now
            self._clock.at(now, CHOOSE, self._choose)

    def _ready_of(self, indices: Iterable[int]) -> list[int]:
        """Return those that have work and whose groups are free."""
        now, timestamp, waiting = self._clock.now, self._next, self._waiting
        found = [i for i in indices if (timestamp[i] <= now if i in timestamp else waiting[i])]
        if not self._busy_groups:
            return found
        return [i for i in found if self._group[i] not in self._busy_groups]

    def _choose(self) -> None:
        self._planned = -1
        while self._idle:
            if self._supplied is not None:
                given = self._supplied.next(self._clock.now)
                if given > self._clock.now:
                    self._clock.at(given, CHOOSE, self._choose)
                    return
            index = self._due() if self._old else None
            if index is None:
                index = self._take()
            if index is None:
                self._poll()
                index = self._take()
            if index is None:
                return
            self._start(index)

    def _poll(self) -> None:
        self._ready = self._ready_of(self._order)
        if self._old:
            self._ready = [i for i in self._ready if i not in self._next]
        if self._micro_ros:
            heads = {i: self._waiting[i][0] for i in self._ready if i not in self._next}
            oldest = min(heads, key=lambda i: (heads[i].release, heads[i].sequence), default=-1)
            self._ready = [i for i in self._ready if i in self._next or i == oldest]

    def _due(self) -> int | None:
        return next(iter(self._ready_of(self.own_timers)), None)

    def _take(self) -> int | None:
        for index in self._ready:
            if self._group[index] not in self._busy_groups:
                self._ready.remove(index)
                return index
        return None

    def _start(self, index: int) -> None:
        clock = self._clock
        job = self._call_timer(index) if index in self._next else self._waiting[index].popleft()
        self._idle -= 1
        self._busy_groups.add(self._group[index])
        clock.begin(job)
        end = clock.now + job.work
        if self._supplied is not None:
            end = self._supplied.finish(clock.now, job.work)
        clock.publish_inside(job)
        clock.at(end, END, lambda: self._finish(job))

    def _call_timer(self, index: int) -> Job:
        """Advance a timer as rcl does: by a period, or as many as it takes to be in the future."""
        clock = self._clock
        timestamp = self._next[index]
        job = clock.make_job(index, timestamp, [])
        job.release = timestamp
        period = clock.system.callbacks[index].period or 1
        following = timestamp + period
        if following < clock.now:
            skipped = -(-(clock.now - following) // period)
            clock.run.skipped[index] += skipped
            following += skipped * period
        self._next[index] = following
        clock.at(max(following, clock.now), RELEASE, self._wake)
        return job

    def _finish(self, job: Job) -> None:
        self._clock.finish(job)
        self._idle += 1
        self._busy_groups.discard(self._group[job.callback])
        self._wake()
