# Copyright 2026 The rclrt Authors
# SPDX-License-Identifier: Apache-2.0
"""Threads of the isolated and preemptive executors on the cores they share.

The most urgent jobs run, as many as there are cores; equal ones in order of release, and what runs
goes on. But a thread that comes to a job from a more urgent one may put it before all equal ones.
A group runs one job at a time, which inherits the urgency of those that wait for it. A release by
the timer thread costs delta before anything else.
"""

from collections.abc import Callable
from functools import partial

from rclrt_analysis.bounds.threads import is_receiver
from rclrt_analysis.model import Executor, ExecutorKind, Kind, Policy
from rclrt_analysis.simulation.jobs import Job
from rclrt_analysis.simulation.simulate import CHOOSE, END, RELEASE, Clock, SimulationError

RELEASING = -1
"""Number of the callback of a job that stands for the timer thread."""


def _to_go(job: Job) -> int:
    """Return for how long a job runs until it publishes or ends, ns."""
    return job.remaining if job.published else job.remaining - job.publish_left


class Cores:
    """Cores that threads share."""

    def __init__(self, clock: Clock, cores: int) -> None:
        self._clock = clock
        self._cores = cores
        self._jobs: list[Job] = []
        self._holder: dict[str, Job] = {}
        self._running: dict[int, Job] = {}
        self._since = 0
        self._version = 0
        self._planned = -1
        self._edf: set[int] = set()
        self._stolen: set[int] = set()
        for core in range(cores if clock.system.overheads.stolen else 0):
            first = clock.random.randrange(clock.system.overheads.window)
            clock.at(first, RELEASE, partial(self._steal, core))
        self._groups: dict[int, str] = {}
        self._ahead: set[int] = set()

    def accept(self, executor: Executor) -> Callable[[Job], None]:
        """Return what an executor's jobs are released to."""
        clock = self._clock
        members = [i for i, c in enumerate(clock.system.callbacks) if c.executor == executor.name]
        groups = {self._group(i) for i in members}
        if executor.threads is not None and executor.threads < len(groups):
            raise SimulationError(f"'{executor.name}' has fewer threads than groups: not simulated")
        if executor.policy is Policy.EDF:
            self._edf |= {i for i in members if not is_receiver(clock.system.callbacks[i])}
        return self._release

    def _steal(self, core: int) -> None:
        """Take a core from whatever is there, once in each window: that stays, and stands still."""
        overheads = self._clock.system.overheads
        self._account()
        self._stolen.add(core)
        self._plan()
        self._clock.at(self._clock.now + overheads.stolen, RELEASE, partial(self._give_back, core))
        self._clock.at(self._clock.now + overheads.window, RELEASE, partial(self._steal, core))

    def _give_back(self, core: int) -> None:
        self._account()
        self._stolen.discard(core)
        self._plan()

    def _group(self, index: int) -> str:
        known = self._groups.get(index)
        if known is None:
            callback = self._clock.system.callbacks[index]
            known = f"{callback.executor}\0{callback.group or chr(0) + callback.name}"
            self._groups[index] = known
        return known

    def _release(self, job: Job) -> None:
        clock = self._clock
        delta = clock.system.overheads.release
        job.work += 2 * clock.system.overheads.context_switch
        job.remaining = job.work
        self._account()
        if delta and clock.system.callbacks[job.callback].kind is Kind.TIMER:
            cost = Job(RELEASING, job.sequence, clock.now, clock.now, delta, 2**60, -1, [job])
            cost.remaining = delta
            cost.published = True
            cost.place = job.place
            self._jobs.append(cost)
        else:
            self._arrive(job)
        self._plan()

    def _arrive(self, job: Job) -> None:
        old = self._clock.replaced(job, self._jobs)
        if old is not None:
            self._jobs.remove(old)
            self._ahead.discard(id(old))
        self._jobs.append(job)

    def _plan(self) -> None:
        now = self._clock.now
        if self._planned != now:
            self._planned = now
            self._clock.at(now, CHOOSE, self._choose)

    def _account(self) -> None:
        elapsed = self._clock.now - self._since
        if not elapsed:
            return
        self._since = self._clock.now
        for core, job in self._running.items():
            if core not in self._stolen:
                job.remaining -= elapsed

    def _key(self, job: Job) -> tuple[int, ...]:
        # What is not ordered by deadlines beside them precedes them: no deadline is before 0.
        first = job.deadline if job.callback in self._edf else -job.urgency
        behind = not self._ahead or id(job) not in self._ahead
        return (first, behind, *job.place)

    def _oldest(self, job: Job) -> Job:
        """Return what its callback runs first; that has the earliest deadline of all that wait."""
        if job.callback not in self._edf:
            return job
        mine = (other for other in self._jobs if other.callback == job.callback)
        return min(mine, key=lambda other: other.sequence)

    def _thread(self, job: Job) -> str:
        """Return whose threads run it: those of its group, or of its pool."""
        callback = self._clock.system.callbacks[job.callback]
        kind = self._clock.system.executor_of[callback.executor].kind
        return callback.executor if kind is ExecutorKind.PREEMPTIVE else self._group(job.callback)

    def _go_on(self, ended: Job) -> None:
        """Put what the thread of a job does next before what is as urgent, now and then.

        A thread that lowers its priority goes to the head of its new level. Which of several
        threads gets a job is a matter of chance.
        """
        clock = self._clock
        if not clock.options.random_work:
            return
        waiting = [
            job
            for job in self._jobs
            if job.callback != RELEASING
            and job.start < 0
            and self._thread(job) == self._thread(ended)
        ]
        following = min(waiting, key=self._key, default=ended)
        if following.urgency < ended.urgency and clock.random.random() < 0.5:
            self._ahead.add(id(following))

    def _chosen(self) -> list[Job]:
        """Return what runs: of each group one may, with the best key of all that wait for it."""
        if self._cores == 1 and self._jobs:
            first = min(self._jobs, key=self._key) if len(self._jobs) > 1 else self._jobs[0]
            held = first.callback != RELEASING
            if not held:
                return [first]
            return [self._holder.get(self._group(first.callback)) or self._oldest(first)]
        best: dict[str, tuple[tuple[int, ...], Job]] = {}
        for job in self._jobs:
            group = self._group(job.callback) if job.callback != RELEASING else f"\0{job.sequence}"
            key = self._key(job)
            known = best.get(group)
            if known is None or key < known[0]:
                best[group] = (key, self._holder.get(group) or self._oldest(job))
        every = sorted(best.values(), key=lambda one: one[0])
        return [job for _, job in every[: self._cores]]

    def _choose(self) -> None:
        clock = self._clock
        self._planned = -1
        self._account()
        chosen = self._chosen()
        before = self._running
        free = [core for core in range(self._cores) if before.get(core) not in chosen]
        if self._stolen:
            clock.random.shuffle(free)  # Nobody knows which ones stand still.
        running = {core: job for core, job in before.items() if job in chosen}
        for job in before.values():
            if job not in chosen and job.remaining > 0 and job in self._jobs:
                job.preemptions += 1
        for job in chosen:
            if job not in running.values():
                core = free.pop()
                running[core] = job
                job.core = core
                if job.start < 0 and job.callback != RELEASING:
                    clock.begin(job)
                    self._holder[self._group(job.callback)] = job
        self._running = running
        self._version += 1
        version = self._version
        moving = [
            job for core, job in running.items() if core not in self._stolen or _to_go(job) <= 0
        ]
        if moving:
            soonest = min(_to_go(job) for job in moving)
            clock.at(clock.now + soonest, END, lambda: self._reach(version))

    def _reach(self, version: int) -> None:
        """Publish where jobs do, and let those end that have nothing left.

        A job that publishes with its last step ends later if what it has released preempts it.
        """
        if version != self._version:
            return
        clock = self._clock
        self._account()
        there = [job for job in self._running.values() if _to_go(job) <= 0]
        ended = [job for job in there if job.published]
        for job in there:
            if not job.published:
                before = len(self._jobs)
                clock.publish(job)
                key = self._key(job)
                overtaken = any(self._key(released) < key for released in self._jobs[before:])
                if job.remaining <= 0 and not overtaken:
                    ended.append(job)
        self._running = {c: job for c, job in self._running.items() if job not in ended}
        self._end(ended)
        if there:
            self._end_what_has_nothing_left()
        self._plan()

    def _end_what_has_nothing_left(self) -> None:
        """Let those end that need a core for no time, and get one now.

        Jobs that were preempted after their last step, and those without any work. That comes
        before what is released at this instant: a wait for a core to do nothing has no length.
        """
        while any(job.remaining <= 0 for job in self._jobs):
            chosen = self._chosen()
            there = [job for job in chosen if job.callback != RELEASING and job.remaining <= 0]
            if not there:
                return
            for job in there:
                if job.start < 0:
                    self._clock.begin(job)
                    self._holder[self._group(job.callback)] = job
            ended = [job for job in there if job.published]
            for job in there:
                if not job.published:
                    self._clock.publish(job)  # What it releases may come before its end.
            self._end(ended)

    def _end(self, ended: list[Job]) -> None:
        clock = self._clock
        for job in ended:
            self._jobs.remove(job)
            if job.callback == RELEASING:
                self._arrive(job.sources[0])
            else:
                self._holder.pop(self._group(job.callback), None)
                self._ahead.discard(id(job))
                if job.callback not in self._edf:
                    self._go_on(job)
                clock.finish(job)
