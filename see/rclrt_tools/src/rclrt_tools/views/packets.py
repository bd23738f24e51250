# Copyright 2026 The rclrt Authors
# SPDX-License-Identifier: Apache-2.0
"""Many protobuf messages of one form at once: one is made by the library, numbers are filled in.

Numbers of variable length get as many bytes as the largest: a varint may have zeros at its end.
"""

from __future__ import annotations

import struct
from collections.abc import Callable

import numpy as np
import numpy.typing as npt
from perfetto.protos.perfetto.trace.perfetto_trace_pb2 import TracePacket

Bytes = npt.NDArray[np.uint8]
Numbers = npt.NDArray[np.int64] | npt.NDArray[np.uint64]

LARGE = 1 << 62
"""Numbers from here to twice as much are varints of 9 bytes."""

MIDDLE = 1 << 21
"""Numbers from here to 128 times as much are varints of 4 bytes."""

DOUBLE = 1.2345e250
SHIFTS = np.arange(0, 63, 7, dtype=np.uint64)


def varints(numbers: Numbers) -> Bytes:
    """Return numbers from 0 to 2^63 - 1 as varints of 9 bytes, shape (n, 9)."""
    wide = numbers.astype(np.uint64)[:, None] >> SHIFTS
    found: Bytes = (wide & np.uint64(0x7F)).astype(np.uint8)
    found[:, :-1] |= 0x80
    return found


def short_varints(numbers: Numbers) -> Bytes:
    """Return numbers below 2^28 as varints of 4 bytes, shape (n, 4)."""
    found = varints(numbers)[:, :4]
    found[:, 3] &= 0x7F
    return found


def fixed(values: npt.NDArray[np.float64] | Numbers) -> Bytes:
    """Return values of 8 bytes, shape (n, 8)."""
    return np.ascontiguousarray(values).view(np.uint8).reshape(len(values), 8)


def _varint(number: int) -> bytes:
    found = bytearray()
    while number >= 128:
        found.append(number & 0x7F | 0x80)
        number >>= 7
    return bytes([*found, number])


class Marks:
    """Hands out numbers that stand for what is filled in later, and finds them again."""

    def __init__(self) -> None:
        self._marks: dict[str, bytes] = {}

    def large(self, name: str) -> int:
        """Return a number for a varint of 9 bytes."""
        number = LARGE + len(self._marks) + 1
        self._marks[name] = _varint(number)
        return number

    def middle(self, name: str) -> int:
        """Return a number for a varint of 4 bytes."""
        number = MIDDLE + len(self._marks) + 1
        self._marks[name] = _varint(number)
        return number

    def fixed(self, name: str) -> int:
        """Return a number for a fixed64."""
        number = 0xF1E2D3C4B5A60000 + len(self._marks)
        self._marks[name] = struct.pack("<Q", number)
        return number

    def double(self, name: str) -> float:
        """Return a number for a double."""
        number = DOUBLE * (1 + len(self._marks))
        self._marks[name] = struct.pack("<d", number)
        return number

    def places(self, data: bytes) -> dict[str, slice]:
        """Return where each of them is."""
        found = {}
        for name, mark in self._marks.items():
            assert data.count(mark) == 1, name  # They are made so.
            begin = data.index(mark)
            found[name] = slice(begin, begin + len(mark))
        return found


class Template:
    """Packets that differ in numbers only.

    Parameters
    ----------
    fill
        Sets the fields of a packet; what differs it takes from the marks.
    """

    def __init__(self, fill: Callable[[TracePacket, Marks], None]) -> None:
        packet, marks = TracePacket(), Marks()
        fill(packet, marks)
        data = framed(packet)
        self._places = marks.places(data)
        self._form = np.frombuffer(data, dtype=np.uint8)

    def rows(self, count: int, **columns: Bytes) -> bytes:
        """Return that many packets, of which each takes a row of each column."""
        made = np.empty((count, len(self._form)), dtype=np.uint8)
        made[:] = self._form
        for name, place in self._places.items():
            made[:, place] = columns[name]
        return made.tobytes()


def framed(packet: TracePacket) -> bytes:
    """Return a packet as it stands in a trace."""
    data: bytes = packet.SerializeToString()
    return b"\x0a" + _varint(len(data)) + data
