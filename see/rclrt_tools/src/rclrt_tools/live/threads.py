# Copyright 2026 The rclrt Authors
# SPDX-License-Identifier: Apache-2.0
"""The threads of a process, as the kernel has them now."""

import os
import re
from collections.abc import Iterable
from dataclasses import dataclass

from rclrt_tools.live.files import BORN, STATE, printable, proc_text, stat_of
from rclrt_tools.trace import layout

MAX_THREADS = 4096
OF_STATUS = re.compile(r"^(Cpus_allowed_list|\w*voluntary_ctxt_switches):\t(.*)", re.MULTILINE)
WORKER = "rclrt worker"
"""How an executor names its threads, which have what their jobs ask for."""


@dataclass(frozen=True)
class Thread:
    """One thread.

    state: The letter of the kernel: R runs or could, S sleeps, D waits for a device, ...
    priority: Of fifo and rr 1 to 99, of other and batch the nice value, else None.
    cpus: That it may use, as `0-3,6`.
    cpu: The one that it used last.
    cpu_ns: CPU time since it began.
    preempted: How often it has lost its CPU unwillingly.
    slept: How often it has given up its CPU to wait for something.
    born: When it began, in ticks of the kernel since the machine started.
    """

    number: int
    name: str
    state: str
    policy: str
    priority: int | None
    cpus: str
    cpu: int
    cpu_ns: int
    preempted: int
    slept: int = 0
    born: int = 0


def threads_of(process: int) -> list[Thread]:
    """Return those that can be read, by number."""
    folder = f"/proc/{process}/task"
    try:
        numbers = sorted(map(int, os.listdir(folder)))  # noqa: PTH208
    except (OSError, ValueError):
        return []
    found = (thread_of(f"{folder}/{number}", number) for number in numbers[:MAX_THREADS])
    return [thread for thread in found if thread]


def thread_of(folder: str, number: int) -> Thread | None:
    """Return the thread with this folder in /proc; None: it has ended."""
    try:
        name, fields = stat_of(folder)
        status = dict(OF_STATUS.findall(proc_text(f"{folder}/status")))
        policy = layout.POLICIES_OF_LINUX.get(int(fields[38]), fields[38])
        priority = dict.fromkeys(layout.PRIORITY_WORDS, fields[37])
        priority |= dict.fromkeys(layout.NICE_WORDS, fields[16])
        return Thread(
            number,
            printable(name),
            fields[STATE],
            policy,
            int(priority[policy]) if policy in priority else None,
            printable(status.get("Cpus_allowed_list", "?")),
            int(fields[36]),
            _cpu_ns(folder, fields),
            int(status.get("nonvoluntary_ctxt_switches", "0")),
            int(status.get("voluntary_ctxt_switches", "0")),
            int(fields[BORN]),
        )
    except (OSError, ValueError, IndexError):
        return None


def _cpu_ns(folder: str, fields: list[str]) -> int:
    try:
        return int(proc_text(f"{folder}/schedstat").split()[0])
    except (OSError, ValueError, IndexError):  # A kernel without it counts in ticks.
        return (int(fields[11]) + int(fields[12])) * 10**9 // os.sysconf("SC_CLK_TCK")


def ranges(cpus: Iterable[int]) -> str:
    """Return CPUs as the kernel writes them: 0-3,6."""
    found: list[list[int]] = []
    for cpu in sorted(cpus):
        if found and cpu == found[-1][1] + 1:
            found[-1][1] = cpu
        else:
            found.append([cpu, cpu])
    return ",".join(f"{a}" if a == b else f"{a}-{b}" for a, b in found)


def cpus_in(text: str) -> tuple[int, ...]:
    """Return CPUs from what the kernel writes.

    Raises ValueError: It is none of its lists.
    """
    pairs = [part.partition("-") for part in text.strip().split(",")]
    return tuple(cpu for a, _, b in pairs for cpu in range(int(a), int(b or a) + 1))
