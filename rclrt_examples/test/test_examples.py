# Copyright 2026 The rclrt Authors
# SPDX-License-Identifier: Apache-2.0
"""The examples do what their README says, and the README shows the example."""

from __future__ import annotations

import os
import signal
import subprocess
from pathlib import Path

BUILD = Path(os.environ["RCLRT_BUILD_DIR"])
SOURCE = Path(os.environ["RCLRT_SOURCE_DIR"])


def test_first_node_ticks_until_it_is_interrupted() -> None:
    environment = dict(os.environ, ROS_AUTOMATIC_DISCOVERY_RANGE="LOCALHOST")
    # A program finds its libraries by itself: it needs no environment script.
    for name in ("LD_LIBRARY_PATH", "PYTHONPATH", "AMENT_PREFIX_PATH"):
        environment.pop(name, None)
    terminal, its_end = os.openpty()  # to a terminal, a program writes line by line
    with (
        os.fdopen(terminal) as output,
        subprocess.Popen(
            [BUILD / "rclrt_examples" / "first_node"], stdout=its_end, env=environment
        ) as node,
    ):
        os.close(its_end)
        lines = [output.readline() for _ in range(3)]
        node.send_signal(signal.SIGINT)
        assert node.wait(timeout=30) == 0
    assert all(line.startswith("tick ") for line in lines)


def test_the_readme_shows_the_first_node_as_it_is() -> None:
    program = (SOURCE / "rclrt_examples" / "01_first_node" / "main.cpp").read_text()
    main = program[program.index("int main(") :]
    assert main in (SOURCE / "README.md").read_text()


def test_virtual_time_prints_what_its_readme_says() -> None:
    program = BUILD / "rclrt_examples" / "virtual_time"
    done = subprocess.run([program], capture_output=True, text=True, check=True, timeout=30)
    readme = (SOURCE / "rclrt_examples" / "02_virtual_time" / "README.md").read_text()
    assert done.stdout.count("\n") == 6
    assert f"```\n{done.stdout}```" in readme
