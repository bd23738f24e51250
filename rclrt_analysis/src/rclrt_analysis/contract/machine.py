# Copyright 2026 The rclrt Authors
# SPDX-License-Identifier: Apache-2.0
"""When the machine itself was away: neither a model nor an executor can do anything about that."""

from __future__ import annotations

import os
import subprocess
from collections.abc import Sequence
from pathlib import Path

from rclrt_analysis.reference.program import ENDS_WITH_US

PROGRAM = Path("rclrt_benchmarks") / "cost_of_a_job"
BEFORE_NS = 200_000_000
"""What was held up so long before a job was released may still be before it."""


class Stalls:
    """The times at which the most urgent thread of a CPU did not run though it was due.

    Whatever delays it delays every callback: the host of a virtual machine, interrupts, firmware.
    """

    def __init__(self, cpus: Sequence[int]) -> None:
        program = Path(os.environ.get("RCLRT_BUILD_DIR", "build")) / PROGRAM
        self._command = [*ENDS_WITH_US, str(program), "stalls", *map(str, cpus)]
        self._spans: list[tuple[int, int]] = []

    def __enter__(self) -> Stalls:
        self._process = subprocess.Popen(
            self._command,
            stdin=subprocess.PIPE,
            stdout=subprocess.PIPE,
            text=True,
            start_new_session=True,
        )
        return self

    def __exit__(self, *_: object) -> None:
        said, _error = self._process.communicate(timeout=60)
        for line in said.splitlines():
            fields = line.split()
            if len(fields) == 3:
                self._spans.append((int(fields[1]), int(fields[2])))

    @property
    def longest_ms(self) -> float:
        """Return the longest."""
        return max((end - begin for begin, end in self._spans), default=0) / 1e6

    def within(self, begin: int, end: int) -> int:
        """Return how long the machine was away in that time or shortly before, ns."""
        begin -= BEFORE_NS
        return sum(max(0, min(b, end) - max(a, begin)) for a, b in self._spans)
