# Copyright 2026 The rclrt Authors
# SPDX-License-Identifier: Apache-2.0
"""Damaged trace files by the million. By hand: python trace_fuzz.py SEED COUNT."""

from __future__ import annotations

import os
import random
import re
import struct
import sys
from collections import Counter
from collections.abc import Callable, Iterator
from pathlib import Path

from rclrt_tools.trace import Trace, TraceError, read_trace
from trace_bytes import HEADER, callback, chunk, example, records, ring

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
    """Return how often which kind of answer came."""
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
