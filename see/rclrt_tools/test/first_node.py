# Copyright 2026 The rclrt Authors
# SPDX-License-Identifier: Apache-2.0
"""The example first_node, run under a parameters file: the real executor reads it."""

from __future__ import annotations

import os
import signal
import subprocess
import tempfile
from pathlib import Path

PROGRAM = Path(os.environ["RCLRT_BUILD_DIR"]) / "rclrt_examples" / "first_node"


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
