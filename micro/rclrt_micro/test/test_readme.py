# Copyright 2026 The rclrt Authors
# SPDX-License-Identifier: Apache-2.0
"""The program in README.md is the one that is built and tested, and it is short."""

from __future__ import annotations

import os
import select
import subprocess
from pathlib import Path

from firmware import Peer

PACKAGE = Path(__file__).resolve().parents[1]


def _program(name: str) -> Path:
    found = sorted(Path(os.environ["RCLRT_BUILD_DIR"]).rglob(f"rclrt_micro_{name}"))
    return next(path for path in found if path.is_file() and os.access(path, os.X_OK))


def test_the_readme_shows_the_first_program_as_it_is() -> None:
    program = (PACKAGE / "example" / "publisher.c").read_text(encoding="utf-8")
    program = program[program.index("#include") :]
    assert program in (PACKAGE / "README.md").read_text(encoding="utf-8")
    assert len(program.splitlines()) < 28


def test_the_first_program_publishes_and_the_second_prints() -> None:
    peer = Peer()
    try:
        with subprocess.Popen([_program("publisher"), peer.device]) as program:
            try:
                assert peer.take(3) == [("tick", 0), ("tick", 1), ("tick", 2)]
            finally:
                program.kill()
        peer.command("restart")
        with subprocess.Popen(
            [_program("subscriber"), peer.device], stdout=subprocess.PIPE, text=True
        ) as program:
            try:
                assert program.stdout is not None
                # What is published before the program reads is not for it.
                while not select.select([program.stdout], [], [], 0.3)[0]:
                    assert program.poll() is None
                    peer.publish("tick", 7)
                assert program.stdout.readline() == "tick 7\n"
            finally:
                program.kill()
    finally:
        peer.close()


def test_without_tests_it_is_built_where_there_is_no_compiler_for_cpp(tmp_path: Path) -> None:
    command = ["cmake", "-S", str(PACKAGE), "-B", str(tmp_path), "-G", "Ninja"]
    command += ["-DRCLRT_BUILD_TESTS=OFF", "-DRCLRT_WERROR=ON"]
    environment = {**os.environ, "CXX": "/no/such/compiler"}
    for line in (command, ["ninja", "-C", str(tmp_path)]):
        done = subprocess.run(line, env=environment, capture_output=True, text=True, timeout=100)
        assert done.returncode == 0, done.stdout + done.stderr
