# Copyright 2026 The rclrt Authors
# SPDX-License-Identifier: Apache-2.0
"""Trace files made byte by byte, by the specification; and damaged ones by the million.

By hand: python trace_bytes.py SEED COUNT.
"""

import os
import random
import re
import struct
import sys
from collections import Counter
from collections.abc import Callable, Iterator
from pathlib import Path

from models import ROOT
from rclrt_tools.trace import Trace, TraceError, read_trace

S = 1_000_000_000


def example() -> bytes:
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


SEEDS = (
    example(),
    HEADER + callback(5) + callback(6, "/ü") + ring(9, 4) + records(5, 6, 7)
    + chunk(77, b"z") + chunk(4, struct.pack("<Q", 3)) + ring(2, 8, thread=3) + records(8),
    HEADER + ring(2**40, 2) + ring(3, 1) + chunk(0, b""),
)  # fmt: skip
NUMBERS = [0, 1, 2, 3, 4, 7, 8, 55, 56, 63, 64, 127, 128, 129, 2**15, 2**16, 2**31 - 1, 2**31]
NUMBERS += [2**32 - 128, 2**32 - 8, 2**32 - 1, 2**63 - 1, 2**63, 2**64 - 1]


def damaged(dice: random.Random) -> bytes:
    """Return a file with a few bytes or numbers changed, cut, doubled or moved."""
    data = bytearray(dice.choice(SEEDS))
    for _ in range(dice.choice((1, 1, 1, 2, 3, 8))):
        at = dice.randrange(len(data)) if data else 0
        how = dice.randrange(8)
        if how == 0 and data:
            data[at] ^= 1 << dice.randrange(8)
        elif how == 1 and data:
            data[at] = dice.randrange(256)
        elif how in (2, 3, 4):  # A number, mostly where one is.
            number = dice.choice(NUMBERS) if dice.random() < 0.8 else dice.randrange(2**64)
            size = dice.choice((4, 4, 8))
            at = at // 4 * 4
            data[at : at + size] = (number % 2 ** (8 * size)).to_bytes(size, "little")
        elif how == 5:
            del data[at:]
        elif how == 6:
            length = dice.choice((1, 4, 8, 64, 128))
            del data[at : at + length]
        else:
            other = dice.choice(SEEDS)
            begin = dice.randrange(len(other))
            data[at:at] = other[begin : begin + dice.choice((8, 64, 128, 200))]
    return bytes(data)


def damaged_traces(seed: int, count: int) -> Iterator[Trace | TraceError]:
    """Yield what the reader makes of damaged files: anything else than these two is a mistake."""
    dice = random.Random(seed)
    descriptor = os.memfd_create("trace")
    path = Path(f"/proc/self/fd/{descriptor}")
    try:
        for _ in range(count):
            data = damaged(dice)
            os.ftruncate(descriptor, len(data))
            os.pwrite(descriptor, data, 0)
            try:
                trace = read_trace(path)
                assert len(trace.records) * 64 <= len(data)
                yield trace
            except TraceError as error:
                yield error
    finally:
        os.close(descriptor)


def kinds(seed: int, count: int, look: Callable[[Trace], None] | None = None) -> Counter[str]:
    found: Counter[str] = Counter()
    for answer in damaged_traces(seed, count):
        if isinstance(answer, Trace):
            found["read"] += 1
            if look:
                look(answer)
        else:
            found[re.sub(r"[0-9]+", "N", str(answer).partition(": ")[2])[:30]] += 1
    return found


if __name__ == "__main__":
    print(kinds(int(sys.argv[1]), int(sys.argv[2])))
