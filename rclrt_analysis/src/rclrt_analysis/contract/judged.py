# Copyright 2026 The rclrt Authors
# SPDX-License-Identifier: Apache-2.0
"""A watch that keeps each job and chain that took longer than its bound or deadline."""

from __future__ import annotations

from collections.abc import Collection, Iterable
from dataclasses import dataclass, field

from rclrt_analysis.contract.machine import BEFORE_NS, Stalls
from rclrt_analysis.model import System
from rclrt_analysis.watch.assumptions import Assumptions
from rclrt_analysis.watch.chains import Seen
from rclrt_analysis.watch.feed import Job, JobKey
from rclrt_analysis.watch.watch import Watch


@dataclass(frozen=True)
class Late:
    """Something that took longer than it should; times in ns."""

    name: str
    begin: int
    end: int
    bound: int | None
    deadline: int | None

    @property
    def took(self) -> int:
        """Return how long it took."""
        return self.end - self.begin

    def is_above_bound(self, away: int = 0) -> bool:
        """Return whether it took longer than its bound, and than that with a machine away."""
        return self.bound is not None and self.took > self.bound + away

    def is_missed(self, away: int = 0) -> bool:
        """Return whether it missed its deadline, also with that much more."""
        return self.deadline is not None and self.took > self.deadline + away


@dataclass
class _SeenLate(Seen):
    name: str = ""
    bound: int | None = None
    late: list[Late] = field(default_factory=list)

    def add(self, value: int, at: int, deadline: int | None, path: tuple[JobKey, ...] = ()) -> None:
        super().add(value, at, deadline, path)
        one = Late(self.name, at - value, at, self.bound, deadline)
        if one.is_above_bound() or one.is_missed():
            self.late.append(one)


class _NotedAssumptions(Assumptions):
    late: list[Late]
    longer: list[tuple[int, int, int]]

    def add(self, jobs: Iterable[Job]) -> None:
        every = list(jobs)
        for job in every:
            if job.ran and job.callback in self.seen:
                limits = self._bounds[job.callback], self._deadlines[job.callback]
                one = Late(job.callback, job.release, job.end, *limits)
                if one.is_above_bound() or one.is_missed():
                    self.late.append(one)
                more = job.cpu - self.system.callback_of[job.callback].wcet
                if more > 0:
                    self.longer.append((job.start, job.end, more))
        super().add(every)


class Judged(Watch):
    """Keeps what was late."""

    def __init__(self, system: System) -> None:
        super().__init__(system)
        noted = _NotedAssumptions(system, self.result)
        noted.late, noted.longer = [], []
        self.assumptions = noted
        self._noted = noted
        bounds = {one.name: one.bound for one in self.result.chains}
        for chain in self.chains:
            chain.seen = _SeenLate(name=chain.chain.name, bound=bounds[chain.chain.name])

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

    def longer(self, begin: int, end: int) -> int:
        """Return by how much jobs then, or shortly before, ran longer than the model says."""
        every = self._noted.longer
        return sum(more for start, last, more in every if last > begin - BEFORE_NS and start < end)

    @property
    def jobs(self) -> int:
        """Return how many jobs were seen."""
        return sum(one.jobs for one in self.assumptions.seen.values())


@dataclass
class Verdict:
    """What was late, and how much of it the machine alone explains.

    Attributes
    ----------
    above, missed
        Jobs and chains above their bounds, and above their deadlines.
    unexplained
        Of `above`: those that were above by more than the machine was away and jobs ran longer than
        the model says.
    missed_unexplained
        Of `missed` likewise.
    """

    jobs: int
    above: list[Late]
    missed: list[Late]
    unexplained: list[Late]
    missed_unexplained: list[Late]


def judge(watch: Judged, stalls: Stalls) -> Verdict:
    """Return the verdict on a run beside which stalls were looked for."""
    late = []
    for one in watch.late:
        when = one.begin, one.end
        late.append((one, stalls.within(*when) + watch.longer(*when)))
    return Verdict(
        watch.jobs,
        [one for one, _ in late if one.is_above_bound()],
        [one for one, _ in late if one.is_missed()],
        [one for one, away in late if one.is_above_bound(away)],
        [one for one, away in late if one.is_missed(away)],
    )


def worst_of(found: Iterable[Late]) -> list[str]:
    """Return a line for each name, with its worst."""
    worst: dict[str, Late] = {}
    for one in found:
        if one.name not in worst or one.took > worst[one.name].took:
            worst[one.name] = one
    return [
        f"{one.name}: {one.took / 1e6:.3f} of "
        + ("no bound" if one.bound is None else f"{one.bound / 1e6:.3f} ms")
        for one in worst.values()
    ]
