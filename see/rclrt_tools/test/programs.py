# Copyright 2026 The rclrt Authors
# SPDX-License-Identifier: Apache-2.0
"""The command `rclrt` and the example first_node, in processes of their own."""

import os
import signal
import subprocess
import sys
import tempfile
from pathlib import Path

from models import ROOT

PROGRAM = Path(os.environ.get("RCLRT_BUILD_DIR", "/")) / "rclrt_rcl" / "first_node"


def rclrt(
    *words: object, check: bool = False, timeout: float = 120, **environment: str
) -> subprocess.CompletedProcess[str]:
    """Run the command as a user does, but without setting up what is set up."""
    return subprocess.run(
        [sys.executable, "-m", "rclrt_tools.cli", *map(str, words)],
        capture_output=True, text=True, check=check, timeout=timeout,
        env={**os.environ, "RCLRT_SOURCE_DIR": str(ROOT), **environment},
    )  # fmt: skip


def clean_environment() -> dict[str, str]:
    """Return one in which a program finds its libraries by itself, and nobody else hears it."""
    environment = dict(os.environ, ROS_AUTOMATIC_DISCOVERY_RANGE="LOCALHOST")
    for name in ("LD_LIBRARY_PATH", "PYTHONPATH", "AMENT_PREFIX_PATH", "RCLRT_CONFIGURATION"):
        environment.pop(name, None)
    return environment


def run_first_node(file: Path) -> tuple[int, list[str], str]:
    """Let it tick three times under a parameters file; return its status, these lines, its log."""
    environment = {**clean_environment(), "RCLRT_CONFIGURATION": str(file)}
    terminal, its_end = os.openpty()  # to a terminal, a program writes line by line
    with (
        os.fdopen(terminal) as output,
        tempfile.TemporaryFile("w+") as log,
        subprocess.Popen([PROGRAM], stdout=its_end, stderr=log, env=environment) as node,
    ):
        os.close(its_end)
        lines = []
        try:
            lines = [output.readline() for _ in range(3)]
            node.send_signal(signal.SIGINT)
        except OSError:  # It has ended.
            pass
        status = node.wait(timeout=30)
        log.seek(0)
        return status, lines, log.read()
