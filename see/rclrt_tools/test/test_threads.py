# Copyright 2026 The rclrt Authors
# SPDX-License-Identifier: Apache-2.0
"""Threads as the kernel has them."""

from __future__ import annotations

import os
import subprocess
import sys
import threading
from pathlib import Path
from typing import Any

import pytest
from rclrt_tools.live.threads import threads_of


def test_threads_are_as_the_kernel_has_them() -> None:
    known: dict[str, Any] = {}
    ready, end = threading.Event(), threading.Event()

    def body() -> None:
        cpu = min(os.sched_getaffinity(0))
        os.sched_setaffinity(0, {cpu})
        os.sched_setscheduler(0, os.SCHED_BATCH, os.sched_param(0))
        os.setpriority(os.PRIO_PROCESS, 0, 7)
        known.update(number=threading.get_native_id(), cpus=str(cpu))
        ready.set()
        end.wait(60)

    thread = threading.Thread(target=body)
    thread.start()
    ready.wait(60)
    found = {thread.number: thread for thread in threads_of(os.getpid())}
    end.set()
    thread.join()
    mine = found[known["number"]]
    assert (mine.policy, mine.priority, mine.cpus) == ("batch", 7, known["cpus"])
    assert mine.cpu == int(known["cpus"])
    assert mine.cpu_ns > 0
    assert found[os.getpid()].name == Path("/proc/self/comm").read_text(encoding="utf-8").strip()
    assert threads_of(2**22 + 5) == []


@pytest.mark.parametrize(
    ("policy", "priority", "shown"),
    [
        ("OTHER", 0, ("other", 5)),
        ("BATCH", 0, ("batch", 5)),
        ("IDLE", 0, ("idle", None)),
        ("FIFO", 2, ("fifo", 2)),
        ("RR", 3, ("rr", 3)),
    ],
)
def test_policies_are_shown_with_what_orders_their_threads(
    policy: str, priority: int, shown: tuple[str, int | None]
) -> None:
    code = f"import os, sys; os.nice(5 - os.nice(0)); p = os.sched_param({priority}); "
    code += f"os.sched_setscheduler(0, os.SCHED_{policy}, p); print(flush=True); sys.stdin.read()"
    with subprocess.Popen(
        [sys.executable, "-c", code], stdin=subprocess.PIPE, stdout=subprocess.PIPE, stderr=-3
    ) as child:
        assert child.stdout is not None
        if not child.stdout.readline():
            pytest.skip(f"no permission for {policy} (RLIMIT_RTPRIO)")
        threads = threads_of(child.pid)
        child.communicate()
    assert [(thread.policy, thread.priority) for thread in threads] == [shown]
