# Copyright 2026 The rclrt Authors
# SPDX-License-Identifier: Apache-2.0
"""The trace record and the pieces of a trace file, as in rclrt_trace/SPEC.md."""

import struct
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

import numpy as np
import numpy.typing as npt

MAGIC = b"RCLRTTRC"
NO_DEADLINE = 2**63 - 1
UNKNOWN = -1
NO_MESSAGE = 2**64 - 1
NO_CALLBACK = 2**32 - 1
MORE_CPUS = 1 << 63
MAX_NAME = 4096
"""Bytes of a name that readers take."""

START = struct.Struct("<8sII")
HEADER = struct.Struct("<8sII16sqIIBBB13x")
CHUNK = struct.Struct("<II")
ENTRY = struct.Struct("<IIIIqII")
RING = struct.Struct("<QI44x")
LOST = struct.Struct("<Q")
PROCESS = struct.Struct("<QII")
NOTE = struct.Struct("<I")

CHUNK_NONE, CHUNK_CALLBACK, CHUNK_RECORDS, CHUNK_RING, CHUNK_LOST = range(5)
CHUNK_PADDING, CHUNK_PROCESS, CHUNK_NOTE = range(5, 8)
DONE, EMPTY, EXCEPTION, DROPPED, SKIPPED, PUBLISHED = range(6)
CAUSE_UNKNOWN, CAUSE_TIMER, CAUSE_MESSAGE, CAUSE_JOB = range(4)
WAITED_FOR_NOTHING, WAITED_FOR_GROUP, WAITED_FOR_THREAD = range(3)
MODEL_UNKNOWN, MODEL_PRIORITY_EVENTS, MODEL_PREEMPTIVE, MODEL_ISOLATED = range(4)
ORDER_UNKNOWN, ORDER_FIRST_COME, ORDER_FIXED_PRIORITY, ORDER_EDF = range(4)
KIND_UNKNOWN, KIND_TIMER, KIND_SUBSCRIPTION, KIND_SERVICE, KIND_CLIENT, KIND_WAITABLE = range(6)
POLICY_UNKNOWN, POLICY_OTHER, POLICY_BATCH, POLICY_IDLE = range(4)
POLICY_FIFO, POLICY_RR, POLICY_DEADLINE, POLICY_EXT = range(4, 8)

OUTCOMES = ("done", "empty", "exception", "dropped", "skipped", "published")
CAUSES = ("unknown", "timer", "message", "job")
WAITS = ("", "group", "thread")
MODELS = ("unknown", "priority_events", "preemptive", "isolated")
ORDERINGS = ("unknown", "first_come", "fixed_priority", "edf")
KINDS = ("unknown", "timer", "subscription", "service", "client", "waitable")
POLICIES = ("unknown", "other", "batch", "idle", "fifo", "rr", "deadline", "ext")
POLICIES_OF_LINUX = {0: "other", 1: "fifo", 2: "rr", 3: "batch", 5: "idle", 6: "deadline", 7: "ext"}
WITH_PRIORITY = (POLICY_FIFO, POLICY_RR)
WITH_NICE = (POLICY_OTHER, POLICY_BATCH)
REAL_TIME = (*WITH_PRIORITY, POLICY_DEADLINE, POLICY_EXT)
"""What takes the CPU from the fair ones."""
FAIR = tuple(number for number in range(1, len(POLICIES)) if number not in REAL_TIME)
PRIORITY_WORDS = tuple(POLICIES[policy] for policy in WITH_PRIORITY)
NICE_WORDS = tuple(POLICIES[policy] for policy in WITH_NICE)

RECORD = np.dtype(
    [
        ("release_ns", "<i8"),
        ("ready_ns", "<i8"),
        ("start_ns", "<i8"),
        ("end_ns", "<i8"),
        ("deadline_ns", "<i8"),
        ("sequence", "<u8"),
        ("callback", "<u4"),
        ("thread", "<u4"),
        ("preemptions", "<i4"),
        ("cpu", "<u2"),
        ("outcome", "u1"),
        ("cause", "u1"),
        ("cpu_ns", "<i8"),
        ("root_ns", "<i8"),
        ("publisher", "<u8"),
        ("message", "<u8"),
        ("by_sequence", "<u8"),
        ("by_callback", "<u4"),
        ("by_executor", "<u2"),
        ("waited_for", "u1"),
        ("policy", "u1"),
        ("cpus", "<u8"),
        ("priority", "<i2"),
        ("reserved", "<u2"),
        ("jobs", "<u4"),
    ]
)

Records = npt.NDArray[Any]


class TraceError(Exception):
    """The file is no trace; the text names the place."""


@dataclass(frozen=True)
class Header:
    """The writer of the records; 0 stands for what is unknown.

    boot_id: Of the kernel: files of one boot have one clock. All 0 when simulated.
    clock_offset_ns: CLOCK_REALTIME minus the clock of the records.
    """

    boot_id: bytes = bytes(16)
    clock_offset_ns: int = 0
    process: int = 0
    executor: int = 0
    model: int = MODEL_UNKNOWN
    ordering: int = ORDER_UNKNOWN
    timers_preempt: int = 0


@dataclass(frozen=True)
class Entry:
    """What a file says of one callback.

    group: Callbacks with the same number share a group.
    parallelism: How many jobs of the group may run at once; 0: unknown.
    period_ns: Of a timer; -1 for all others.
    """

    name: str
    group: int = 0
    group_name: str = ""
    parallelism: int = 0
    kind: int = KIND_UNKNOWN
    period_ns: int = UNKNOWN


@dataclass(frozen=True)
class Trace:
    """What a file holds.

    callbacks: By the id in their records; every record has an entry.
    records: Shape (n,), of type `RECORD`, in the order of the file.
    dropped: Records that are missing because nobody read them in time.
    notes: Remarks for people, by callback; of the whole file by `NO_CALLBACK`.
    """

    callbacks: Mapping[int, Entry]
    records: Records
    dropped: int = 0
    header: Header = field(default_factory=Header)
    notes: Mapping[int, str] = field(default_factory=dict)

    @property
    def names(self) -> dict[int, str]:
        """The names of callbacks, by the id in their records."""
        return {key: entry.name for key, entry in self.callbacks.items()}

    @property
    def jobs(self) -> Records:
        """The records of jobs that ran."""
        return self.records[self.records["outcome"] <= EXCEPTION]


def blank(count: int) -> Records:
    """Return records of which nothing is known."""
    records = np.zeros(count, RECORD)
    records["deadline_ns"] = NO_DEADLINE
    for name in ("preemptions", "cpu_ns", "root_ns"):
        records[name] = UNKNOWN
    records["message"] = NO_MESSAGE
    records["by_callback"] = NO_CALLBACK
    records["jobs"] = 1
    return records


def word(words: tuple[str, ...], number: int) -> str:
    """Return the word for a number, or the number."""
    return words[number] if number < len(words) else str(number)


def too_long(key: int, *lengths: int) -> str | None:
    """Return what to say of a callback that has names of these lengths; None: they are fine."""
    if max(lengths) <= MAX_NAME:
        return None
    return (
        f"a name of callback {key} has {max(lengths)} bytes, more than {MAX_NAME}: give the "
        "callback or its group a shorter name; or the file is damaged"
    )


LONGEST = 3_600_000_000_000_000
"""The longest time between two instants of a job, ns: a thousand hours."""

EARLIEST = 2**61


def is_sane(records: Records) -> npt.NDArray[np.bool_]:
    """Return which records have times in order, and between them what a computer may take."""
    fine = np.ones(len(records), dtype=np.bool_)
    times = [records[name] for name in ("release_ns", "ready_ns", "start_ns", "end_ns")]
    for time in times:
        fine &= (time > -EARLIEST) & (time < EARLIEST)
    release, ready, start, end = (np.where(fine, time, 0) for time in times)
    fine &= (ready <= start) & (start <= end) & (end - release < LONGEST)
    fine &= (release - ready < LONGEST) & (records["cpu_ns"] < LONGEST)
    return fine


RECORDS_PER_CHUNK = 1 << 20


def packed_header(header: Header) -> bytes:
    """Return the first bytes of a trace file."""
    return HEADER.pack(
        MAGIC, 2, RECORD.itemsize, header.boot_id, header.clock_offset_ns, header.process,
        header.executor, header.model, header.ordering, header.timers_preempt,
    )  # fmt: skip


def packed_chunk(kind: int, content: bytes) -> bytes:
    """Return a chunk of a trace file."""
    return CHUNK.pack(kind, len(content)) + content + bytes(-len(content) % 8)


def write_trace(trace: Trace, path: Path) -> None:
    """Write a trace file."""
    with path.open("wb") as stream:
        stream.write(packed_header(trace.header))
        for key, entry in trace.callbacks.items():
            name, group = entry.name.encode("utf-8"), entry.group_name.encode("utf-8")
            packed = ENTRY.pack(
                key, entry.group, entry.parallelism, entry.kind, entry.period_ns,
                len(name), len(group),
            )  # fmt: skip
            stream.write(packed_chunk(CHUNK_CALLBACK, packed + name + group))
        for first in range(0, len(trace.records), RECORDS_PER_CHUNK):
            part = trace.records[first : first + RECORDS_PER_CHUNK]
            records = part.astype(RECORD, copy=False).tobytes()
            stream.write(packed_chunk(CHUNK_RECORDS, records))
        if trace.dropped:
            stream.write(packed_chunk(CHUNK_LOST, LOST.pack(trace.dropped)))


IDENTITY = ("outcome", "callback", "sequence", "thread", "end_ns")
ODD = (0x9E3779B97F4A7C15, 0xC2B2AE3D27D4EB4F, 0x165667B19E3779F9, 0xD6E8FEB86659FD93, 1)


def ring_records(slots: Records, capacity: int, head: int, newer: int) -> Records:
    """Return the records of a ring that are whole, oldest first.

    slots: The first of its `capacity` slots; the file may end before the last.
    head, newer: Records written so far, before and after the slots were copied.
    """
    first = max(0, max(head, newer) - capacity + 1)
    place = (first % capacity + np.arange(max(0, head - first), dtype=np.int64)) % capacity
    return slots[place[place < len(slots)]]


class Rings:
    """The records of all rings of a file, less those that are seen elsewhere in it."""

    def __init__(self, rings: Sequence[Records]) -> None:
        self._records = np.concatenate(rings) if rings else np.zeros(0, RECORD)
        self._mixed = _mixed(self._records)
        self._double = np.zeros(len(self._records), dtype=np.bool_)

    def seen(self, block: Records) -> None:
        """Note that these are in the file."""
        if not len(self._records):
            return
        mixed = _mixed(block)
        mine = np.flatnonzero(np.isin(self._mixed, mixed))
        # What mixes alike need not be alike.
        theirs = set(_identities(block[np.isin(mixed, self._mixed[mine])]))
        for place, identity in zip(mine, _identities(self._records[mine]), strict=True):
            self._double[place] |= identity in theirs

    def rest(self) -> Records:
        """Return those that were not seen."""
        return self._records[~self._double]


def _mixed(records: Records) -> npt.NDArray[np.uint64]:
    mixed = np.zeros(len(records), dtype=np.uint64)
    for name, odd in zip(IDENTITY, ODD, strict=True):
        mixed ^= records[name].astype(np.uint64) * np.uint64(odd)
    return mixed


def _identities(records: Records) -> list[tuple[int, ...]]:
    columns = [records[name].tolist() for name in IDENTITY]
    return list(zip(*columns, strict=True))
