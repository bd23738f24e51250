# Copyright 2026 The rclrt Authors
# SPDX-License-Identifier: Apache-2.0
"""The demo's background load: it is there, it is ordinary, and it never stays."""

from __future__ import annotations

import json
import os
import signal
import subprocess
import sys
import time
from pathlib import Path

import pytest
from rclrt_tools.reference.load import PROCESSES_A_CPU, BackgroundLoad
from rclrt_tools.reference.program import ProgramError, ends_with_us


def alive(pid: int) -> bool:
    try:
        return Path(f"/proc/{pid}/stat").read_text().rsplit(")", 1)[1].split()[0] not in "ZX"
    except OSError:
        return False


def pids_of(load: BackgroundLoad) -> list[int]:
    return [child.pid for child in load._children]


def test_there_are_four_ordinary_processes_a_cpu_on_these_cpus_and_then_none() -> None:
    cpu = min(os.sched_getaffinity(0))
    with BackgroundLoad({cpu}) as load:
        pids = pids_of(load)
        assert len(pids) == PROCESSES_A_CPU
        for pid in pids:
            assert os.sched_getscheduler(pid) == os.SCHED_OTHER
            assert os.sched_getaffinity(pid) == {cpu}
            assert os.getsid(pid) == pid
    assert not any(alive(pid) for pid in pids)


def test_they_are_ended_when_the_block_fails() -> None:
    load = BackgroundLoad({min(os.sched_getaffinity(0))})
    with pytest.raises(KeyboardInterrupt), load:
        pids = pids_of(load)
        raise KeyboardInterrupt
    assert not any(alive(pid) for pid in pids)


def test_one_that_somebody_has_killed_is_told() -> None:
    with pytest.raises(ProgramError, match="1 processes of the background load ended"):  # noqa: SIM117
        with BackgroundLoad({min(os.sched_getaffinity(0))}) as load:
            victim = load._children[0]
            victim.send_signal(signal.SIGKILL)
            victim.wait()


@pytest.mark.skipif(not ends_with_us(), reason="there is no setpriv")
def test_they_do_not_outlive_a_demo_that_is_killed() -> None:
    code = (
        "import time; from rclrt_tools.reference.load import BackgroundLoad\n"
        f"with BackgroundLoad({{{min(os.sched_getaffinity(0))}}}) as load:\n"
        "    print(*[child.pid for child in load._children], flush=True)\n"
        "    time.sleep(60)\n"
    )
    with subprocess.Popen([sys.executable, "-c", code], stdout=subprocess.PIPE, text=True) as demo:
        assert demo.stdout is not None
        pids = [int(word) for word in demo.stdout.readline().split()]
        assert len(pids) == PROCESSES_A_CPU
        demo.kill()
    patience = time.monotonic() + 20
    while any(alive(pid) for pid in pids) and time.monotonic() < patience:
        time.sleep(0.05)
    assert not any(alive(pid) for pid in pids)


@pytest.mark.skipif(not ends_with_us(), reason="there is no setpriv")
def test_a_program_whose_starter_has_ended_meanwhile_does_not_begin(tmp_path: Path) -> None:
    """Killed between the start of a child and the child's word to the kernel."""
    starter = "import json; from rclrt_tools.reference.program import ends_with_us; "
    said = subprocess.run(
        [sys.executable, "-c", starter + "print(json.dumps(ends_with_us()))"],
        capture_output=True,
        text=True,
        check=True,
    )
    begun = tmp_path / "begun"
    late = subprocess.run([*json.loads(said.stdout), "touch", str(begun)], check=False)
    assert late.returncode != 0
    assert not begun.exists()
    in_time = subprocess.run([*ends_with_us(), "touch", str(begun)], check=False)
    assert in_time.returncode == 0
    assert begun.exists()
