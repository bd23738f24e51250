# Copyright 2026 The rclrt Authors
# SPDX-License-Identifier: Apache-2.0
"""Whether real-time threads would leave nothing of the machine to others."""

from __future__ import annotations

import re
from collections.abc import Iterable, Mapping, Sequence
from pathlib import Path

from rclrt_tools.apply.parts import Target
from rclrt_tools.live.files import proc_text
from rclrt_tools.live.threads import Thread, thread_of

RUNTIME = "sys/kernel/sched_rt_runtime_us"


def without_guard(proc: Path, process: int) -> bool:
    """Return whether nothing stops a real-time thread of the process that never sleeps.

    The kernel does if it throttles them all, or if the process has a limit (RLIMIT_RTTIME).
    """
    try:
        if int(proc_text(f"{proc}/{RUNTIME}")) >= 0:
            return False
    except (OSError, ValueError):
        return False
    return limit_of(proc, process, "realtime timeout") is None


def limit_of(proc: Path, process: int, name: str) -> int | None:
    """Return a limit of a process, as /proc calls it; None: unlimited or unknown."""
    try:
        found = re.search(rf"^Max {name}\s+(\d+)", proc_text(f"{proc}/{process}/limits"), re.M)
    except OSError:
        return None
    return int(found[1]) if found else None


class Sleepless:
    """Finds threads that have not slept between two looks: always ready, never having waited."""

    def __init__(self, proc: Path) -> None:
        self._proc = proc
        self._before: dict[Target, Thread] = {}

    def look(self, targets: Iterable[Target]) -> list[Target]:
        """Return those of these threads that have not slept since the look before."""
        now = {}
        for target in targets:
            folder = f"{self._proc}/{target.process}/task/{target.number}"
            thread = thread_of(folder, target.number)
            if thread and thread.born == target.born:
                now[target] = thread
        found = [
            target
            for target, thread in now.items()
            if (before := self._before.get(target))
            and before.state == thread.state == "R"
            and before.slept == thread.slept
        ]
        self._before = now
        return found


def take_every_cpu(
    threads: Sequence[Target], cpus_of: Mapping[Target, frozenset[int]], cpus: frozenset[int]
) -> bool:
    """Return whether threads that never sleep can run on every CPU at once.

    That is a matching of all CPUs: each gets a thread of its own that may run there.
    """
    cpu_of: dict[Target, int] = {}

    def place(cpu: int, tried: set[Target]) -> bool:
        for thread in threads:
            if cpu in cpus_of[thread] and thread not in tried:
                tried.add(thread)
                if thread not in cpu_of or place(cpu_of[thread], tried):
                    cpu_of[thread] = cpu
                    return True
        return False

    return len(threads) >= len(cpus) and all(place(cpu, set()) for cpu in sorted(cpus))
