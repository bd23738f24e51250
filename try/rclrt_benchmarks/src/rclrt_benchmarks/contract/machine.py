# Copyright 2026 The rclrt Authors
# SPDX-License-Identifier: Apache-2.0
"""When the machine itself was away: neither a model nor an executor can do anything about that."""

from __future__ import annotations

import json
import os
import subprocess
from collections.abc import Sequence
from pathlib import Path

from rclrt_tools.calibration import Calibration, read_samples
from rclrt_tools.commands.model.calibrate import PROGRAM
from rclrt_tools.reference.program import ProgramError, ends_with_us


def calibrated(cpus: Sequence[int], samples: int, seconds: float) -> Calibration:
    """Measure what jobs cost here.

    Raises
    ------
    ProgramError
        The machine does not allow it, or the program is not built.
    """
    command = [*_program(), str(samples), str(seconds), *map(str, cpus)]
    try:
        done = subprocess.run(command, capture_output=True, text=True, check=False, timeout=600)
    except (OSError, subprocess.TimeoutExpired) as error:
        raise ProgramError(1, str(error)) from error
    if done.returncode != 0:
        raise ProgramError(done.returncode, done.stdout + done.stderr)
    return read_samples(json.loads(done.stdout))


def _program() -> list[str]:
    build = Path(os.environ.get("RCLRT_BUILD_DIR", "build"))
    return [*ends_with_us(), str(build / PROGRAM)]


class Stalls:
    """The times at which the most urgent thread of a CPU did not run though it was due.

    Whatever delays it delays every callback: the host of a virtual machine, interrupts, firmware, a
    system call of another program that the kernel does not leave.

    Parameters
    ----------
    spans
        Known ones: CPU, begin and end.
    """

    def __init__(self, cpus: Sequence[int], spans: Sequence[tuple[int, int, int]] = ()) -> None:
        self._command = [*_program(), "stalls", *map(str, cpus)]
        self._spans = list(spans)

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
                self._spans.append((int(fields[0]), int(fields[1]), int(fields[2])))

    @property
    def longest_ms(self) -> float:
        """Return the longest."""
        return max((end - begin for _, begin, end in self._spans), default=0) / 1e6

    def within(self, begin: int, end: int, cpu: int) -> int:
        """Return how long a CPU was away in that time, ns."""
        mine = ((a, b) for core, a, b in self._spans if core == cpu)
        return sum(max(0, min(b, end) - max(a, begin)) for a, b in mine)
