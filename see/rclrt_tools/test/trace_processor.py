# Copyright 2026 The rclrt Authors
# SPDX-License-Identifier: Apache-2.0
"""Perfetto's own trace processor, where there is one: what it says of a file.

Perfetto's package on PyPI is a client; the program it would download. So the program must be there:
RCLRT_TRACE_PROCESSOR names it, or `trace_processor_shell` is on the PATH.
"""

from __future__ import annotations

import os
import shutil
from collections import Counter
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import Any

from perfetto.trace_processor import TraceProcessor, TraceProcessorConfig
from perfetto_file import PerfettoFile, Slice

MISSING = (
    "there is no trace processor of Perfetto: say where its program is, "
    "RCLRT_TRACE_PROCESSOR=/path/to/trace_processor_shell, or put it on the PATH"
)


def program() -> str | None:
    """Return the path of the trace processor, if there is one."""
    named = os.environ.get("RCLRT_TRACE_PROCESSOR")
    return named or shutil.which("trace_processor_shell")


@contextmanager
def opened(path: Path) -> Iterator[TraceProcessor]:
    """Yield the trace processor with a file."""
    there = program()
    assert there is not None, "without a program the client downloads one"
    config = TraceProcessorConfig(bin_path=there, load_timeout=120)
    one = TraceProcessor(trace=str(path), config=config)
    try:
        yield one
    finally:
        one.close()


def rows(processor: TraceProcessor, query: str) -> list[dict[str, Any]]:
    """Return what a query finds."""
    return [dict(vars(row)) for row in processor.query(query)]


def complaints(processor: TraceProcessor) -> list[dict[str, Any]]:
    """Return what it found wrong or has lost."""
    return rows(
        processor,
        "select name, idx, severity, value from stats "
        "where severity in ('error', 'data_loss') and value != 0",
    )


Named = tuple[str, int, int]
"""Of a track: the name and 0, 0; of a thread: no name, process and thread."""

INSTANTS = ("releases", "dropped", "skipped")
"""Of them the trace processor puts one into another if both are at the same time."""

Shown = tuple[Named, str, str, int, int, int, frozenset[tuple[str, Any]]]
Arrow = tuple[Named, str, int, Named, str, int]


class Seen:
    """What the trace processor shows of our tracks."""

    def __init__(self, processor: TraceProcessor) -> None:
        arguments: dict[int, dict[str, Any]] = {}
        for row in rows(processor, "select * from args where key glob 'debug.*'"):
            values = (row["int_value"], row["real_value"], row["string_value"])
            (value,) = [value for value in values if value is not None]
            arguments.setdefault(row["arg_set_id"], {})[row["key"][len("debug.") :]] = value
        found = rows(
            processor,
            "select s.id, s.ts, s.dur, s.name, s.category, s.depth, s.arg_set_id, "
            "t.name as track, th.tid, p.pid from slice s join track t on s.track_id = t.id "
            "left join thread_track tt on s.track_id = tt.id "
            "left join thread th using (utid) left join process p using (upid)",
        )
        self._by_id: dict[int, Shown] = {}
        for row in found:
            is_thread = row["tid"] is not None
            named = ("", row["pid"], row["tid"]) if is_thread else (row["track"], 0, 0)
            self._by_id[row["id"]] = (
                named, row["name"], row["category"] or "", row["ts"], row["dur"],
                0 if row["name"] in INSTANTS else row["depth"],
                frozenset(arguments.get(row["arg_set_id"], {}).items()),
            )  # fmt: skip
        self.slices = Counter(self._by_id.values())
        self.arrows: Counter[Arrow] = Counter()
        for row in rows(processor, "select slice_out, slice_in from flow"):
            first, second = self._by_id[row["slice_out"]], self._by_id[row["slice_in"]]
            self.arrows[first[0], first[1], first[3], second[0], second[1], second[3]] += 1
        self.counters = Counter(
            (row["name"], row["ts"], row["value"])
            for row in rows(
                processor,
                "select t.name, c.ts, c.value from counter c join counter_track t "
                "on c.track_id = t.id where t.name in ('backlog', 'dropped', 'skipped')",
            )
        )


def _named(read: PerfettoFile, one: Slice) -> Named:
    track = read.tracks[one.track]
    if track.HasField("thread"):
        return "", track.thread.pid, track.thread.tid
    return track.name, 0, 0


def expected_of(read: PerfettoFile) -> tuple[Counter[Shown], Counter[Arrow], Counter[Any]]:
    """Return what the trace processor must show of what our reader has read."""
    shown = {
        id(one): (
            _named(read, one), one.name, one.category, one.begin, max(one.end - one.begin, 0),
            0 if one.name in INSTANTS else one.depth, frozenset(one.arguments.items()),
        )
        for one in (*read.slices, *read.instants)
    }  # fmt: skip
    begins = {
        flow: (_named(read, one), one.name, one.begin)
        for one in read.instants
        for flow in one.flows
    }
    arrows: Counter[Any] = Counter()
    for one in read.slices:
        for flow in one.flows:
            arrows[(*begins[flow], _named(read, one), one.name, one.begin)] += 1
    counters = Counter(
        (read.tracks[track].name, at, value)
        for track, values in read.counters.items()
        for at, value in values
    )
    return Counter(shown.values()), arrows, counters


def check(path: Path, read: PerfettoFile) -> None:
    """Fail unless the trace processor finds nothing wrong, and shows what our reader has read."""
    with opened(path) as processor:
        assert complaints(processor) == []
        seen = Seen(processor)
    slices, arrows, counters = expected_of(read)
    assert seen.slices == slices
    assert seen.arrows == arrows
    assert seen.counters == counters
