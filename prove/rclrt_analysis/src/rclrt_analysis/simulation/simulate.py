# Copyright 2026 The rclrt Authors
# SPDX-License-Identifier: Apache-2.0
"""The clock of a simulation, and how messages get from callback to callback.

At one instant jobs end first, then releases and messages come, then executors choose: so a job that
is released when another ends takes part in the choice. Same model, same seed, same run.
"""

import gc
import heapq
import random
from collections.abc import Callable, Iterable
from dataclasses import dataclass
from functools import partial

from rclrt_analysis.bounds.activation import urgencies
from rclrt_analysis.bounds.analyse import analyse, with_late_timers
from rclrt_analysis.bounds.demotion import accounts
from rclrt_analysis.bounds.threads import is_receiver, read_by, with_receivers
from rclrt_analysis.model import Callback, Executor, ExecutorKind, Kind, System
from rclrt_analysis.simulation.jobs import Job, Run, Supplied
from rclrt_analysis.simulation.stamps import Approximate, Exact

ABOVE_ALL = 2**31
MAX_EVENTS = 20_000_000
"""A job has about five, takes 7 to 31 us and stays in memory. So 1,000 callbacks that are released
100 times a second each are simulated for 40 s at most. A longer run shows little more: once periods
have come round, phases repeat. `phases.search` changes them instead.
"""
END, RELEASE, CHOOSE = 0, 1, 2


class SimulationError(Exception):
    """What cannot be simulated; the text says why."""


@dataclass(frozen=True)
class Options:
    """How releases and execution times are drawn.

    seed: Of all that is drawn.
    random_work: Execution times between best and worst case, tries on a link lost or not, and
        publications anywhere in a job; else always the worst, as many lost as may be, and with the
        last step.
    offsets: First release by name of the timer, ns; otherwise the model's, else within one period
        at random.
    queue_all: What a timer releases waits behind its earlier jobs (`overruns: queue_all`); else it
        replaces a job that waits (`keep_latest`).
    """

    seed: int = 0
    random_work: bool = False
    offsets: dict[str, int] | None = None
    queue_all: bool = False


class Clock:
    """The events to come, and what executors share."""

    def __init__(self, system: System, horizon: int, options: Options) -> None:
        self.system = system
        self.horizon = horizon
        self.random = random.Random(options.seed)
        self.options = options
        self.now = 0
        self.run = Run(system, horizon, [], [0] * len(system.callbacks))
        urgency = urgencies(system)
        self._callbacks = system.callbacks
        self._dispatch = system.overheads.dispatch
        self._transport = system.overheads.transport
        self._wake = system.overheads.wake
        # No executor derives that of the middleware's threads, so neither is it asked for here.
        self.urgency = [ABOVE_ALL if is_receiver(c) else urgency[c.name] for c in system.callbacks]
        self._events: list[tuple[int, int, int, Callable[[], None]]] = []
        self._count = 0
        self._sequence = 0
        self._latest: dict[str, Job] = {}
        self._arrived: dict[str, int] = {}
        self._woken: dict[int, int] = {}
        number = {callback.name: i for i, callback in enumerate(system.callbacks)}
        self._readers: dict[str, list[int]] = {}
        for callback in system.callbacks:
            for topic in callback.triggers:
                self._readers.setdefault(topic, []).append(number[callback.name])
        self._stored: dict[int, dict[str, Job]] = {}
        self._paired: dict[int, Exact | Approximate] = {}
        # By group: deadlines of what its callbacks have taken and handed on to nobody.
        self._taken: dict[tuple[str, str], dict[int, int]] = {}
        self.release_to: list[Callable[[Job], None]] = []

    def at(self, time: int, phase: int, action: Callable[[], None]) -> None:
        """Do something later (or now, in a later phase)."""
        self._count += 1
        heapq.heappush(self._events, (time, phase, self._count, action))

    def go(self) -> Run:
        """Run until the horizon and until what was released before it has ended."""
        events, horizon, following = self._events, self.horizon, heapq.heappop
        collects = gc.isenabled()
        gc.disable()  # All jobs stay, so there is nothing to collect among them.
        try:
            while events:
                time, _, _, action = following(events)
                if time > horizon:
                    break
                self.now = time
                action()
                if self._count > MAX_EVENTS:
                    raise SimulationError(
                        f"more than {MAX_EVENTS} events after {time / 1e9:.3g} s of "
                        f"{horizon / 1e9:.3g} s; shorten the simulation"
                    )
        finally:
            if collects:
                gc.enable()
        return self.run

    def next_number(self) -> int:
        """Return the number of a new job."""
        self._sequence += 1
        return self._sequence

    def make_job(self, index: int, nominal: int, sources: list[Job]) -> Job:
        """Return a new job, released now."""
        callback = self._callbacks[index]
        work = callback.wcet
        if self.options.random_work:
            work = self._drawn(callback, sources)
        work += self._dispatch
        deadline = nominal + callback.deadline if callback.deadline else 2**62
        if sources and not callback.deadline:
            deadline = sources[-1].deadline  # The job that published has it.
        # Anywhere in the job, if things are drawn at random; else with its last step.
        most = work if callback.publish_most is None else min(work, callback.publish_most)
        left = work - most
        if callback.publishes and self.options.random_work:
            left = self.between(left, work - min(most, callback.publish_least))
        number = self.next_number()
        return Job(
            index, number, nominal, self.now, work, self.urgency[index], deadline, sources,
            remaining=work, publish_left=left, published=not callback.publishes,
            released_by=sources[-1] if sources else None, place=(self.now, number),
        )  # fmt: skip

    def replaced(self, job: Job, waiting: Iterable[Job]) -> Job | None:
        """Return the waiting job that gives its place to this release of its timer, if one does."""
        if self.options.queue_all or self._callbacks[job.callback].kind is not Kind.TIMER:
            return None
        old = next((o for o in waiting if o.callback == job.callback and o.start < 0), None)
        if old is not None:
            job.place = old.place
            old.start = self.now  # It never runs.
            self.run.skipped[job.callback] += 1
        return old

    def _drawn(self, callback: Callback, sources: list[Job]) -> int:
        if not callback.repeats:
            return self.between(callback.bcet, callback.wcet + callback.waits)
        # A try that was not made was not lost.
        before = self._callbacks[sources[-1].callback]
        through = before.repeats and sources[-1].work == self._dispatch
        if through or self.random.random() < 0.5:
            return 0
        return self.between(callback.wcet, callback.wcet + callback.waits)

    def between(self, least: int, most: int) -> int:
        """Return one of both, or a number between: bounds are reached where times are extreme."""
        return self.random.choice((least, most, self.random.randint(least, most)))

    def supplied(self, executor: Executor) -> Supplied | None:
        """Return when a new thread of an executor is given the processor; None for always."""
        if executor.reservation is None:
            return None
        return Supplied(executor.reservation, self.random)

    def begin(self, job: Job) -> None:
        """Note that a job starts now and reads its topics."""
        job.start = self.now
        self._fan_in(job)
        for topic in self._callbacks[job.callback].reads:
            if topic in self._latest:
                job.sources.append(self._latest[topic])

    def _fan_in(self, job: Job) -> None:
        """Have a job bring together what its group has taken, by the earliest deadline of it."""
        callback = self._callbacks[job.callback]
        job.own_deadline = job.deadline
        if callback.deadline is None and (callback.group or callback.wants_all):
            taken = self._taken.get((callback.executor, callback.group), {})
            others = [due for index, due in taken.items() if index != job.callback]
            joined = [source.deadline for source in job.sources] if callback.wants_all else []
            job.deadline = min([job.deadline, *others, *joined])

    def _hand_on(self, job: Job) -> None:
        """Note that what a group had taken was handed on, or that a job has taken something."""
        callback = self._callbacks[job.callback]
        if not callback.group:
            return
        group = (callback.executor, callback.group)
        if callback.publishes:
            self._taken.pop(group, None)
        elif callback.deadline is None:
            self._taken.setdefault(group, {})[job.callback] = job.own_deadline

    def publish_inside(self, job: Job) -> None:
        """Have a job that starts now, and is not preempted, publish where it does."""
        if job.publish_left > 0:
            self.at(self.now + job.work - job.publish_left, RELEASE, lambda: self.publish(job))

    def finish(self, job: Job) -> None:
        """Note that a job ends now, and publish, unless it has."""
        job.end = self.now
        self.run.jobs.append(job)
        self.publish(job)
        self._hand_on(job)

    def publish(self, job: Job) -> None:
        """Publish once."""
        if job.published:
            return
        job.published = True
        transport = self._transport
        for topic in self._callbacks[job.callback].publishes:
            if transport:
                delay = self.between(0, transport) if self.options.random_work else transport
                # Messages of one topic do not overtake each other.
                arrival = max(self.now + delay, self._arrived.get(topic, 0))
                self._arrived[topic] = arrival
                self.at(arrival, RELEASE, _Delivery(self, topic, job))
            else:
                self.deliver(topic, job)

    def deliver(self, topic: str, job: Job) -> None:
        """Hand a message to all that wait for it."""
        self._latest[topic] = job
        for index in self._readers.get(topic, ()):
            callback = self._callbacks[index]
            if callback.pairs != "newest":
                self._by_stamps(index, topic, job)
                continue
            if callback.wants_all:
                stored = self._stored.setdefault(index, {})
                stored[topic] = job
                if len(stored) < len(callback.triggers):
                    continue
                sources = [one for name, one in stored.items() if name != topic] + [job]
                stored.clear()
            else:
                sources = [job]
            self._release(index, self.make_job(index, self.now, sources), job)

    def _by_stamps(self, index: int, topic: str, job: Job) -> None:
        """Release a callback with each set of messages that go together by their stamps."""
        callback = self._callbacks[index]
        if index not in self._paired:
            policy = Exact if callback.pairs == "exact" else Approximate
            self._paired[index] = policy(callback.triggers, callback.queue)
        for sources in self._paired[index].add(topic, job):
            sources.sort(key=lambda source: source is job)
            self._release(index, self.make_job(index, self.now, sources), job)

    def _release(self, index: int, job: Job, by: Job) -> None:
        """Release a job; another core than that of the job that published turns to it later."""
        wake = self._wake
        if not wake:
            self.release_to[index](job)
            return
        here, there = (
            self.system.executor_of[self.system.callbacks[one].executor].cores
            for one in (by.callback, index)
        )
        if here != there or len(here) > 1:
            # A core that turns to a callback finds its oldest job.
            self._woken[index] = max(self.now + self.between(0, wake), self._woken.get(index, 0))
            self.at(self._woken[index], RELEASE, partial(self.release_to[index], job))
        else:
            self.release_to[index](job)


@dataclass(frozen=True)
class _Delivery:
    clock: Clock
    topic: str
    job: Job

    def __call__(self) -> None:
        self.clock.deliver(self.topic, self.job)


class Source:
    """A timer, or messages from outside: releases a callback again and again."""

    def __init__(self, clock: Clock, index: int) -> None:
        callback = clock.system.callbacks[index]
        assert callback.period is not None  # a source has one
        self._clock = clock
        self._index = index
        self._period = callback.period
        self._jitter = callback.jitter
        given = (clock.options.offsets or {}).get(read_by(callback), callback.offset)
        self._nominal = clock.random.randrange(callback.period) if given is None else given
        self._plan()

    def _plan(self) -> None:
        late = self._clock.between(0, self._jitter) if self._jitter else 0
        self._clock.at(max(self._nominal + late, self._clock.now), RELEASE, self._release)

    def _release(self) -> None:
        clock = self._clock
        timer = clock.system.callbacks[self._index].kind is Kind.TIMER
        job = clock.make_job(self._index, self._nominal if timer else clock.now, [])
        self._nominal += self._period
        self._plan()
        clock.release_to[self._index](job)


def simulate(
    system: System,
    horizon: int,
    seed: int = 0,
    random_work: bool = False,
    offsets: dict[str, int] | None = None,
    queue_all: bool = False,
) -> Run:
    """Return what happens from 0 to `horizon`, ns.

    seed, random_work, offsets, queue_all: See `Options`.

    Raises SimulationError: The model has an executor that is not simulated, or there are too many
        events.
    """
    return run_once(prepare(system), horizon, Options(seed, random_work, offsets, queue_all))


def prepare(system: System) -> System:
    """Return what may be simulated many times, by `run_once`: with timers as late as they may be.

    Raises SimulationError: A budget may run out.
    """
    if accounts(system) and (run_out := analyse(system).run_out):
        raise SimulationError(f"{run_out[0]}. A budget that may run out is not simulated")
    return with_late_timers(system)


def run_once(prepared: System, horizon: int, options: Options) -> Run:
    """Return what happens in a prepared system; see `simulate`."""
    from rclrt_analysis.simulation import events, threads, wait_set

    system = with_receivers(prepared) if prepared.overheads.receive else prepared
    clock = Clock(system, horizon, options)
    release: dict[int, Callable[[Job], None]] = {}
    own_timers: set[int] = set()
    cores: dict[tuple[int, ...], threads.Cores] = {}
    for executor in system.executors:
        members = [i for i, c in enumerate(system.callbacks) if c.executor == executor.name]
        if executor.kind is ExecutorKind.ISOLATED and executor.reservation is not None:
            release.update(events.reserved_threads(clock, executor, members))
            continue
        if executor.kind in (ExecutorKind.ISOLATED, ExecutorKind.PREEMPTIVE):
            key = tuple(sorted(executor.cores))
            shared = cores.setdefault(key, threads.Cores(clock, len(key)))
            accept = shared.accept(executor)
        elif executor.kind in (ExecutorKind.PRIORITY_EVENTS, ExecutorKind.EVENTS_FIFO):
            queue = events.make(clock, executor, members)
            accept = queue.release
            own_timers |= set(queue.own_timers)
        else:
            polled = wait_set.WaitSet(clock, executor, members)
            accept = polled.release
            own_timers |= set(polled.own_timers)
        release.update(dict.fromkeys(members, accept))
    clock.release_to = [release[i] for i in range(len(system.callbacks))]
    for i, callback in enumerate(system.callbacks):
        if callback.period is not None and i not in own_timers:
            Source(clock, i)
    run = clock.go()
    count = len(prepared.callbacks)  # The middleware's threads come after them.
    jobs = [job for job in run.jobs if job.callback < count] if system is not prepared else run.jobs
    return Run(prepared, horizon, jobs, run.skipped[:count])
