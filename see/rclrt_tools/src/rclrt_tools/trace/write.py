# Copyright 2026 The rclrt Authors
# SPDX-License-Identifier: Apache-2.0
"""Writes trace files."""

from __future__ import annotations

from pathlib import Path
from typing import BinaryIO

from rclrt_tools.trace import layout
from rclrt_tools.trace.layout import RECORD, Trace

RECORDS_PER_CHUNK = 1 << 20


def write_trace(trace: Trace, path: Path) -> None:
    """Write a trace file."""
    header = trace.header
    with path.open("wb") as stream:
        head = layout.HEADER.pack(
            layout.MAGIC, 2, RECORD.itemsize, header.boot_id, header.clock_offset_ns,
            header.process, header.executor, header.model, header.ordering, header.timers_preempt,
        )  # fmt: skip
        stream.write(head)
        for key, entry in trace.callbacks.items():
            name, group = entry.name.encode("utf-8"), entry.group_name.encode("utf-8")
            packed = layout.ENTRY.pack(
                key, entry.group, entry.parallelism, entry.kind, entry.period_ns,
                len(name), len(group),
            )  # fmt: skip
            _chunk(stream, layout.CHUNK_CALLBACK, packed + name + group)
        for first in range(0, len(trace.records), RECORDS_PER_CHUNK):
            part = trace.records[first : first + RECORDS_PER_CHUNK]
            _chunk(stream, layout.CHUNK_RECORDS, part.astype(RECORD, copy=False).tobytes())
        if trace.dropped:
            _chunk(stream, layout.CHUNK_LOST, layout.LOST.pack(trace.dropped))


def _chunk(stream: BinaryIO, kind: int, content: bytes) -> None:
    stream.write(layout.CHUNK.pack(kind, len(content)) + content + bytes(-len(content) % 8))
