# Copyright 2026 The rclrt Authors
# SPDX-License-Identifier: Apache-2.0
"""The threads of a process, as the kernel has them now."""

from __future__ import annotations

import os
from dataclasses import dataclass
from pathlib import Path

from rclrt_tools.live.files import printable
from rclrt_tools.trace import layout

MAX_THREADS = 4096


@dataclass(frozen=True)
class Thread:
    """One thread.

    Attributes
    ----------
    state
        The letter of the kernel: R runs or could, S sleeps, D waits for a device, ...
    priority
        Of fifo and rr 1 to 99, of other and batch the nice value, else None.
    cpus
        That it may use, as `0-3,6`.
    cpu
        The one that it used last.
    cpu_ns
        CPU time since it began.
    preempted
        How often it has lost its CPU unwillingly.
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


def threads_of(process: int) -> list[Thread]:
    """Return those that can be read, by number."""
    folder = Path(f"/proc/{process}/task")
    try:
        numbers = sorted(int(path.name) for path in folder.iterdir())
    except (OSError, ValueError):
        return []
    found = (_read(f"{folder}/{number}", number) for number in numbers[:MAX_THREADS])
    return [thread for thread in found if thread]


def _read(folder: str, number: int) -> Thread | None:
    try:
        head, _, rest = _text(f"{folder}/stat").rpartition(")")
        fields = rest.split()  # The first is the third of proc(5).
        status = dict(
            line.split(":\t", 1) for line in _text(f"{folder}/status").splitlines() if ":\t" in line
        )
        policy = layout.POLICIES_OF_LINUX.get(int(fields[38]), fields[38])
        priority = {"fifo": fields[37], "rr": fields[37], "other": fields[16], "batch": fields[16]}
        return Thread(
            number,
            printable(head.partition("(")[2]),
            fields[0],
            policy,
            int(priority[policy]) if policy in priority else None,
            printable(status.get("Cpus_allowed_list", "?")),
            int(fields[36]),
            _cpu_ns(folder, fields),
            int(status.get("nonvoluntary_ctxt_switches", "0")),
        )
    except (OSError, ValueError, IndexError):
        return None  # It has ended meanwhile.


def _cpu_ns(folder: str, fields: list[str]) -> int:
    try:
        return int(_text(f"{folder}/schedstat").split()[0])
    except (OSError, ValueError, IndexError):  # A kernel without it counts in ticks.
        return (int(fields[11]) + int(fields[12])) * 10**9 // os.sysconf("SC_CLK_TCK")


def _text(path: str) -> str:
    return Path(path).read_text(encoding="utf-8", errors="replace")
