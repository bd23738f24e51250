# Copyright 2026 The rclrt Authors
# SPDX-License-Identifier: Apache-2.0
"""The machine as it is, not as somebody thinks it is set up; and a background load on it."""

import contextlib
import hashlib
import os
import platform
import resource
import subprocess
from collections.abc import Iterable
from pathlib import Path
from types import TracebackType
from typing import Any

from rclrt_tools.reference.program import ProgramError, ends_with_us


def _read(path: str) -> str | None:
    try:
        return Path(path).read_text(encoding="utf-8", errors="replace").strip()
    except OSError:
        return None


def _cpu_model() -> str | None:
    for line in (_read("/proc/cpuinfo") or "").splitlines():
        if line.startswith("model name"):
            return line.partition(":")[2].strip()
    return None


def _revision(source: Path) -> str | None:
    command = ["git", "-C", str(source), "describe", "--always", "--dirty", "--abbrev=12"]
    try:
        done = subprocess.run(command, capture_output=True, text=True, check=True, timeout=10)
    except (OSError, subprocess.SubprocessError):
        return None
    return done.stdout.strip() or None


def busy_cpu_s() -> float:
    """Return the processor time that all programs of this machine have used since it started, s."""
    fields = (_read("/proc/stat") or "cpu 0").splitlines()[0].split()[1:]
    ticks = [int(word) for word in fields]
    idle = sum(ticks[3:5])  # idle and waiting for disks
    guests = sum(ticks[8:10])  # counted in user and nice already
    return (sum(ticks) - idle - guests) / os.sysconf("SC_CLK_TCK")


def own_cpu_s() -> float:
    """Return the processor time of this program and of those it started that have ended, s."""
    times = os.times()
    return times.user + times.system + times.children_user + times.children_system


def may_use_realtime(priority: int = 1) -> bool:
    """Return whether a thread of this user may have that SCHED_FIFO. Tried, not deduced."""
    pid = os.fork()
    if pid == 0:
        try:
            os.sched_setscheduler(0, os.SCHED_FIFO, os.sched_param(priority))
        except OSError:
            os._exit(1)
        os._exit(0)
    _, status = os.waitpid(pid, 0)
    return status == 0


def describe(source: Path, scenario: Path) -> dict[str, Any]:
    """Return the environment part of the result."""
    runtime_us = _read("/proc/sys/kernel/sched_rt_runtime_us")
    command_line = (_read("/proc/cmdline") or "").split()
    return {
        "machine": platform.machine(),
        "cpu": _cpu_model(),
        "cpus": os.cpu_count(),
        "kernel": platform.release(),
        "preempt_rt": (_read("/sys/kernel/realtime") or "0") == "1",
        "kernel_arguments": [
            word
            for word in command_line
            if word.partition("=")[0] in ("isolcpus", "nohz_full", "rcu_nocbs", "preempt")
        ],
        "governor": _read("/sys/devices/system/cpu/cpu0/cpufreq/scaling_governor"),
        "smt_active": _read("/sys/devices/system/cpu/smt/active") == "1",
        "sched_rt_runtime_us": int(runtime_us) if runtime_us else None,
        "rlimit_rtprio": resource.getrlimit(resource.RLIMIT_RTPRIO)[0],
        "may_use_realtime": may_use_realtime(),
        "revision": _revision(source),
        "scenario": scenario.name,
        "scenario_sha256": hashlib.sha256(scenario.read_bytes()).hexdigest(),
    }


PROCESSES_A_CPU = 4
# Ends by itself after so much CPU time, should nothing else have ended it.
BUSY = "ulimit -t 600; while :; do :; done"


class BackgroundLoad:
    """`each` busy processes under SCHED_OTHER on each of some CPUs, while the block runs.

    Each has a session of its own, so that the kernel counts it by itself (sched_autogroup). They do
    not outlive this process, however it ends (where there is setpriv), nor ten minutes of CPU time.

    Raises ProgramError: At the end of the block, if one of them was ended by somebody else: what
        was measured is not what it says.
    """

    def __init__(self, cpus: Iterable[int], each: int = PROCESSES_A_CPU) -> None:
        self._cpus = [cpu for cpu in sorted(set(cpus)) for _ in range(each)]
        self._children: list[subprocess.Popen[bytes]] = []

    def __enter__(self) -> "BackgroundLoad":
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
