# Copyright 2026 The rclrt Authors
# SPDX-License-Identifier: Apache-2.0
"""Records of several executors as jobs that know each other by name."""

from __future__ import annotations

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

    Attributes
    ----------
    by
        The job that has published what released it, in the same process; None: unknown or none.
    by_callback
        Its callback, if both are of one executor; "" if not known.
    message
        What it took; None: nobody has said which.
    on
        The CPU on which it started.
    ran
        False: `count` jobs were dropped or skipped.
    input
        The executor's name of the callback, if the model's stands for several; else "".
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

    Parameters
    ----------
    name_of
        Gives the name in the model for that of the executor.
    """
    names = {id_: name_of(entry.name) for id_, entry in callbacks.items()}
    inputs = {id_: e.name if names[id_] != e.name else "" for id_, e in callbacks.items()}
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
