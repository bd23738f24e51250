# Copyright 2026 The rclrt Authors
# SPDX-License-Identifier: Apache-2.0
"""A trace of any length: 20 callbacks on four threads, half released by the other half."""

from __future__ import annotations

from pathlib import Path

import numpy as np
from rclrt_tools.trace import Entry, Header, Trace, blank, layout, write_trace

CALLBACKS = 20
BLOCK = 1_000_000


def make_trace(path: Path, count: int) -> None:
    """Write a trace of so many jobs, 10 us apart."""
    header = Header(bytes(range(16)), 10**18, 4200, 1, layout.MODEL_POOL, layout.ORDER_FIRST_COME)
    kinds = (layout.KIND_TIMER, layout.KIND_SUBSCRIPTION)
    entries = {i: Entry(f"/node{i}", i, f"/g{i}", 1, kinds[i % 2]) for i in range(CALLBACKS)}
    write_trace(Trace(entries, blank(0), 0, header), path)
    dice = np.random.default_rng(1)
    with path.open("ab") as stream:
        for first in range(0, count, BLOCK):
            number = np.arange(first, min(count, first + BLOCK))
            records = blank(len(number))
            release = number * 10_000 + dice.integers(0, 5_000, len(number))
            records["release_ns"] = records["root_ns"] = release
            records["ready_ns"] = release + 500
            records["start_ns"] = release + 2_000 + dice.integers(0, 3_000, len(number))
            records["cpu_ns"] = dice.integers(5_000, 9_000, len(number))
            records["end_ns"] = records["start_ns"] + records["cpu_ns"]
            records["deadline_ns"] = release + 1_000_000
            records["sequence"], records["callback"] = number, number % CALLBACKS
            records["thread"], records["cause"] = 100 + number % 4, layout.CAUSE_TIMER
            records["waited_for"][number % 4 == 0] = layout.WAITED_FOR_THREAD
            caused = np.flatnonzero(number % 2)
            records["cause"][caused] = layout.CAUSE_JOB
            records["by_sequence"][caused] = number[caused] - 1
            records["by_callback"][caused] = (number[caused] - 1) % CALLBACKS
            records["by_executor"][caused] = 1
            for part in np.array_split(records, 16):
                stream.write(layout.CHUNK.pack(layout.CHUNK_RECORDS, part.nbytes) + part.tobytes())
