# Copyright 2026 The rclrt Authors
# SPDX-License-Identifier: Apache-2.0
"""Other programs that are busy while something is measured."""

from __future__ import annotations

import os
import subprocess
import sys
from collections.abc import Sequence

from rclrt_analysis.reference.program import ENDS_WITH_US

BUSY = "import time; end = time.monotonic() + 600\nwhile time.monotonic() < end: pass"
"""For ten minutes at most, should nobody end it."""


class Load:
    """Busy processes under SCHED_OTHER on each of some CPUs.

    Each is a session of its own: where the kernel shares the CPU by sessions, each counts. They end
    with the `with` statement, and with this process however that ends.
    """

    def __init__(self, cpus: Sequence[int], each: int) -> None:
        self._cpus = [cpu for cpu in cpus for _ in range(each)]
        self._busy: list[subprocess.Popen[bytes]] = []

    def __enter__(self) -> Load:
        for cpu in self._cpus:
            command = [*ENDS_WITH_US, sys.executable, "-c", BUSY]
            self._busy.append(subprocess.Popen(command, start_new_session=True))
            os.sched_setaffinity(self._busy[-1].pid, {cpu})
        return self

    def __exit__(self, *_: object) -> None:
        for process in self._busy:
            process.kill()
        for process in self._busy:
            process.wait()
        self._busy.clear()
