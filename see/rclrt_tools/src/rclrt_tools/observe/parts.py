# Copyright 2026 The rclrt Authors
# SPDX-License-Identifier: Apache-2.0
"""Trace files put together by the executor that wrote them, and their records by callback."""

import functools
import operator
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass, field
from typing import Any

import numpy as np
import numpy.typing as npt

from rclrt_tools.trace import Entry, Header, Records, Trace, blank, layout
from rclrt_tools.trace.layout import is_sane


@dataclass
class Observed:
    """A model in the making.

    content: As in a model file.
    remarks: By place in `content["callbacks"]`: what the records say besides.
    responses: By name of the callback: the longest time from the release of a job to its end, ns.
    ways: The same from the release of what has led to the job, where that was asked for.
    priorities: By name of the callback: its priority, if all of its jobs ran under SCHED_FIFO or
        SCHED_RR.
    silent: Names of callbacks of which no job ran.
    doubts: Reasons for no verdict that hold under any executor: what is wrong with the records.
    """

    content: dict[str, Any]
    remarks: list[str] = field(default_factory=list)
    responses: dict[str, int] = field(default_factory=dict)
    ways: dict[str, int] = field(default_factory=dict)
    priorities: dict[str, int] = field(default_factory=dict)
    silent: list[str] = field(default_factory=list)
    doubts: list[str] = field(default_factory=list)
    jobs: int = 0


Ints = npt.NDArray[np.int64]
Key = tuple[int, int]
"""A callback: the number of its part, and its id there."""


@dataclass(frozen=True)
class Part:
    """One executor.

    ran, lost, published: Records by callback: of jobs that ran, of jobs that did not, of
        publications.
    wrong: How many records contradict themselves; they are in none of these.
    """

    name: str
    header: Header
    callbacks: Mapping[int, Entry]
    ran: Mapping[int, Records]
    lost: Mapping[int, Records]
    published: Mapping[int, Records]
    dropped: int
    wrong: int

    @property
    def clock(self) -> bytes:
        """Parts with the same have the same clock."""
        return self.header.boot_id

    def values_of(self, field: str) -> set[int]:
        """Return the values of a field of all jobs that ran."""
        return {int(one) for jobs in self.ran.values() for one in np.unique(jobs[field])}

    @property
    def cpus(self) -> int:
        """The mask of all CPUs that jobs could use."""
        return functools.reduce(operator.or_, self.values_of("cpus"), 0)


def parts_of(traces: Sequence[tuple[str, Trace]]) -> list[Part]:
    """Return the executors; several files of one, as rotation leaves them, count as one.

    traces: Each with a name for its executor.

    Raises ValueError: Two files of one executor contradict each other.
    """
    together: dict[object, list[tuple[str, Trace]]] = {}
    for number, (name, trace) in enumerate(traces):
        header = trace.header
        key = (header.boot_id, header.process, header.executor) if header.executor else number
        together.setdefault(key, []).append((name, trace))
    return [_part(files) for files in together.values()]


def _part(files: list[tuple[str, Trace]]) -> Part:
    callbacks: dict[int, Entry] = {}
    for name, trace in files:
        for key, entry in trace.callbacks.items():
            if callbacks.setdefault(key, entry) != entry:
                raise ValueError(
                    f"{name}: callback {key} of executor {trace.header.executor} of process "
                    f"{trace.header.process} is another one than in {files[0][0]}. Give the files "
                    "of one run"
                )
    every = [trace.records for _, trace in files]
    records = every[0] if len(every) == 1 else np.concatenate(every)
    fine = is_sane(records)
    outcome = records["outcome"]
    ran = outcome <= layout.EXCEPTION
    # When an executor ends, jobs that wait are given up: nothing has run after that.
    last_start = records["start_ns"][fine & ran].max(initial=0)
    given_up = (outcome > layout.EXCEPTION) & (outcome <= layout.SKIPPED)
    given_up &= records["end_ns"] <= last_start
    return Part(
        files[0][0],
        files[0][1].header,
        callbacks,
        by_callback(records, fine & ran),
        by_callback(records, fine & given_up),
        by_callback(records, fine & (outcome == layout.PUBLISHED)),
        # Each file counts on from the one before.
        max(trace.dropped for _, trace in files),
        int(len(records) - fine.sum()),
    )


def by_callback(records: Records, which: npt.NDArray[np.bool_]) -> dict[int, Records]:
    """Return the chosen records of each callback, by release. They are copied only once."""
    chosen = np.flatnonzero(which)
    if not len(chosen):
        return {}
    chosen = chosen[np.lexsort((records["release_ns"][chosen], records["callback"][chosen]))]
    keys, first = np.unique(records["callback"][chosen], return_index=True)
    parts = np.split(chosen, first[1:])
    return {key: records[part] for key, part in zip(keys.tolist(), parts, strict=True)}


def joined(several: Iterable[Records]) -> Records:
    """Return all of them."""
    return np.concatenate([blank(0), *several])


def times_of(several: Iterable[Records], which: str) -> Ints:
    """Return one time of all of them."""
    return np.concatenate([np.zeros(0, np.int64), *(records[which] for records in several)])
