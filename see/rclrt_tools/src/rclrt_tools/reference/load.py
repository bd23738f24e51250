# Copyright 2026 The rclrt Authors
# SPDX-License-Identifier: Apache-2.0
"""A background load: ordinary busy processes beside what is measured, and never after it."""

from __future__ import annotations

import contextlib
import os
import subprocess
from collections.abc import Iterable
from types import TracebackType

from rclrt_tools.reference.program import ProgramError, ends_with_us

PROCESSES_A_CPU = 4
# Ends by itself after so much CPU time, should nothing else have ended it.
BUSY = "ulimit -t 600; while :; do :; done"


class BackgroundLoad:
    """`each` busy processes under SCHED_OTHER on each of some CPUs, while the block runs.

    Each has a session of its own, so that the kernel counts it by itself (sched_autogroup). They do
    not outlive this process, however it ends (where there is setpriv), nor ten minutes of CPU time.

    Raises
    ------
    ProgramError
        At the end of the block, if one of them was ended by somebody else: what was measured is
        not what it says.
    """

    def __init__(self, cpus: Iterable[int], each: int = PROCESSES_A_CPU) -> None:
        self._cpus = [cpu for cpu in sorted(set(cpus)) for _ in range(each)]
        self._children: list[subprocess.Popen[bytes]] = []

    def __enter__(self) -> BackgroundLoad:
        """Start them."""
        try:
            for cpu in self._cpus:
                child = subprocess.Popen(
                    [*ends_with_us(), "sh", "-c", BUSY],
                    stdin=subprocess.DEVNULL,
                    stdout=subprocess.DEVNULL,
                    stderr=subprocess.DEVNULL,
                    start_new_session=True,
                )
                self._children.append(child)
                with contextlib.suppress(ProcessLookupError):
                    os.sched_setaffinity(child.pid, {cpu})
        except OSError as error:
            self._end()
            raise ProgramError(1, f"the background load could not be started: {error}") from error
        return self

    def __exit__(
        self,
        kind: type[BaseException] | None,
        error: BaseException | None,
        trace: TracebackType | None,
    ) -> None:
        """End them."""
        gone = self._end()
        if gone and kind is None:
            raise ProgramError(
                1,
                f"{gone} processes of the background load ended before they were told to: "
                "something has killed them, or the run took longer than they live",
            )

    def _end(self) -> int:
        gone = sum(child.poll() is not None for child in self._children)
        for child in self._children:
            child.kill()
        for child in self._children:
            child.wait()
        self._children = []
        return gone
