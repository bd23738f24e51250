# Copyright 2026 The rclrt Authors
# SPDX-License-Identifier: Apache-2.0
"""The examples do what their README says, and the README shows the example."""

from __future__ import annotations

import ctypes
import os
import resource
import signal
import subprocess
import tempfile
from collections.abc import Callable
from pathlib import Path

BUILD = Path(os.environ["RCLRT_BUILD_DIR"])
SOURCE = Path(os.environ["RCLRT_SOURCE_DIR"])


PR_CAPBSET_DROP, CAP_SYS_NICE = 24, 23


def give_up_real_time() -> None:
    """Take the right to real-time priorities from this process and from what it executes."""
    resource.setrlimit(resource.RLIMIT_RTPRIO, (0, 0))
    if os.geteuid() == 0:
        libc = ctypes.CDLL(None, use_errno=True)
        assert libc.prctl(PR_CAPBSET_DROP, CAP_SYS_NICE, 0, 0, 0) == 0, os.strerror(
            ctypes.get_errno()
        )


def run_first_node(before: Callable[[], None] | None = None) -> tuple[list[str], str]:
    """Let it tick three times; return these lines, and what else it wrote."""
    environment = dict(os.environ, ROS_AUTOMATIC_DISCOVERY_RANGE="LOCALHOST")
    # A program finds its libraries by itself: it needs no environment script.
    for name in ("LD_LIBRARY_PATH", "PYTHONPATH", "AMENT_PREFIX_PATH"):
        environment.pop(name, None)
    terminal, its_end = os.openpty()  # to a terminal, a program writes line by line
    with (
        os.fdopen(terminal) as output,
        tempfile.TemporaryFile("w+") as log,
        subprocess.Popen(
            [BUILD / "rclrt_examples" / "first_node"],
            stdout=its_end,
            stderr=log,
            env=environment,
            preexec_fn=before,
        ) as node,
    ):
        os.close(its_end)
        lines = [output.readline() for _ in range(3)]
        node.send_signal(signal.SIGINT)
        assert node.wait(timeout=30) == 0
        log.seek(0)
        return lines, log.read()


def test_first_node_ticks_until_it_is_interrupted() -> None:
    lines, _ = run_first_node()
    assert all(line.startswith("tick ") for line in lines)


def test_first_node_without_the_permission_says_what_is_refused_and_what_helps() -> None:
    lines, log = run_first_node(give_up_real_time)
    assert all(line.startswith("tick ") for line in lines)
    told = [line for line in log.splitlines() if "[WARN]" in line and "[rclrt]" in line]
    assert len([line for line in told if "RLIMIT_RTPRIO" in line]) == 1, f"one cause: {log}"
    assert log.count("Operation not permitted") <= 1, log
    assert log.count("Add the line '@realtime - rtprio 99'") == 1, log
    assert len(told) == len({line.partition("[rclrt]")[2] for line in told}), "each once"


def test_virtual_time_prints_what_its_readme_says() -> None:
    program = BUILD / "rclrt_examples" / "virtual_time"
    done = subprocess.run([program], capture_output=True, text=True, check=True, timeout=30)
    readme = (SOURCE / "try/rclrt_examples" / "README.md").read_text()
    assert done.stdout.count("\n") == 6
    assert f"```\n{done.stdout}```" in readme
