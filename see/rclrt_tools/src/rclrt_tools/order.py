# Copyright 2026 The rclrt Authors
# SPDX-License-Identifier: Apache-2.0
"""Proves from job records that threads ran in the order of their jobs' deadlines.

A record says when a job was ready, started and ended. Between start and end it may have lost its
CPU, which no record tells; but it certainly had one when it started and when it ended. On m CPUs,
with jobs that do not block, global EDF therefore demands:

- queued: a job that has not started yet waits only while m earlier ones have, or none that is later
  has;
- ran: when a job starts or ends, fewer than m earlier ones are active.

A job whose exclusive group is busy cannot start; meanwhile the one that runs counts as if it had
the earlier of the two deadlines. Equal deadlines have no order. Whatever is broken for no longer
than a bound is the time that scheduling itself takes.
"""

from collections.abc import Hashable, Iterable, Mapping, Sequence
from dataclasses import dataclass, field

from rclrt_tools.trace import Trace


@dataclass(frozen=True)
class Violation:
    """A job ran although an earlier one should have.

    rule: "queued" or "ran".
    job, other: Names of the callbacks: of the job that should have run and of one that ran instead.
    since_ns, until_ns: When, CLOCK_MONOTONIC.
    """

    rule: str
    job: str
    other: str
    since_ns: int
    until_ns: int

    @property
    def length_ns(self) -> int:
        """How long, ns."""
        return self.until_ns - self.since_ns

    def __str__(self) -> str:
        what = (
            f"'{self.job}' waited while '{self.other}', which is later, had a CPU"
            if self.rule == "queued"
            else f"'{self.other}' had a CPU although '{self.job}' was earlier"
        )
        return f"{what}: for {self.length_ns / 1e3:.1f} us, from {self.since_ns} ns"


@dataclass
class _Job:
    name: str
    group: Hashable | None
    ready: int
    start: int
    end: int
    deadline: int
    active: bool = False
    started: bool = False
    inverted_since: int | None = None
    inverted_by: str = ""
    lent: int = field(default=2**63 - 1)  # earliest deadline of those it keeps from their group

    def effective(self) -> int:
        return min(self.deadline, self.lent)


# What happens at one instant: ends, then jobs become ready, then others start.
_END, _READY, _START = range(3)


def _exclusive(trace: Trace, number: int, groups: Mapping[str, str]) -> dict[int, Hashable]:
    """Return the exclusive group of each callback of a trace that has one."""
    found: dict[int, Hashable] = {}
    header = trace.header
    # An executor may have written several files.
    executor = (header.boot_id, header.process, header.executor) if header.executor else number
    for key, entry in trace.callbacks.items():
        if entry.name in groups:
            found[key] = groups[entry.name]
        elif entry.parallelism == 1:
            found[key] = (executor, entry.group)
    return found


def _jobs(traces: Iterable[Trace], groups: Mapping[str, str]) -> list[_Job]:
    jobs = []
    for number, trace in enumerate(traces):
        names = trace.names
        exclusive = _exclusive(trace, number, groups)
        for record in trace.jobs:
            callback = int(record["callback"])
            jobs.append(
                _Job(
                    names[callback],
                    exclusive.get(callback),
                    int(record["ready_ns"]),
                    int(record["start_ns"]),
                    int(record["end_ns"]),
                    int(record["deadline_ns"]),
                )
            )
    return jobs


def check_order(
    traces: Sequence[Trace],
    cpus: int,
    bound_ns: int,
    groups: Mapping[str, str] | None = None,
) -> list[Violation]:
    """Return where the order of deadlines was broken for longer than a bound.

    traces: Of all processes whose jobs compete; every job in them is one that EDF orders.
    cpus: m, at least 1.
    bound_ns: What is no longer than this is let pass, ns; not negative.
    groups: Exclusive group by name of the callback, instead of what the file says. Callbacks in
        none exclude nobody.

    Returns list of Violation: By time. Empty: proven, for the instants that records show.

    Raises ValueError: Fewer than 1 CPU, a negative bound, or records that are missing
        (`Trace.dropped`): nothing can be said then about what was not recorded.
    """
    if cpus < 1 or bound_ns < 0:
        raise ValueError(
            f"{cpus} CPUs and a bound of {bound_ns} ns: give at least 1 and at least 0"
        )
    dropped = sum(trace.dropped for trace in traces)
    if dropped:
        raise ValueError(f"{dropped} records are missing: raise trace_capacity or read more often")
    jobs = _jobs(traces, groups or {})
    events = sorted(
        (time, kind, index)
        for index, job in enumerate(jobs)
        for time, kind in ((job.ready, _READY), (job.start, _START), (job.end, _END))
    )
    check = _Check(cpus, bound_ns)
    for time, kind, index in events:
        check.step(time, kind, jobs[index])
    return sorted(check.violations, key=lambda violation: (violation.since_ns, violation.rule))


class _Check:
    """The jobs that are active at one instant."""

    def __init__(self, cpus: int, bound_ns: int) -> None:
        self.cpus = cpus
        self.bound_ns = bound_ns
        self.active: list[_Job] = []
        self.violations: list[Violation] = []

    def step(self, time: int, kind: int, job: _Job) -> None:
        if kind == _END and not job.started:
            # It took no time at all: its end sorts before its start.
            self._start(time, job)
        if kind == _READY:
            self.active.append(job)
            job.active = True
        elif kind == _START and not job.started:
            self._start(time, job)
        elif kind == _END:
            self._had_a_cpu(time, job)
            self.active.remove(job)
        self._lend()
        self._look_at_queue(time)

    def _start(self, time: int, job: _Job) -> None:
        if not job.active:
            self.active.append(job)
            job.active = True
        job.started = True
        self._close(time, job)
        self._had_a_cpu(time, job)

    def _is_kept_out(self, job: _Job) -> bool:
        return job.group is not None and any(
            other.started and other.group == job.group and other is not job for other in self.active
        )

    def _lend(self) -> None:
        for job in self.active:
            job.lent = min(
                (
                    other.deadline
                    for other in self.active
                    if job.started and not other.started and other.group == job.group is not None
                ),
                default=2**63 - 1,
            )

    def _had_a_cpu(self, time: int, job: _Job) -> None:
        """Rule "ran", with what was true just before `time`."""
        earlier = sorted(
            (
                other
                for other in self.active
                if other is not job
                and other.effective() < job.effective()
                and (other.started or not self._is_kept_out(other))
            ),
            key=lambda other: other.ready,
        )
        if len(earlier) < self.cpus:
            return
        # Since the m-th of them was ready, there were m.
        last = earlier[self.cpus - 1]
        since = max(last.ready, job.start if time == job.end else last.ready)
        if time - since > self.bound_ns:
            self.violations.append(Violation("ran", last.name, job.name, since, time))

    def _look_at_queue(self, time: int) -> None:
        started = [job for job in self.active if job.started]
        for job in self.active:
            if job.started:
                continue
            before = sum(other.effective() <= job.deadline for other in started)
            later = [other for other in started if other.effective() > job.deadline]
            if before < self.cpus and later and not self._is_kept_out(job):
                if job.inverted_since is None:
                    job.inverted_since = time
                    job.inverted_by = later[0].name
            else:
                self._close(time, job)

    def _close(self, time: int, job: _Job) -> None:
        since = job.inverted_since
        if since is not None and time - since > self.bound_ns:
            self.violations.append(Violation("queued", job.name, job.inverted_by, since, time))
        job.inverted_since = None
