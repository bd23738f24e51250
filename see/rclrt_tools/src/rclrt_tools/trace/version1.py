# Copyright 2026 The rclrt Authors
# SPDX-License-Identifier: Apache-2.0
"""Trace files of version 1: names first, then records of 64 bytes, less known than today."""

from __future__ import annotations

import struct
from collections.abc import Callable

import numpy as np

from rclrt_tools.trace.layout import RECORD, Entry, Records, TraceError, blank, too_long

HEADER = struct.Struct("<8sIIIIQ")
NAME = struct.Struct("<II")
UNFINISHED = 2**32 - 1
RECORD_1 = np.dtype([(name, RECORD[name]) for name in (RECORD.names or ())[:11]] + [("0", "u1")])
"""The first 64 bytes of a record; the last one had no meaning yet."""

Peek = Callable[[int, int], bytes]
Wrong = Callable[[int, str], TraceError]


def read_names(peek: Peek, wrong: Wrong, most: int) -> tuple[dict[int, Entry], int, int]:
    """Return the callbacks, how many records are missing, and where the records begin."""
    start = peek(0, HEADER.size)
    if len(start) < HEADER.size:
        raise wrong(len(start), f"too few bytes for a header of {HEADER.size}")
    _, _, _, count, _, dropped = HEADER.unpack(start)
    if count == UNFINISHED:
        raise wrong(16, "unfinished: its writer was killed, or had not closed it yet")
    if count > most:
        raise wrong(16, f"{count} callbacks are more than {most}; is the file damaged?")
    callbacks: dict[int, Entry] = {}
    at = HEADER.size
    for _ in range(count):
        fixed = peek(at, NAME.size)
        if len(fixed) < NAME.size:
            raise wrong(at, "the names end early")
        key, length = NAME.unpack(fixed)
        if long := too_long(key, length):
            raise wrong(at, long)
        at += NAME.size
        name = peek(at, length)
        if len(name) < length or key in callbacks:
            raise wrong(at, f"the name of callback {key} is damaged")
        try:
            callbacks[key] = Entry(name.decode("utf-8"), group=key)
        except UnicodeError as error:
            raise wrong(at, str(error)) from error
        at += length
    return callbacks, dropped, at


def converted(records: Records) -> Records:
    """Return them in today's form; what they did not say is unknown."""
    found = blank(len(records))
    for name in (RECORD_1.names or ())[:11]:
        found[name] = records[name]
    return found
