# Copyright 2026 The rclrt Authors
# SPDX-License-Identifier: Apache-2.0
"""Trace files made byte by byte, by the specification and not by the code that is tested."""

from __future__ import annotations

import struct

from models import ROOT

S = 1_000_000_000


def example() -> bytes:
    """Return the example file of the specification."""
    return (ROOT / "engine/rclrt_trace/example.trace").read_bytes()


HEADER = example()[:64]


def chunk(kind: int, content: bytes) -> bytes:
    return struct.pack("<II", kind, len(content)) + content + bytes(-len(content) % 8)


def callback(key: int, name: str = "/n", group: str = "/g") -> bytes:
    texts = (name.encode(), group.encode())
    head = struct.pack("<IIIIqII", key, 1, 1, 2, -1, len(texts[0]), len(texts[1]))
    return chunk(1, head + texts[0] + texts[1])


def record(sequence: int, callback: int = 5, thread: int = 9) -> bytes:
    """Return a record that ends `sequence` ns after 1 s."""
    times = (S, S, S, S + sequence, 2**63 - 1)
    one = struct.pack("<qqqqqQIIiHBB", *times, sequence, callback, thread, -1, 0, 0, 0)
    one += struct.pack("<qqQQQIHBB", -1, -1, 0, 2**64 - 1, 0, 2**32 - 1, 0, 0, 0)
    return one + struct.pack("<QhHI", 0, 0, 0, 1)


def records(*sequences: int, thread: int = 9) -> bytes:
    return chunk(2, b"".join(record(i, thread=thread) for i in sequences))


def ring(head: int, capacity: int, thread: int = 9) -> bytes:
    """Return a ring after `head` records, numbered from 0."""
    slots = [bytes(128)] * capacity
    for i in range(max(0, head - capacity), head):
        slots[i % capacity] = record(i, thread=thread)
    return chunk(3, struct.pack("<QI44x", head, capacity) + b"".join(slots))
