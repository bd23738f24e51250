# Copyright 2026 The rclrt Authors
# SPDX-License-Identifier: Apache-2.0
"""A watch that keeps each job and chain that took longer than its bound or deadline."""

from collections.abc import Collection, Iterable, Mapping
from dataclasses import dataclass

from rclrt_analysis.model import System
from rclrt_benchmarks.contract.machine import Stalls, Strangers
from rclrt_tools.trace import layout
from rclrt_tools.trace.layout import Entry, Header, Records
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
        self._found: dict[Cores, tuple[int, list[Busy]]] = {}
        self._judged_from = judged_from
        self._limits = {one.name: (one.bound, one.deadline) for one in self.result.callbacks}
        self._late: list[Late] = []
        self._ran: dict[Cores, list[Ran]] = {}

    def add(self, header: Header, callbacks: Mapping[int, Entry], records: Records) -> None:
        """Take records of one executor, and keep what was late."""
        super().add(header, callbacks, records)
        names = {id_: self.name_of(entry.name) for id_, entry in callbacks.items()}
        ran = records[records["outcome"] <= layout.EXCEPTION]
        columns = ("callback", "release_ns", "start_ns", "end_ns", "cpu_ns")
        for id_, release, start, end, cpu in zip(*(ran[c].tolist() for c in columns), strict=True):
            name = names.get(id_)
            if name is None:
                continue
            cores = cores_of(self.system, name)
            self._judge(
                self._late, Late(name, release, end, *self._limits[name], frozenset([cores]))
            )
            more = max(0, cpu - self.system.callback_of[name].wcet)
            self._ran.setdefault(cores, []).append(Ran(release, start, end, more))

    def _judge(self, late: list[Late], one: Late) -> None:
        if one.begin >= self._judged_from and (one.is_above_bound() or one.is_missed()):
            late.append(one)

    @property
    def late(self) -> list[Late]:
        """Return all of it; of chains, of their newest 10,000 instances."""
        late = list(self._late)
        bounds = {one.name: one.bound for one in self.result.chains}
        for seen in self.chains:
            name, deadline = seen.chain.name, seen.chain.deadline
            cores = frozenset(cores_of(self.system, one) for one in seen.chain.callbacks)
            for value, end in seen.instances:
                self._judge(late, Late(name, end - value, end, bounds[name], deadline, cores))
        return late

    def take_late(self, names: Collection[str]) -> list[Late]:
        """Return what was late of these callbacks, and forget it."""
        taken = [one for one in self._late if one.name in names]
        self._late = [one for one in self._late if one.name not in names]
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
        ran = self._ran.get(cores, [])
        if self._found.get(cores, (-1, []))[0] != len(ran):
            self._found[cores] = (len(ran), busy_times(ran))
        return self._found[cores][1]

    @property
    def jobs(self) -> int:
        """Return how many jobs were seen."""
        return sum(one["jobs"] for one in self.to_json()["callbacks"])


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
