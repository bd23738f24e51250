# Copyright 2026 The rclrt Authors
# SPDX-License-Identifier: Apache-2.0
"""Every second of a trace as a `diagnostic_msgs/DiagnosticArray`."""

from __future__ import annotations

import struct
from collections.abc import Iterator, Sequence

import numpy as np

from rclrt_tools.trace import NO_DEADLINE, Records, layout
from rclrt_tools.trace.layout import EARLIEST
from rclrt_tools.views.timeline import Ints

S = 1_000_000_000
OK, WARN, ERROR = range(3)
NAME = "diagnostic_msgs/msg/DiagnosticArray"
DEFINITION = ("\n" + "=" * 80 + "\n").join(
    (
        "std_msgs/Header header\ndiagnostic_msgs/DiagnosticStatus[] status",
        "MSG: std_msgs/Header\nbuiltin_interfaces/Time stamp\nstring frame_id",
        "MSG: builtin_interfaces/Time\nint32 sec\nuint32 nanosec",
        "MSG: diagnostic_msgs/DiagnosticStatus\nbyte OK=0\nbyte WARN=1\nbyte ERROR=2\n"
        "byte STALE=3\nbyte level\nstring name\nstring message\nstring hardware_id\n"
        "diagnostic_msgs/KeyValue[] values",
        "MSG: diagnostic_msgs/KeyValue\nstring key\nstring value",
    )
)
COUNTS = ("jobs", "late", "dropped", "skipped", "exceptions")


class _Cdr:
    """A message in the encoding of DDS, little-endian."""

    def __init__(self) -> None:
        self._data = bytearray()

    def number(self, form: str, value: int) -> None:
        self._data += bytes(-len(self._data) % struct.calcsize(form))
        self._data += struct.pack("<" + form, value)

    def text(self, text: str) -> None:
        data = text.encode("utf-8") + b"\0"
        self.number("I", len(data))
        self._data += data

    def message(self) -> bytes:
        return b"\0\1\0\0" + bytes(self._data)


class Diagnostics:
    """Counts what callbacks did in each second of CLOCK_REALTIME.

    Parameters
    ----------
    names
        Of the callbacks, by their number.
    clock
        CLOCK_REALTIME less the clock of the records, ns.
    """

    def __init__(self, names: Sequence[str], clock: int) -> None:
        self._names = names
        self._clock = clock
        self._seconds: dict[int, dict[int, list[int]]] = {}

    def add(self, records: Records, index: Ints) -> None:
        """Count these."""
        if not len(records):
            return
        outcome, due = records["outcome"], records["deadline_ns"]
        ran = outcome <= layout.EXCEPTION
        has_due = (due != NO_DEADLINE) & (np.abs(due // 2) < EARLIEST)
        columns = (
            ran,
            ran & has_due & (records["end_ns"] > np.where(has_due, due, 0)),
            np.where(outcome == layout.DROPPED, records["jobs"], 0),
            np.where(outcome == layout.SKIPPED, records["jobs"], 0),
            outcome == layout.EXCEPTION,
        )
        second = (records["end_ns"] + self._clock) // S
        # One second after the other, and in it one callback after the other.
        order = np.lexsort((index, second))
        changes = (np.diff(second[order]) != 0) | (np.diff(index[order]) != 0)
        first = np.append(0, np.flatnonzero(changes) + 1)
        sums = [np.add.reduceat(c[order].astype(np.int64), first).tolist() for c in columns]
        response = np.where(ran, records["end_ns"] - records["release_ns"], -1)[order]
        sums.append(np.maximum.reduceat(response, first).tolist())
        keys = zip(second[order][first].tolist(), index[order][first].tolist(), strict=True)
        for (at, number), *values in zip(keys, *sums, strict=True):
            mine = self._seconds.setdefault(at, {}).setdefault(number, [0] * 5 + [-1])
            mine[:5] = [old + new for old, new in zip(mine, values[:5], strict=False)]
            mine[5] = max(mine[5], values[5])

    def before(self, horizon: int) -> Iterator[tuple[int, bytes]]:
        """Yield time and message of each second that is over, in order."""
        over = [at for at in self._seconds if (at + 1) * S - self._clock <= horizon]
        for at in sorted(over):
            yield (at + 1) * S, self._message(at + 1, self._seconds.pop(at))

    def _message(self, time: int, callbacks: dict[int, list[int]]) -> bytes:
        cdr = _Cdr()
        cdr.number("i", max(-(2**31), min(2**31 - 1, time)))
        cdr.number("I", 0)
        cdr.text("")
        cdr.number("I", len(callbacks))
        for number, values in sorted(callbacks.items()):
            counts = dict(zip(COUNTS, values, strict=False))
            wrong = [f"{counts[name]} {name}" for name in COUNTS[1:] if counts[name]]
            level = ERROR if counts["exceptions"] else WARN if wrong else OK
            cdr.number("B", level)
            cdr.text(f"rclrt: {self._names[number]}")
            cdr.text(", ".join(wrong) or "OK")
            cdr.text("")
            pairs = {name: str(value) for name, value in counts.items()}
            if values[5] >= 0:
                pairs["longest response, ms"] = f"{values[5] / 1e6:.6f}"
            cdr.number("I", len(pairs))
            for key, value in pairs.items():
                cdr.text(key)
                cdr.text(value)
        return cdr.message()
