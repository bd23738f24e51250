# Copyright 2026 The rclrt Authors
# SPDX-License-Identifier: Apache-2.0
"""Random sets of periodic threads for guest/bounded.cpp, and what the analysis says of them.

A job uses the CPU for a known time of its thread's own. What the machine adds to that is in the
overheads. A budget of the kernel lets pass `runtime` and a tick in each of its periods, and may use
what is left of one period at its end together with the next one: to the others the thread is a
timer that needs so much, and may be late by a period.
"""

import random
from collections.abc import Iterable, Sequence
from dataclasses import dataclass, replace

from rclrt_analysis.bounds.analyse import analyse
from rclrt_analysis.model import Callback, Executor, ExecutorKind, Kind, Overheads, Policy, System

US = 1_000
MS = 1_000_000
TICK = 4 * MS
"""A tick of Debian's kernels, which have 250 a second."""
RESERVE = 5 * MS
PERIOD = 100 * MS
LENGTH = 500 * MS
PERIODS = (20, 25, 40, 50, 80, 100)
SWITCHES = 300 * US
"""What waking a thread, and what beginning and ending a job cost, at 16 ns an instruction."""
LIMITED = "limited"
UNLIMITED = "no-budget"
"""The set whose thread LIMITED has no budget: its bounds do not hold."""

Span = tuple[int, int, int, int, bool]


@dataclass(frozen=True)
class Periodic:
    """One thread. `work` may be more than the analysis is told, if it has a budget."""

    name: str
    period: int
    work: int
    deadline: int
    first: int
    budget: tuple[int, int] = (0, 0)


@dataclass(frozen=True)
class Set:
    """Threads that all may run on one CPU, or on any."""

    name: str
    cpu: int
    tasks: tuple[Periodic, ...]
    bounds: dict[str, int]
    """By task; a task without a bound is missing."""
    cpus: int = 1

    def text(self) -> str:
        lines = [f"set {self.name} {self.cpu} {LENGTH // US}"]
        for task in self.tasks:
            times = (task.period, task.work, task.deadline, task.first, *task.budget)
            lines.append(f"task {task.name} " + " ".join(str(time // US) for time in times))
        return "\n".join(lines)


def _periodic(rng: random.Random, share: float) -> list[Periodic]:
    parts = [rng.random() + 0.2 for _ in range(rng.randint(3, 5))]
    together = rng.random() < 0.5
    made = []
    for i, part in enumerate(parts):
        period = rng.choice(PERIODS) * MS
        work = max(500 * US, int(period * share * part / sum(parts)) // US * US)
        deadline = int(period * rng.uniform(0.7, 1.0)) // US * US
        first = 0 if together else rng.randrange(20_000) * US
        made.append(Periodic(f"t{i}", period, work, deadline, first))
    return made


def _bounds(tasks: Iterable[Periodic], cpus: int, overheads: Overheads) -> dict[str, int]:
    """Return nothing if some have none."""
    callbacks = []
    for task in tasks:
        is_limited = task.name == LIMITED
        work = task.budget[0] + TICK if is_limited else task.work
        period = task.budget[1] if is_limited else task.period
        callbacks.append(
            Callback(
                task.name, Kind.TIMER, "e", work, work, period=period,
                deadline=period if is_limited else task.deadline, publishes=(task.name,),
                jitter=period if is_limited else 0,
            )
        )  # fmt: skip
    executor = Executor("e", ExecutorKind.ISOLATED, Policy.EDF, cores=tuple(range(cpus)))
    result = analyse(System("set", (executor,), tuple(callbacks), overheads=overheads))
    found = {b.name: b.bound for b in result.callbacks if b.name != LIMITED}
    return {name: b for name, b in found.items() if b is not None} if all(found.values()) else {}


def _busy(tasks: Sequence[Periodic]) -> int:
    """Return how long deadlines may keep one CPU busy without a break, with the switches."""
    length, before = sum(task.work for task in tasks), 0
    while length != before and length < PERIOD:
        before = length
        length = sum(-(-length // task.period) * (task.work + 2 * SWITCHES) for task in tasks)
    return length


def _one_cpu(rng: random.Random, name: str, cpu: int) -> Set:
    """Return a set in which no CPU has nothing but deadlines for so long that the reserve comes."""
    while True:
        tasks = _periodic(rng, rng.uniform(0.5, 0.75))
        bounds = _bounds(tasks, 1, Overheads(release=SWITCHES, dispatch=SWITCHES))
        if bounds and _busy(tasks) < PERIOD - RESERVE - TICK:
            return Set(name, cpu, tuple(tasks), bounds)


def _all_cpus(rng: random.Random, name: str, cpus: int) -> Set:
    while True:
        tasks = _periodic(rng, rng.uniform(0.7, 1.1))
        bounds = _bounds(tasks, cpus, Overheads(dispatch=2 * SWITCHES))
        if bounds:
            return Set(name, -1, tuple(tasks), bounds, cpus)


def _with_budget(rng: random.Random, name: str, cpu: int) -> Set:
    """Return a set beside one that would use nearly all of its CPU, by deadlines that are past."""
    overheads = Overheads(
        release=SWITCHES, dispatch=SWITCHES, stolen=RESERVE + TICK, window=PERIOD - RESERVE
    )
    while True:
        budget = (rng.choice((2, 4)) * MS, rng.choice((40, 50)) * MS)
        period = budget[1] // 2
        limited = Periodic(LIMITED, period, int(0.9 * period), period, 0, budget)
        tasks = [*_periodic(rng, rng.uniform(0.3, 0.5)), limited]
        bounds = _bounds(tasks, 1, overheads)
        if bounds:
            return Set(name, cpu, tuple(tasks), bounds)


def make_sets(seed: int, cpus: int) -> list[Set]:
    """Return sets for the last of `cpus` CPUs, and for all of them."""
    rng = random.Random(seed)
    last = cpus - 1
    limited = _with_budget(rng, "budget-1", last)
    tasks = tuple(replace(task, budget=(0, 0)) for task in limited.tasks)
    return [
        _one_cpu(rng, "edf-1", last),
        _one_cpu(rng, "edf-2", last),
        _all_cpus(rng, "all-1", cpus),
        _all_cpus(rng, "all-2", cpus),
        limited,
        _with_budget(rng, "budget-2", last),
        replace(limited, name=UNLIMITED, tasks=tasks),
    ]


@dataclass(frozen=True)
class Job:
    """One that has run."""

    task: str
    release: int
    end: int

    @property
    def response(self) -> int:
        return self.end - self.release


@dataclass
class Judged:
    jobs: int = 0
    excused: int = 0
    """Later than their bound, and no later without what was above all of them."""
    closest: float = 0.0
    """The largest response, as a share of its bound, of a job that is not late."""
    late: tuple[str, ...] = ()


def judge(one: Set, jobs: Sequence[Job], spans: Sequence[Span]) -> Judged:
    """Hold each job against its bound.

    One that is late is excused if it would not have been but for the time in which threads above
    all of the set had its CPUs, from when the first of the jobs came beside which it waited.

    spans: What ran when on a CPU, by the kernel's trace.
    """
    found = Judged()
    for job in jobs:
        bound = one.bounds.get(job.task)
        if bound is None:
            continue
        found.jobs += 1
        if job.response <= bound:
            found.closest = max(found.closest, job.response / bound)
            continue
        begin = busy_since(jobs, job)
        above = sum(
            max(0, min(until, job.end) - max(since, begin))
            for cpu, since, until, _, is_above in spans
            if is_above and one.cpu in (-1, cpu)
        )
        if job.response - above <= bound:
            found.excused += 1
        else:
            found.late += (
                f"{one.name} {job.task}, released at {job.release}: {job.response / MS:.3f} ms, "
                f"bound {bound / MS:.3f} ms, {above / MS:.3f} ms of others above",
            )
    return found


def busy_since(jobs: Sequence[Job], job: Job) -> int:
    """Return since when some job had been there all the time when this one came."""
    begin = job.release
    for other in sorted(jobs, key=lambda other: other.end, reverse=True):
        if other.release < begin <= other.end:
            begin = other.release
    return begin
