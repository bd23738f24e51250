# Copyright 2026 The rclrt Authors
# SPDX-License-Identifier: Apache-2.0
"""Which records can be true: a file may hold any bits."""

from __future__ import annotations

import numpy as np
import numpy.typing as npt

from rclrt_tools.trace.layout import Records

LONGEST = 3_600_000_000_000_000
"""The longest time between two instants of a job, ns: a thousand hours."""

EARLIEST = 2**61


def is_sane(records: Records) -> npt.NDArray[np.bool_]:
    """Return which records have times in order, and between them what a computer may take."""
    fine = np.ones(len(records), dtype=np.bool_)
    times = [records[name] for name in ("release_ns", "ready_ns", "start_ns", "end_ns")]
    for time in times:
        fine &= (time > -EARLIEST) & (time < EARLIEST)
    release, ready, start, end = (np.where(fine, time, 0) for time in times)
    fine &= (ready <= start) & (start <= end) & (end - release < LONGEST)
    fine &= (release - ready < LONGEST) & (records["cpu_ns"] < LONGEST)
    return fine
