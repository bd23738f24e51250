# Copyright 2026 The rclrt Authors
# SPDX-License-Identifier: Apache-2.0
"""A watch that keeps each job and chain that took longer than its bound or deadline."""

from collections.abc import Collection, Iterable
from dataclasses import dataclass, field

from rclrt_analysis.model import System
from rclrt_benchmarks.contract.machine import Stalls, Strangers
from rclrt_tools.watch.assumptions import Assumptions
from rclrt_tools.watch.chains import Seen
from rclrt_tools.watch.feed import Job, JobKey
from rclrt_tools.watch.watch import Watch

Cores = tuple[int, ...]


@dataclass(frozen=True)
class Late:
    """Something that took longer than it should; times in ns.

    cores: Those of the callbacks that are in it.
    """

    name: str
    begin: int
    end: int
    bound: int | None
    deadline: int | None
    cores: frozenset[Cores] = frozenset()

    @property
    def took(self) -> int:
        """Return how long it took."""
        return self.end - self.begin

    def is_above_bound(self, more: int = 0) -> bool:
        """Return whether it took longer than its bound, and than that with so much more."""
        return self.bound is not None and self.took > self.bound + more

    def is_missed(self, more: int = 0) -> bool:
        """Return whether it missed its deadline, also with that much more."""
        return self.deadline is not None and self.took > self.deadline + more


@dataclass(frozen=True)
class Ran:
    """A job: when it was released, began and ended, and how much longer it ran than it may, ns."""

    release: int
    start: int
    end: int
    more: int


@dataclass(frozen=True)
class Evidence:
    """By what an assumption was broken while something was late, as measured; ns.

    away: For how long the machine was away, if that is more than the model has.
    longer: Jobs ran so much longer than the model says, besides.
    others: Other programs may have run so long in real time.
    """

    away: int = 0
    longer: int = 0
    others: int = 0

    @property
    def total(self) -> int:
        """Return the sum."""
        return self.away + self.longer + self.others


@dataclass
class _SeenLate(Seen):
    name: str = ""
    bound: int | None = None
    cores: frozenset[Cores] = frozenset()
    judged_from: int = 0
    late: list[Late] = field(default_factory=list)

    def add(self, value: int, at: int, deadline: int | None, path: tuple[JobKey, ...] = ()) -> None:
        super().add(value, at, deadline, path)
        one = Late(self.name, at - value, at, self.bound, deadline, self.cores)
        if one.begin >= self.judged_from and (one.is_above_bound() or one.is_missed()):
            self.late.append(one)


class _NotedAssumptions(Assumptions):
    judged_from: int
    late: list[Late]
    ran: dict[Cores, list[Ran]]

    def add(self, jobs: Iterable[Job]) -> None:
        every = list(jobs)
        for job in every:
            if job.ran and job.callback in self.seen:
                cores = cores_of(self.system, job.callback)
                limits = self._bounds[job.callback], self._deadlines[job.callback]
                one = Late(job.callback, job.release, job.end, *limits, frozenset([cores]))
                is_late = one.is_above_bound() or one.is_missed()
                if is_late and one.begin >= self.judged_from:
                    self.late.append(one)
                more = max(0, job.cpu - self.system.callback_of[job.callback].wcet)
                self.ran.setdefault(cores, []).append(Ran(job.release, job.start, job.end, more))
        super().add(every)


def cores_of(system: System, callback: str) -> Cores:
    """Return the cores of a callback's executor."""
    return system.executor_of[system.callback_of[callback].executor].cores


@dataclass(frozen=True)
class Busy:
    """A time in which some cores had jobs without a break, and these jobs."""

    begin: int
    end: int
    jobs: tuple[Ran, ...]


def busy_times(ran: Iterable[Ran]) -> list[Busy]:
    """Return these times, in order."""
    found: list[Busy] = []
    for job in sorted(ran, key=lambda one: one.release):
        last = found[-1] if found else None
        if last is None or job.release > last.end:
            found.append(Busy(job.release, job.end, (job,)))
        else:
            found[-1] = Busy(last.begin, max(last.end, job.end), (*last.jobs, job))
    return found


class Judged(Watch):
    """Keeps what was late.

    judged_from: What was released earlier is not late, ns: an executor that is not running yet.
        Until its threads are there and have their priorities, no bound holds.
    """

    def __init__(self, system: System, judged_from: int = 0) -> None:
        super().__init__(system)
        noted = _NotedAssumptions(system, self.result)
        noted.late, noted.ran, noted.judged_from = [], {}, judged_from
        self._known: dict[Cores, tuple[int, list[Busy]]] = {}
        self.assumptions = noted
        self._noted = noted
        bounds = {one.name: one.bound for one in self.result.chains}
        for chain in self.chains:
            cores = frozenset(cores_of(system, name) for name in chain.chain.callbacks)
            name = chain.chain.name
            chain.seen = _SeenLate(
                name=name, bound=bounds[name], cores=cores, judged_from=judged_from
            )

    @property
    def late(self) -> list[Late]:
        """Return all of it."""
        seen = [chain.seen for chain in self.chains]
        of_chains = [late for one in seen if isinstance(one, _SeenLate) for late in one.late]
        return [*self._noted.late, *of_chains]

    def take_late(self, names: Collection[str]) -> list[Late]:
        """Return what was late of these callbacks, and forget it."""
        taken = [one for one in self._noted.late if one.name in names]
        self._noted.late = [one for one in self._noted.late if one.name not in names]
        return taken

    def evidence(self, late: Late, stalls: Stalls, strangers: Strangers | None = None) -> Evidence:
        """Return what was measured in the busy times of a late one, from where nothing waited on.

        What a stall took from a job may count as the job's execution time, and counts once.
        """
        overheads = self.system.overheads
        away = longer = 0
        begin, end = late.begin, late.end
        for cores in late.cores:
            for busy in self._busy(cores):
                if busy.end < late.begin or busy.begin > late.end:
                    continue
                begin, end = min(begin, busy.begin), max(end, busy.end)
                lost = sum(stalls.within(busy.begin, busy.end, core) for core in cores)
                windows = -(-(busy.end - busy.begin) // max(1, overheads.window))
                # Within what the model has, a stall breaks no assumption and explains nothing.
                away += lost if lost > windows * overheads.stolen * len(cores) else 0
                for job in busy.jobs:
                    lost = sum(stalls.within(job.start, job.end, core) for core in cores)
                    longer += max(0, job.more - lost)
        return Evidence(away, longer, strangers.within(begin, end) if strangers else 0)

    def _busy(self, cores: Cores) -> list[Busy]:
        ran = self._noted.ran.get(cores, [])
        if self._known.get(cores, (-1, []))[0] != len(ran):
            self._known[cores] = (len(ran), busy_times(ran))
        return self._known[cores][1]

    @property
    def jobs(self) -> int:
        """Return how many jobs were seen."""
        return sum(one.jobs for one in self.assumptions.seen.values())


@dataclass
class Verdict:
    """What was late, and how much of it measurements explain.

    above, missed: Jobs and chains above their bounds, and above their deadlines.
    unexplained: Of `above`: those that were above by more than was measured in their busy times.
    missed_unexplained: Of `missed` likewise.
    evidence: By what is in `above`.
    """

    jobs: int
    above: list[Late]
    missed: list[Late]
    unexplained: list[Late]
    missed_unexplained: list[Late]
    evidence: dict[Late, Evidence]


def judge(watch: Judged, stalls: Stalls, strangers: Strangers | None = None) -> Verdict:
    """Return the verdict on a run beside which stalls and other programs were looked for."""
    known = {one: watch.evidence(one, stalls, strangers) for one in watch.late}
    return Verdict(
        watch.jobs,
        [one for one in known if one.is_above_bound()],
        [one for one in known if one.is_missed()],
        [one for one, found in known.items() if one.is_above_bound(found.total)],
        [one for one, found in known.items() if one.is_missed(found.total)],
        {one: found for one, found in known.items() if one.is_above_bound()},
    )


def worst_of(verdict: Verdict) -> list[str]:
    """Return a line for each name that was above its bound, with its worst and why."""
    worst: dict[str, Late] = {}
    for one in verdict.above:
        if one.name not in worst or one.took > worst[one.name].took:
            worst[one.name] = one
    lines = []
    for one in worst.values():
        found = verdict.evidence[one]
        lines.append(
            f"{one.name}: {one.took / 1e6:.3f} of {(one.bound or 0) / 1e6:.3f} ms; measured: away "
            f"{found.away / 1e6:.3f} ms, jobs {found.longer / 1e6:.3f} ms longer than modelled, "
            f"others in real time {found.others / 1e6:.3f} ms"
        )
    return lines
