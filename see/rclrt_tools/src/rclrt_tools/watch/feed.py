# Copyright 2026 The rclrt Authors
# SPDX-License-Identifier: Apache-2.0
"""Records of several executors as jobs that know each other by name, and what joins take."""

from collections.abc import Callable, Mapping
from dataclasses import dataclass

from rclrt_tools.trace import layout
from rclrt_tools.trace.layout import Entry, Header, Records

JobKey = tuple[bytes, int, int, int]
"""Boot, process, executor, number of the job within the executor."""

Message = tuple[int, int]
"""Publisher and source time stamp."""

COLUMNS = (
    "callback", "sequence", "release_ns", "start_ns", "end_ns", "cpu_ns", "outcome", "cause",
    "by_executor", "by_callback", "by_sequence", "publisher", "message", "policy", "priority",
    "thread", "cpu", "jobs",
)  # fmt: skip


@dataclass(frozen=True, slots=True)
class Job:
    """A job that ran, or jobs that were given up; times in ns.

    by: The job that has published what released it, in the same process; None: unknown or none.
    by_callback: Its callback, if both are of one executor; "" if not known.
    message: What it took; None: nobody has said which.
    on: The CPU on which it started.
    ran: False: `count` jobs were dropped or skipped.
    input: The executor's name of the callback, if the model's stands for several; else "".
    """

    callback: str
    key: JobKey
    release: int
    start: int
    end: int
    cpu: int
    by: JobKey | None
    by_callback: str
    message: Message | None
    policy: int
    priority: int
    thread: int
    on: int
    ran: bool
    count: int
    input: str = ""


@dataclass(frozen=True, slots=True)
class Publication:
    """A message that a job has published."""

    message: Message
    by: JobKey
    time: int


def read(
    header: Header,
    callbacks: Mapping[int, Entry],
    records: Records,
    name_of: Callable[[str], str] = str,
) -> tuple[list[Job], list[Publication]]:
    """Return what records of one executor say, in their order.

    name_of: Gives the name in the model for that of the executor.
    """
    ids = {id_ for key in ("callback", "by_callback") for id_ in records[key].tolist()}
    entries = {id_: callbacks[id_].name for id_ in ids if id_ in callbacks}
    names = {id_: name_of(name) for id_, name in entries.items()}
    inputs = {id_: name if names[id_] != name else "" for id_, name in entries.items()}
    here = (header.boot_id, header.process, header.executor)
    jobs: list[Job] = []
    publications: list[Publication] = []
    columns = [records[name].tolist() for name in COLUMNS]
    for (
        callback, sequence, release, start, end, cpu, outcome, cause,
        by_executor, by_callback, by_sequence, publisher, message, policy, priority, thread, on,
        count,
    ) in zip(*columns, strict=True):  # fmt: skip
        key = (*here, sequence)
        number = (publisher, message) if publisher and message != layout.NO_MESSAGE else None
        if outcome == layout.PUBLISHED:
            if number:
                publications.append(Publication(number, key, end))
            continue
        by = (*here[:2], by_executor, by_sequence) if cause == layout.CAUSE_JOB else None
        name = names.get(callback, f"callback {callback}")
        origin = names.get(by_callback, "") if by and by_executor == header.executor else ""
        ran = outcome <= layout.EXCEPTION
        jobs.append(
            Job(
                name,
                key,
                release,
                start,
                end,
                cpu,
                by,
                origin,
                number,
                policy,
                priority,
                thread,
                on,
                ran,
                count,
                inputs.get(callback, ""),
            )
        )
    return jobs, publications


FEW = 8
"""With so many inputs or less it is found out what was kept before the first record."""


class JoinWatch:
    """The jobs of one join.

    In records each input of a callback that waits for several has jobs of its own. Those that only
    keep their message for later bring out nothing; the one with which the last input comes works
    with all that was kept.

    inputs: How many there are.
    whole: Whether its first job is its first one: nothing was kept before.

    What was kept before the first record is found out from what follows. Until that is known, a job
    brings out the messages of the round before: by then these have surely come out.
    """

    def __init__(self, inputs: int, whole: bool = True) -> None:
        self._every = inputs
        self._number: dict[str, int] = {}
        self._kept: dict[str, Job] = {}
        self._newest: dict[str, Job] = {}
        self._before: tuple[Job, ...] = ()
        self._publishes = False
        # Each is what may be kept, as bits of inputs. Empty: nobody knows.
        self._possible = {0}
        if not whole:
            self._possible = set(range((1 << inputs) - 1)) if inputs <= FEW else set()

    @property
    def is_known(self) -> bool:
        """Whether it is known which jobs work."""
        return len(self._possible) == 1 or self._publishes

    def add(self, job: Job, published: bool) -> tuple[Job, ...] | None:
        """Take the next job, by their ends.

        Returns tuple or None: The newest job of each input, if all have come since the last time;
            None: it has only kept its message. Of a callback that was seen to publish, a job that
            has published nothing has only kept one as well, whatever has come.
        """
        self._newest[job.input] = job
        self._kept.pop(job.input, None)  # The newest is the last one.
        self._kept[job.input] = job
        self._publishes |= published
        if not self.is_known:
            self._find_out(job.input)
        if len(self._kept) < self._every or (self._publishes and not published):
            return None
        found = tuple(self._kept.values())
        self._kept.clear()
        if self.is_known:
            return found
        before, self._before = self._before, found
        return before or None

    def _find_out(self, name: str) -> None:
        """Note what may be kept, now that a message of this input has come."""
        bit = 1 << self._number.setdefault(name, len(self._number) % self._every)
        full = (1 << self._every) - 1
        self._possible = {0 if kept | bit == full else kept | bit for kept in self._possible}
        if len(self._possible) != 1:
            return
        (kept,) = self._possible
        is_kept = [n for n in self._newest if (kept or full) >> self._number[n] & 1]
        self._kept = {n: self._newest[n] for n in is_kept}
