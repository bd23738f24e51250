# Copyright 2026 The rclrt Authors
# SPDX-License-Identifier: Apache-2.0
"""Reads a Perfetto file as the trace processor does, as far as ours need it, and refuses the rest.

The trace processor itself is a program that is not on PyPI: its package there is a client that
would download it.
"""

from collections.abc import Iterator
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

from perfetto.protos.perfetto.trace.perfetto_trace_pb2 import (
    BuiltinClock,
    Trace,
    TracePacket,
    TrackEvent,
)


@dataclass
class Slice:
    track: int
    name: str
    category: str
    begin: int
    arguments: dict[str, Any]
    flows: list[int]
    end: int = -1


@dataclass
class PerfettoFile:
    """What a file shows.

    instants: As slices without a length.
    counters: By track: time and value.
    """

    tracks: dict[int, Any] = field(default_factory=dict)
    slices: list[Slice] = field(default_factory=list)
    instants: list[Slice] = field(default_factory=list)
    counters: dict[int, list[tuple[int, float]]] = field(default_factory=dict)

    def on(self, name: str) -> list[Slice]:
        tracks = {uuid for uuid, track in self.tracks.items() if track.name == name}
        return [one for one in self.slices if one.track in tracks]

    def threads(self) -> dict[int, list[Slice]]:
        found: dict[int, list[Slice]] = {}
        for one in self.slices:
            if self.tracks[one.track].HasField("thread"):
                found.setdefault(self.tracks[one.track].thread.tid, []).append(one)
        return found

    def counter(self, name: str) -> list[tuple[int, float]]:
        (found,) = [self.counters.get(u, []) for u, t in self.tracks.items() if t.name == name]
        return found


def read_perfetto(path: Path, of_others: frozenset[int] = frozenset()) -> PerfettoFile:
    """Return what a file shows, without the packets of these sequences of others."""
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
                dict(arguments), list(event.flow_ids),
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
