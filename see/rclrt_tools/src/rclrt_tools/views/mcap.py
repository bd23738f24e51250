# Copyright 2026 The rclrt Authors
# SPDX-License-Identifier: Apache-2.0
"""Traces as MCAP files with the profile `ros2`, for PlotJuggler, Foxglove and Lichtblick.

A topic for each callback; a message for each job that ran or was given up, with scalars in ms. Its
definition is in the file. Whole chunks of messages are made at once; all around them is written by
the library.
"""

import struct
import tempfile
import zlib
from collections import Counter
from collections.abc import Iterator, Sequence
from pathlib import Path
from typing import Any, BinaryIO

import numpy as np
import zstandard
from mcap import records as mcap
from mcap.data_stream import RecordBuilder
from mcap.opcode import Opcode
from rclrt_tools.trace import NO_DEADLINE, Records, layout
from rclrt_tools.trace.layout import EARLIEST
from rclrt_tools.views.timeline import Numbers, Source, Timeline

MAGIC = b"\x89MCAP0\r\n"
SCHEMA = "rclrt_trace/msg/Job"
PER_CHUNK = 1 << 15
MOST_CHANNELS = 65_000
IN_MEMORY = 1 << 25
"""Bytes of the index of chunks that are kept in memory; a longer one waits in a file."""

PIECE = 1 << 20
NS_PER_MS = 1e6

FIELDS = (
    ("response_ms", "float64", "from the release to the end"),
    ("release_delay_ms", "float64", "from the release until the engine knew"),
    ("waiting_ms", "float64", "from then to the start"),
    ("execution_ms", "float64", "CPU time"),
    ("duration_ms", "float64", "from the start to the end"),
    ("deadline_ms", "float64", "after the release"),
    ("lateness_ms", "float64", "of the end, after the deadline"),
    ("chain_ms", "float64", "from the release of the first job of the chain to the end"),
    ("sequence", "uint64", "of the job, within its executor"),
    ("thread", "uint32", ""),
    ("jobs", "uint32", "how many were given up"),
    ("priority", "int16", "of fifo and rr, or the nice value"),
    ("cpu", "uint16", "on which it started"),
    ("outcome", "uint8", "0 done, 1 empty, 2 exception, 3 dropped, 4 skipped"),
    ("cause", "uint8", "0 unknown, 1 timer, 2 message, 3 job"),
    ("waited_for", "uint8", "0 nothing, 1 its group, 2 a thread"),
    ("policy", "uint8", ", ".join(f"{i} {name}" for i, name in enumerate(layout.POLICIES))),
)
DEFINITION = "# A job of a callback. What is not known is NaN.\n" + "".join(
    f"{kind} {name}" + (f"  # {text}" if text else "") + "\n" for name, kind, text in FIELDS
)
# Large fields first: so none needs padding in CDR.
BODY = [(name, np.dtype(kind).newbyteorder("<")) for name, kind, _ in FIELDS]
MESSAGE = np.dtype(
    [
        ("opcode", "u1"),
        ("length", "<u8"),
        ("channel", "<u2"),
        ("number", "<u4"),
        ("log_time", "<u8"),
        ("publish_time", "<u8"),
        ("cdr", "<u4"),
        *BODY,
    ]
)
CDR_LITTLE_ENDIAN = 0x0100
INDEX = np.dtype([("time", "<u8"), ("offset", "<u8")])


def messages(records: Records, channel: Any, clock_offset: int) -> Any:
    """Return the messages of some records, as they stand in a chunk."""
    made = np.zeros(len(records), MESSAGE)
    made["opcode"] = Opcode.MESSAGE
    made["length"] = MESSAGE.itemsize - 9
    made["channel"] = channel
    made["cdr"] = CDR_LITTLE_ENDIAN
    made["number"] = records["sequence"] & np.uint64(2**32 - 1)
    made["log_time"] = records["end_ns"] + clock_offset
    made["publish_time"] = np.maximum(records["release_ns"] + clock_offset, 0)
    for name in ("sequence", "thread", "jobs", "priority", "cpu", "outcome", "cause"):
        made[name] = records[name]
    made["waited_for"], made["policy"] = records["waited_for"], records["policy"]
    release, end, due = records["release_ns"], records["end_ns"], records["deadline_ns"]
    ran = records["outcome"] <= layout.EXCEPTION
    has_due = (due != NO_DEADLINE) & (np.abs(due // 2) < EARLIEST)
    known_due = np.where(has_due, due, 0)
    for name, known, value in (
        ("response_ms", ran, end - release),
        ("release_delay_ms", ran, records["ready_ns"] - release),
        ("waiting_ms", ran, records["start_ns"] - records["ready_ns"]),
        ("execution_ms", ran & (records["cpu_ns"] >= 0), records["cpu_ns"]),
        ("duration_ms", ran, end - records["start_ns"]),
        ("deadline_ms", has_due, known_due - release),
        ("lateness_ms", ran & has_due, end - known_due),
        ("chain_ms", ran & (records["root_ns"] != layout.UNKNOWN), end - records["root_ns"]),
    ):
        made[name] = np.where(known, value / NS_PER_MS, np.nan)
    return made


class _Writer:
    """The frame of a file: what is not messages."""

    def __init__(self, sources: Sequence[Source], stream: BinaryIO) -> None:
        self._stream = stream
        self._chunks = 0
        self._index = tempfile.SpooledTemporaryFile(IN_MEMORY)  # noqa: SIM115 - closed by finish()
        self._counts: Counter[int] = Counter()
        self._first, self._last = 2**64 - 1, 0
        self._schema = mcap.Schema(id=1, name=SCHEMA, encoding="ros2msg", data=DEFINITION.encode())
        self._channels = _channels(sources)
        self._stream.write(MAGIC)
        self._write(mcap.Header(profile="ros2", library="rclrt"), self._schema, *self._channels)

    def _write(self, *records: Any) -> bytes:
        data = _made(*records)
        self._stream.write(data)
        return data

    def jobs(self, made: Any) -> None:
        """Write messages of jobs."""
        made = made[np.argsort(made["log_time"], kind="stable")]
        places = np.arange(len(made)) * MESSAGE.itemsize
        self._chunk(made.tobytes(), made["log_time"], made["channel"], places)

    def _chunk(self, data: bytes, times: Any, channels: Any, places: Any) -> None:
        """Write messages in the order of time, and where they are."""
        packed = zstandard.ZstdCompressor(level=1).compress(data)
        first, last = int(times[0]), int(times[-1])
        at = self._stream.tell()
        length = len(
            self._write(
                mcap.Chunk(
                    compression="zstd",
                    data=packed,
                    message_start_time=first,
                    message_end_time=last,
                    uncompressed_crc=zlib.crc32(data),
                    uncompressed_size=len(data),
                )
            )
        )
        index_at = self._stream.tell()
        offsets = self._indices(times, channels, places, index_at)
        index = mcap.ChunkIndex(
            message_start_time=first,
            message_end_time=last,
            chunk_start_offset=at,
            chunk_length=length,
            message_index_offsets=offsets,
            message_index_length=self._stream.tell() - index_at,
            compression="zstd",
            compressed_size=len(packed),
            uncompressed_size=len(data),
        )
        self._index.write(_made(index))
        self._chunks += 1
        self._first, self._last = min(self._first, first), max(self._last, last)

    def _indices(self, times: Any, channels: Any, places: Any, at: int) -> dict[int, int]:
        order = np.argsort(channels, kind="stable")
        entries = np.zeros(len(times), INDEX)
        entries["time"], entries["offset"] = times[order], places[order]
        numbers, begins = np.unique(channels[order], return_index=True)
        offsets = {}
        for channel, mine in zip(numbers.tolist(), np.split(entries, begins[1:]), strict=True):
            data = mine.tobytes()
            head = struct.pack("<BQHI", Opcode.MESSAGE_INDEX, 6 + len(data), channel, len(data))
            self._stream.write(head + data)
            offsets[channel] = at
            at += len(head) + len(data)
            self._counts[channel] += len(mine)
        return offsets

    def finish(self) -> None:
        """Write the summary."""
        self._write(mcap.DataEnd(data_section_crc=0))
        start = self._stream.tell()
        messages = sum(self._counts.values())
        statistics = mcap.Statistics(
            attachment_count=0,
            channel_count=len(self._channels),
            channel_message_counts=dict(self._counts),
            chunk_count=self._chunks,
            message_count=messages,
            message_end_time=self._last,
            message_start_time=self._first if messages else 0,
            metadata_count=0,
            schema_count=1,
        )
        groups: tuple[tuple[Opcode, Iterator[bytes]], ...] = (
            (Opcode.SCHEMA, iter([_made(self._schema)])),
            (Opcode.CHANNEL, iter([_made(*self._channels)])),
            (Opcode.STATISTICS, iter([_made(statistics)])),
            (Opcode.CHUNK_INDEX, self._kept()),
        )
        offsets = []
        checksum, place = 0, start
        for opcode, pieces in groups:
            first = place
            for piece in pieces:
                self._stream.write(piece)
                checksum = zlib.crc32(piece, checksum)
                place += len(piece)
            if place > first:
                offsets.append(mcap.SummaryOffset(opcode, first, place - first))
        checksum = zlib.crc32(self._write(*offsets), checksum)
        head = struct.pack("<BQQQ", Opcode.FOOTER, 20, start, place)
        self._write(
            mcap.Footer(
                summary_start=start,
                summary_offset_start=place,
                summary_crc=zlib.crc32(head, checksum),
            )
        )
        self._stream.write(MAGIC)

    def _kept(self) -> Iterator[bytes]:
        """Yield the index of chunks, and give it up."""
        with self._index as index:
            index.seek(0)
            while piece := index.read(PIECE):
                yield piece


def _made(*records: Any) -> bytes:
    builder = RecordBuilder()
    for record in records:
        record.write(builder)
    data: bytes = builder.end()
    return data


def _channels(sources: Sequence[Source]) -> list[mcap.Channel]:
    names = [
        (source.label, f"/{entry.name.lstrip('/')}", str(id_))
        for source in sources
        for id_, entry in sorted(source.callbacks.items())
    ]
    if len(names) > MOST_CHANNELS:
        raise ValueError(f"{len(names)} callbacks are more than an MCAP file can hold")
    times = Counter(name for _, name, _ in names)
    used: set[str] = set()
    channels = []
    for number, (label, name, id_) in enumerate(names, 1):
        topic = name if times[name] == 1 else f"/{label}{name}"
        topic = topic if topic not in used else f"{topic}_{id_}_{number}"
        used.add(topic)
        channels.append(
            mcap.Channel(id=number, topic=topic, message_encoding="cdr", schema_id=1, metadata={})
        )
    return channels


def write_mcap(timeline: Timeline, path: Path) -> int:
    """Write an MCAP file; return how many messages of jobs are in it.

    Times are those of CLOCK_REALTIME, as it was when the first trace was made. What would be before
    1970, which only an offset makes, is left out.

    Raises ValueError: There are more callbacks than a file can hold.
    """
    count = 0
    clock = timeline.sources[0].header.clock_offset_ns if timeline.sources else 0
    clock = max(-EARLIEST, min(EARLIEST, clock))
    with path.open("wb") as stream:
        writer: _Writer | None = None
        for batch in timeline.batches():
            if writer is None:
                writer, numbers = _Writer(timeline.sources, stream), Numbers(timeline.sources)
            fine = (batch.records["end_ns"] >= -clock) & (
                batch.records["outcome"] <= layout.SKIPPED
            )
            records, source = batch.records[fine], batch.source[fine]
            channel = numbers.index(source, records["callback"]) + 1
            for first in range(0, len(records), PER_CHUNK):
                part = slice(first, first + PER_CHUNK)
                writer.jobs(messages(records[part], channel[part], clock))
            count += len(records)
        writer = writer or _Writer(timeline.sources, stream)
        writer.finish()
    return count
