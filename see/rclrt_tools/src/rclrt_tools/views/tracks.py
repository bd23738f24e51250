# Copyright 2026 The rclrt Authors
# SPDX-License-Identifier: Apache-2.0
"""The tracks of a Perfetto trace: processes, executors, callbacks, threads, counters.

Of many packets of one form the library makes one, and numbers are filled in. Numbers of variable
length get as many bytes as the largest: a varint may have zeros at its end.
"""

import hashlib
import struct
from collections.abc import Callable, Iterator, Sequence

import numpy as np
import numpy.typing as npt
from perfetto.protos.perfetto.trace.perfetto_trace_pb2 import (
    BuiltinClock,
    CounterDescriptor,
    TracePacket,
    TrackDescriptor,
)
from rclrt_tools.trace import Records, layout
from rclrt_tools.views.timeline import Ints, Numbers, Source

Bytes = npt.NDArray[np.uint8]
Whole = npt.NDArray[np.int64] | npt.NDArray[np.uint64]

LARGE = 1 << 62
"""Numbers from here to twice as much are varints of 9 bytes."""

MIDDLE = 1 << 21
"""Numbers from here to 128 times as much are varints of 4 bytes."""

DOUBLE = 1.2345e250
SHIFTS = np.arange(0, 63, 7, dtype=np.uint64)


def varints(numbers: Whole) -> Bytes:
    """Return numbers from 0 to 2^63 - 1 as varints of 9 bytes, shape (n, 9)."""
    wide = numbers.astype(np.uint64)[:, None] >> SHIFTS
    found: Bytes = (wide & np.uint64(0x7F)).astype(np.uint8)
    found[:, :-1] |= 0x80
    return found


def short_varints(numbers: Whole) -> Bytes:
    """Return numbers below 2^28 as varints of 4 bytes, shape (n, 4)."""
    found = varints(numbers)[:, :4]
    found[:, 3] &= 0x7F
    return found


def fixed(values: npt.NDArray[np.float64] | Whole) -> Bytes:
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

    def large(self, name: str, least: int = LARGE) -> int:
        """Return a number for a varint of 9 bytes."""
        number = least + len(self._marks) + 1
        self._marks[name] = _varint(number)
        return number

    def middle(self, name: str) -> int:
        """Return a number for a varint of 4 bytes."""
        return self.large(name, MIDDLE)

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

    fill: Sets the fields of a packet; what differs it takes from the marks.
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


SEQUENCE = 101
"""The sequence of our packets; recordings with which a file may be joined have others."""
SIMULATED = 2_000_000
"""Process ids of simulated runs begin here: 0 is the idle process."""

LARGEST_ID = 2**31 - 1

COUNTERS = ("backlog", "dropped", "skipped")
ARGUMENTS = (
    "response_ms", "waiting_ms", "execution_ms", "deadline_ms", "lateness_ms", "sequence",
    "blocked_by", "blocked_by_callback", "blocked_by_sequence", "priority", "jobs",
)  # fmt: skip
CATEGORIES = ("done", "empty", "exception", "dropped", "skipped", "publication")
WORDS = ("", "group", "thread")
NAMES = ("dropped", "skipped", "releases")


def uuid(*parts: object) -> int:
    """Return the number of a track, the same wherever the same track is meant."""
    digest = hashlib.blake2b(repr(parts).encode(), digest_size=8).digest()
    return int.from_bytes(digest, "little") % LARGE + LARGE


class Tracks:
    """Numbers of tracks and names by source and callback."""

    def __init__(self, sources: Sequence[Source]) -> None:
        self.sources = sources
        self._process: list[tuple[bytes, int]] = []
        self._pids: list[int] = []
        for number, source in enumerate(sources):
            header = source.header
            simulated = not header.process
            self._process.append((header.boot_id, header.process))
            self._pids.append(SIMULATED if simulated else header.process & LARGEST_ID)
            if not header.executor:  # Nobody knows whose it is.
                self._process[-1] = (header.boot_id + bytes([number % 256]), header.process)
        numbers = Numbers(sources)
        self.callbacks, self.index = numbers.callbacks, numbers.index
        self.base = np.array(
            [uuid("callback", *self._key(number), id_) for number, id_ in self.callbacks],
            dtype=np.uint64,
        )
        self.alone = np.array(
            [sources[number].callbacks[id_].parallelism == 1 for number, id_ in self.callbacks],
            dtype=np.bool_,
        )
        """Whether the jobs of a callback never run at the same time: then they have one track."""
        self._lanes: dict[tuple[int, int], int] = {}
        self._threads: dict[tuple[int, int], int] = {}
        self.by_executor = {
            (self._process[i], source.header.executor): i
            for i, source in enumerate(sources)
            if source.header.model != layout.MODEL_UNKNOWN  # The probe numbers them in its own way.
        }

    def _key(self, number: int) -> tuple[object, ...]:
        source = self.sources[number]
        header = source.header
        return (*self._process[number], header.executor or source.label, header.model)

    def process(self, number: int) -> tuple[bytes, int]:
        """Return what tells the process of a source from others."""
        return self._process[number]

    def name_iids(self, index: Ints) -> Ints:
        """Return the interned names of callbacks."""
        return index + MIDDLE + len(NAMES)

    def counter(self, number: int, name: str) -> int:
        """Return a counter of a source."""
        return uuid("counter", name, *self._key(number))

    def lanes(self, index: Ints, records: Records) -> npt.NDArray[np.uint64]:
        """Return the track of each job among those of its callback.

        Jobs of one callback that may run at the same time have one for each thread.
        """
        found = self.base[index]
        for one in np.unique(index).tolist():
            if self.alone[one]:
                continue
            mine = np.flatnonzero(index == one)
            threads, inverse = np.unique(records["thread"][mine], return_inverse=True)
            made = [self._lane(one, int(thread)) for thread in threads]
            found[mine] = np.array(made, dtype=np.uint64)[inverse]
        return found

    def _lane(self, index: int, thread: int) -> int:
        key = (index, thread)
        if key not in self._lanes:
            self._lanes[key] = uuid("lane", int(self.base[index]), thread)
            self._new.append(self._lane_packet(index, self._lanes[key]))
        return self._lanes[key]

    def threads(self, source: Ints, records: Records) -> npt.NDArray[np.uint64]:
        """Return the track of each job among those of its thread."""
        found = np.zeros(len(records), dtype=np.uint64)
        for number in np.unique(source).tolist():
            mine = np.flatnonzero(source == number)
            threads, inverse = np.unique(records["thread"][mine], return_inverse=True)
            made = [self._thread(number, int(thread)) for thread in threads]
            found[mine] = np.array(made, dtype=np.uint64)[inverse]
        return found

    def _thread(self, number: int, thread: int) -> int:
        key = (number, thread)
        if key not in self._threads:
            self._threads[key] = uuid("thread", *self._process[number], thread)
            packet, descriptor = _descriptor(self._threads[key])
            descriptor.thread.pid = self._pids[number]
            descriptor.thread.tid = thread & LARGEST_ID
            descriptor.thread.thread_name = self.sources[number].label
            self._new.append(packet)
        return self._threads[key]

    _new: list[TracePacket]

    def new(self) -> list[TracePacket]:
        """Return what describes tracks that were not there before."""
        found, self._new = self._new, []
        return found

    def _lane_packet(self, index: int, track: int) -> TracePacket:
        number, id_ = self.callbacks[index]
        packet, descriptor = _descriptor(track)
        descriptor.parent_uuid = uuid("executor", *self._key(number))
        descriptor.name = self.sources[number].callbacks[id_].name
        return packet

    def describe(self) -> Iterator[TracePacket]:
        """Yield what comes first in the file: clocks, names, and all tracks that are known."""
        self._new = []
        yield self._begin()
        for number, source in enumerate(self.sources):
            header = source.header
            packet, descriptor = _descriptor(uuid("process", *self._process[number]))
            descriptor.process.pid = self._pids[number]
            simulated = "" if header.process else " (simulated)"
            descriptor.process.process_name = f"process {self._pids[number]}{simulated}"
            yield packet
            packet, descriptor = _descriptor(uuid("executor", *self._key(number)))
            descriptor.parent_uuid = uuid("process", *self._process[number])
            model = layout.word(layout.MODELS, header.model)
            descriptor.name = f"{source.label} ({model})"
            yield packet
            for name in COUNTERS:
                packet, descriptor = _descriptor(self.counter(number, name))
                descriptor.parent_uuid = uuid("executor", *self._key(number))
                descriptor.name = name
                descriptor.counter.unit = CounterDescriptor.UNIT_COUNT
                yield packet
        for index in range(len(self.callbacks)):
            yield self._lane_packet(index, int(self.base[index]))

    def _begin(self) -> TracePacket:
        packet = TracePacket()
        packet.trusted_packet_sequence_id = SEQUENCE
        packet.sequence_flags = TracePacket.SEQ_INCREMENTAL_STATE_CLEARED
        packet.first_packet_on_sequence = True
        packet.trace_packet_defaults.timestamp_clock_id = BuiltinClock.BUILTIN_CLOCK_MONOTONIC
        offset = self.sources[0].header.clock_offset_ns if self.sources else 0
        at = max(0, -offset)  # Any instant: what matters is how clocks differ.
        for clock, time in (
            (BuiltinClock.BUILTIN_CLOCK_MONOTONIC, at),
            (BuiltinClock.BUILTIN_CLOCK_BOOTTIME, at),
            (BuiltinClock.BUILTIN_CLOCK_REALTIME, min(at + offset, LARGE)),
        ):
            one = packet.clock_snapshot.clocks.add()
            one.clock_id, one.timestamp = clock, time
        data = packet.interned_data
        callbacks = [self.sources[i].callbacks[id_].name for i, id_ in self.callbacks]
        for iid, name in enumerate((*NAMES, *callbacks), MIDDLE):
            data.event_names.add(iid=iid, name=name)
            data.debug_annotation_string_values.add(iid=iid, str=name.encode())
        for iid, name in enumerate(ARGUMENTS, 1):
            data.debug_annotation_names.add(iid=iid, name=name)
        for iid, name in enumerate(CATEGORIES, 1):
            data.event_categories.add(iid=iid, name=name)
        return packet


def _descriptor(track: int) -> tuple[TracePacket, TrackDescriptor]:
    packet = TracePacket()
    packet.trusted_packet_sequence_id = SEQUENCE
    packet.track_descriptor.uuid = track
    return packet, packet.track_descriptor
