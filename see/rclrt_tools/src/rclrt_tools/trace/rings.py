# Copyright 2026 The rclrt Authors
# SPDX-License-Identifier: Apache-2.0
"""Records in the rings of threads: which of them are whole, and which the file has already."""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np
import numpy.typing as npt

from rclrt_tools.trace.layout import RECORD, Records

IDENTITY = ("outcome", "callback", "sequence", "thread", "end_ns")
ODD = (0x9E3779B97F4A7C15, 0xC2B2AE3D27D4EB4F, 0x165667B19E3779F9, 0xD6E8FEB86659FD93, 1)


def ring_records(slots: Records, capacity: int, head: int, newer: int) -> Records:
    """Return the records of a ring that are whole, oldest first.

    Parameters
    ----------
    slots
        The first of its `capacity` slots; the file may end before the last.
    head, newer
        Records written so far, before and after the slots were copied.
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
