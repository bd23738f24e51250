# Copyright 2026 The rclrt Authors
# SPDX-License-Identifier: Apache-2.0
"""What a simulation exposes: every job, and what chains made of them."""

import random
from dataclasses import dataclass, field
from functools import cached_property

from rclrt_analysis.model import Chain, Kind, Reservation, System


@dataclass(eq=False, slots=True)
class Job:
    """One released instance of a callback; times in ns, -1 for not yet.

    callback: Its number in the model.
    nominal: The instant of the timer's grid; of others the same as `release`.
    sources: Jobs whose data it used: those that released it, and those it read from when it
        started.
    publish_left: How much of its work is left when it publishes, ns.
    released_by: The job whose message released it; None for a timer, or a message from outside.
    own_deadline: What it has taken itself; `deadline` is that of what others of its group have
        taken, too.
    place: Since when its callback waits, and the number of the job that did first.
    """

    callback: int
    sequence: int
    nominal: int
    release: int
    work: int
    urgency: int
    deadline: int
    sources: "list[Job]" = field(default_factory=list)
    start: int = -1
    end: int = -1
    core: int = 0
    preemptions: int = 0
    remaining: int = 0
    publish_left: int = 0
    published: bool = False
    released_by: "Job | None" = None
    own_deadline: int = 0
    place: tuple[int, int] = (0, 0)

    @property
    def root(self) -> int:
        """Release of the first job in the line of jobs that led to this one, ns."""
        job = self
        while job.released_by is not None:
            job = job.released_by
        return job.nominal

    @property
    def response(self) -> int:
        """From the release to the end, ns."""
        return self.end - self.release


@dataclass
class Run:
    """The result of a simulation.

    jobs: All that ended, in the order of their ends.
    skipped: By callback: timestamps of timers given up, and messages lost to a full queue.
    """

    system: System
    horizon: int
    jobs: list[Job]
    skipped: list[int]

    def of(self, name: str) -> list[Job]:
        """Return the jobs of one callback."""
        return self.by_callback[self.system.callbacks.index(self.system.callback_of[name])]

    @cached_property
    def by_callback(self) -> list[list[Job]]:
        """The jobs of each callback, in the order of their ends; of a run that is over."""
        found: list[list[Job]] = [[] for _ in self.system.callbacks]
        for job in self.jobs:
            found[job.callback].append(job)
        return found

    @property
    def running(self) -> int:
        """When every callback that ran had ended once: from then on bounds of chains hold."""
        first: dict[int, int] = {}
        for job in self.jobs:  # By end.
            first.setdefault(job.callback, job.end)
        return max(first.values(), default=0)

    def worst(self) -> dict[str, tuple[int, int]]:
        """Return every callback's longest response: from its release, and from the grid, ns."""
        worst = [(-1, -1)] * len(self.system.callbacks)
        for job in self.jobs:
            before = worst[job.callback]
            worst[job.callback] = (
                max(before[0], job.end - job.release),
                max(before[1], job.end - job.nominal),
            )
        return {c.name: worst[i] for i, c in enumerate(self.system.callbacks) if worst[i][0] >= 0}


def chain_times(run: Run, chain: Chain, since: int = 0) -> list[int]:
    """Return what a chain's bound is held against, as its semantics say, ns."""
    measure = chain_ages if chain.semantics == "age" else chain_latencies
    return measure(run, chain, since)


def chain_latencies(run: Run, chain: Chain, since: int = 0) -> list[int]:
    """Return how long every job of the first callback took to come through, ns.

    Of those that were released, or for reactions started, at `since` or later.

    Measured as the chain says. A job counts as through with the first end of the last callback that
    used its data or newer; those that were not when the simulation ended are left out.
    """
    number = {callback.name: i for i, callback in enumerate(run.system.callbacks)}
    wanted = [number[name] for name in chain.callbacks]
    firsts = sorted(run.by_callback[wanted[0]], key=lambda job: job.start)
    place = {id(job): i for i, job in enumerate(firsts)}
    through = [-1] * len(firsts)
    for job in run.by_callback[wanted[-1]]:  # By end, so the first that comes is the earliest.
        i = _origin(job, wanted, place)
        while i >= 0 and through[i] < 0:
            through[i] = job.end
            i -= 1
    if chain.join == "last" and any(run.system.callback_of[n].wants_all for n in chain.callbacks):
        own = _last_to_come(run, wanted, place)
        # A later job may have the same data again, by a message that was the last to come.
        mine = [(firsts[i], end) for i, end in own.items() if end == through[i]]
        return [end - job.release for job, end in mine if job.release >= since]
    first = run.system.callback_of[chain.callbacks[0]]
    # Only a timer can have just missed an event: it releases others.
    if chain.semantics == "latency" or first.kind is not Kind.TIMER:
        ends = zip(firsts, through, strict=True)
        return [end - job.release for job, end in ends if end >= 0 and job.release >= since]
    later = zip(firsts, through[1:], strict=False)
    return [end - job.start for job, end in later if end >= 0 and job.start >= since]


def chain_ages(run: Run, chain: Chain, since: int = 0) -> list[int]:
    """Return how old data were whenever newer ones came out at the end of a chain, ns.

    Of data that were read at `since` or later.

    From when the first callback had them (a timer reads when it starts, a message is there when it
    releases) to the end of the job of the last one that replaced them, by then the only data to act
    on [Günzel23].
    """
    timer = run.system.callback_of[chain.callbacks[0]].kind is Kind.TIMER
    number = {callback.name: i for i, callback in enumerate(run.system.callbacks)}
    wanted = [number[name] for name in chain.callbacks]
    firsts = sorted(run.by_callback[wanted[0]], key=lambda job: job.start)
    place = {id(job): i for i, job in enumerate(firsts)}
    ages = []
    shown = -1
    for job in run.by_callback[wanted[-1]]:
        newest = _origin(job, wanted, place)
        if newest > shown:
            if shown >= 0 and (begin := _had(firsts[shown], timer)) >= since:
                ages.append(job.end - begin)
            shown = newest
    return ages


def _had(job: Job, timer: bool) -> int:
    return job.start if timer else job.release


def _last_to_come(run: Run, wanted: list[int], place: dict[int, int]) -> dict[int, int]:
    """Return when data came through, by the place of the first job, if they ended every join."""
    joins = [run.system.callbacks[index].wants_all for index in wanted]
    through: dict[int, int] = {}
    for job in run.by_callback[wanted[-1]]:
        current = [job]
        for step in range(len(wanted) - 1, 0, -1):
            sources = [
                source
                for one in current
                for source in ([one.released_by] if joins[step] else one.sources)
                if source is not None and source.callback == wanted[step - 1]
            ]
            current = sources
        for one in current:
            if id(one) in place:
                through.setdefault(place[id(one)], job.end)
    return through


def _origin(job: Job, wanted: list[int], place: dict[int, int]) -> int:
    """Return the place of the newest job of the first callback whose data `job` used, or -1."""
    current = [job]
    for index in reversed(wanted[:-1]):
        current = [source for one in current for source in one.sources if source.callback == index]
    return max((place.get(id(one), -1) for one in current), default=-1)


class Supplied:
    """When a thread is given the processor; one piece in each period, as early, late or between."""

    def __init__(self, reservation: Reservation, rng: random.Random) -> None:
        self._budget = reservation.budget
        self._period = reservation.period
        self._random = rng
        self._shift = rng.randrange(reservation.period)
        self._starts: list[int] = []

    def _start(self, number: int) -> int:
        room = self._period - self._budget
        while len(self._starts) <= number:
            place = self._random.choice((0, room, self._random.randint(0, room)))
            self._starts.append(len(self._starts) * self._period + place - self._shift)
        return self._starts[number]

    def next(self, time: int) -> int:
        """Return the first instant from `time` on at which the thread has the processor."""
        number = (time + self._shift) // self._period
        start = self._start(number)
        if time >= start + self._budget:
            return self._start(number + 1)
        return max(time, start)

    def finish(self, time: int, work: int) -> int:
        """Return when so much work is done that begins at `time`."""
        while work > 0:
            time = self.next(time)
            end = self._start((time + self._shift) // self._period) + self._budget
            done = min(work, end - time)
            work -= done
            time += done
        return time
