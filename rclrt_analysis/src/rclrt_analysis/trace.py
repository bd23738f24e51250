# Copyright 2026 The rclrt Authors
# SPDX-License-Identifier: Apache-2.0
"""Reads and writes trace files, version 1 (rclrt_trace/SPEC.md)."""

from __future__ import annotations

import struct
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import numpy as np
import numpy.typing as npt

MAGIC = b"RCLRTTRC"
VERSION = 1
NO_DEADLINE = 2**63 - 1
MAX_NAMES = 1_000_000
UNFINISHED = 2**32 - 1
"""For the number of names, by a writer that has not closed the file."""

HEADER = struct.Struct("<8sIIIIQ")
NAME = struct.Struct("<II")
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
        ("reserved", "u1"),
    ]
)
DONE = 0

Records = npt.NDArray[Any]


class TraceError(Exception):
    """The file is no trace; the text names the place."""


@dataclass(frozen=True)
class Trace:
    """What a file holds.

    Attributes
    ----------
    names
        Of callbacks, by the id in their records.
    records
        Shape (n,), of type `RECORD`, in the order of the file.
    dropped
        Records that are missing because a ring was full.
    """

    names: dict[int, str]
    records: Records
    dropped: int = 0


def read_trace(path: Path) -> Trace:
    """Return the content of a trace file; a record that was cut short at its end is left out.

    Raises
    ------
    TraceError
        It cannot be read, is no trace of version 1, or is unfinished.
    """
    try:
        data = path.read_bytes()
    except OSError as error:
        raise TraceError(f"{path}: {error.strerror}") from error
    if len(data) < HEADER.size:
        raise TraceError(f"{path}: {len(data)} bytes are too few for a header of {HEADER.size}")
    magic, version, size, count, _, dropped = HEADER.unpack_from(data)
    if magic != MAGIC:
        raise TraceError(f"{path}: this is no trace file: it starts with {magic!r}, not {MAGIC!r}")
    if (version, size) != (VERSION, RECORD.itemsize):
        raise TraceError(
            f"{path}: version {version} with records of {size} bytes; this reads version "
            f"{VERSION} with {RECORD.itemsize}"
        )
    if count == UNFINISHED:
        raise TraceError(f"{path}: unfinished: its writer was killed, or had not closed it yet")
    if count > MAX_NAMES:
        raise TraceError(f"{path}: {count} callbacks are more than {MAX_NAMES}; is it damaged?")
    names: dict[int, str] = {}
    at = HEADER.size
    for _ in range(count):
        if at + NAME.size > len(data):
            raise TraceError(f"{path}: byte {at}: the names end early")
        key, length = NAME.unpack_from(data, at)
        at += NAME.size
        if at + length > len(data) or key in names:
            raise TraceError(f"{path}: byte {at}: the name of callback {key} is damaged")
        try:
            names[key] = data[at : at + length].decode("utf-8")
        except UnicodeError as error:
            raise TraceError(f"{path}: byte {at}: {error}") from error
        at += length
    whole = (len(data) - at) // RECORD.itemsize
    records = np.frombuffer(data, RECORD, whole, at)
    unknown = set(np.unique(records["callback"]).tolist()) - set(names)
    if unknown:
        raise TraceError(f"{path}: records of callback {min(unknown)}, which has no name")
    return Trace(names, records, dropped)


def write_trace(trace: Trace, path: Path) -> None:
    """Write a trace file."""
    size = RECORD.itemsize
    parts = [HEADER.pack(MAGIC, VERSION, size, len(trace.names), 0, trace.dropped)]
    for key, name in trace.names.items():
        text = name.encode("utf-8")
        parts += [NAME.pack(key, len(text)), text]
    parts.append(trace.records.astype(RECORD).tobytes())
    path.write_bytes(b"".join(parts))
