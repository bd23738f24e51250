# Copyright 2026 The rclrt Authors
# SPDX-License-Identifier: Apache-2.0
"""Reads a Perfetto file as the trace processor does, as far as ours need it, and refuses the rest.

The trace processor itself is a program that is not on PyPI: its package there is a client that
would download it. Where it is, it reads every file as well, and must show the same:
RCLRT_TRACE_PROCESSOR names it, or `trace_processor_shell` is on the PATH.
"""

from __future__ import annotations

import os
import shutil
from collections import Counter
from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

from perfetto.protos.perfetto.trace.perfetto_trace_pb2 import (
    BuiltinClock,
    Trace,
    TracePacket,
    TrackEvent,
)
from perfetto.trace_processor import TraceProcessor, TraceProcessorConfig


@dataclass
class Slice:
    track: int
    name: str
    category: str
    begin: int
    arguments: dict[str, Any]
    flows: list[int]
    end: int = -1
    depth: int = 0


@dataclass
class PerfettoFile:
    """What a file shows.

    Attributes
    ----------
    instants
        As slices without a length.
    counters
        By track: time and value.
    """

    tracks: dict[int, Any] = field(default_factory=dict)
    slices: list[Slice] = field(default_factory=list)
    instants: list[Slice] = field(default_factory=list)
    counters: dict[int, list[tuple[int, float]]] = field(default_factory=dict)

    def on(self, name: str) -> list[Slice]:
        """Return the slices of the tracks with a name."""
        tracks = {uuid for uuid, track in self.tracks.items() if track.name == name}
        return [one for one in self.slices if one.track in tracks]

    def threads(self) -> dict[int, list[Slice]]:
        """Return the slices by thread."""
        found: dict[int, list[Slice]] = {}
        for one in self.slices:
            if self.tracks[one.track].HasField("thread"):
                found.setdefault(self.tracks[one.track].thread.tid, []).append(one)
        return found

    def counter(self, name: str) -> list[tuple[int, float]]:
        """Return the one counter with a name."""
        (found,) = [self.counters.get(u, []) for u, t in self.tracks.items() if t.name == name]
        return found


def read_perfetto(path: Path, of_others: frozenset[int] = frozenset()) -> PerfettoFile:
    """Return what a file shows, without the packets of these sequences of others.

    Where there is Perfetto's trace processor, fail unless it shows the same.
    """
    found = _read(path, of_others)
    if program():
        check(path, found)
    return found


def _read(path: Path, of_others: frozenset[int]) -> PerfettoFile:
    trace = Trace()
    trace.ParseFromString(path.read_bytes())
    found = PerfettoFile()
    packets = [one for one in trace.packet if one.trusted_packet_sequence_id not in of_others]
    first = packets[0]
    assert first.sequence_flags == TracePacket.SEQ_INCREMENTAL_STATE_CLEARED
    clocks = {clock.clock_id for clock in first.clock_snapshot.clocks}
    assert first.trace_packet_defaults.timestamp_clock_id in clocks
    assert BuiltinClock.BUILTIN_CLOCK_REALTIME in clocks
    tables = {
        kind: {entry.iid: entry.name for entry in getattr(first.interned_data, kind)}
        for kind in ("event_names", "event_categories", "debug_annotation_names")
    }
    texts = {e.iid: e.str.decode() for e in first.interned_data.debug_annotation_string_values}
    events = []
    for packet in packets:
        assert packet.trusted_packet_sequence_id == first.trusted_packet_sequence_id
        if packet.HasField("track_descriptor"):
            descriptor = packet.track_descriptor
            assert descriptor.parent_uuid in (0, *found.tracks), "a parent comes first"
            assert descriptor.uuid not in found.tracks or descriptor.HasField("process")
            found.tracks[descriptor.uuid] = descriptor
        elif packet.HasField("track_event"):
            assert packet.track_event.track_uuid in found.tracks
            assert packet.sequence_flags == TracePacket.SEQ_NEEDS_INCREMENTAL_STATE
            events.append(packet)
    open_: dict[int, list[Slice]] = {}
    for packet in sorted(events, key=lambda packet: packet.timestamp):  # Stable, as is theirs.
        event, at = packet.track_event, packet.timestamp
        stack = open_.setdefault(event.track_uuid, [])
        if event.type == TrackEvent.TYPE_SLICE_END:
            assert stack, "an end without a begin"
            stack.pop().end = at
        elif event.type == TrackEvent.TYPE_COUNTER:
            values = found.counters.setdefault(event.track_uuid, [])
            values.append((at, event.double_counter_value))
        else:
            (category,) = [tables["event_categories"][i] for i in event.category_iids] or [""]
            arguments = _arguments(event, tables["debug_annotation_names"], texts)
            made = Slice(
                event.track_uuid, tables["event_names"][event.name_iid], category, at,
                dict(arguments), list(event.flow_ids), depth=len(stack),
            )  # fmt: skip
            if event.type == TrackEvent.TYPE_INSTANT:
                found.instants.append(made)
            else:
                found.slices.append(made)
                stack.append(made)
    assert not any(open_.values()), "a begin without an end"
    return found


def _arguments(
    event: Any, names: dict[int, str], texts: dict[int, str]
) -> Iterator[tuple[str, Any]]:
    for annotation in event.debug_annotations:
        kind = annotation.WhichOneof("value")
        value = getattr(annotation, kind)
        yield names[annotation.name_iid], texts[value] if kind == "string_value_iid" else value


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
