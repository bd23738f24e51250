# Copyright 2026 The rclrt Authors
# SPDX-License-Identifier: Apache-2.0
"""Hosts of namespaces: apart from each other and from the machine, with a network between them."""

from __future__ import annotations

import json
import os
import subprocess
import sys
from pathlib import Path

import pytest

BUILD = Path(os.environ["RCLRT_BUILD_DIR"]) / "rclrt_benchmarks"
LINK = str(BUILD / "host_link")
NOT_PERMITTED = 77
LISTENS = """
import socket, sys, time
s = socket.socket(socket.AF_INET, socket.SOCK_DGRAM)
s.bind(("10.77.0.1", 9000))
s.settimeout(float(sys.argv[2]))
try:
    sent = int(s.recv(100))
    text = str(time.monotonic_ns() - sent)
except TimeoutError:
    text = "nothing"
open(sys.argv[1], "w").write(text)
"""
SENDS = """
import socket, time
s = socket.socket(socket.AF_INET, socket.SOCK_DGRAM)
for _ in range(10):
    s.sendto(str(time.monotonic_ns()).encode(), ("10.77.0.1", 9000))
    time.sleep(0.05)
"""
LOOKS = """
import json, os, socket, sys
names = sorted(name for _, name in socket.if_nameindex())
open("/dev/shm/mine", "w").write("x")
json.dump([names, os.listdir("/dev/shm"), os.getpid()], open(sys.argv[1], "w"))
"""


def hosts(*arguments: str) -> subprocess.CompletedProcess[str]:
    done = subprocess.run(
        [LINK, *arguments], capture_output=True, text=True, timeout=60, check=False
    )
    if done.returncode == NOT_PERMITTED:
        pytest.skip(done.stderr)
    return done


def python(code: str, *arguments: str) -> list[str]:
    return ["--", sys.executable, "-c", code, *arguments]


def test_what_is_sent_to_another_host_arrives_after_the_delay(tmp_path: Path) -> None:
    out = tmp_path / "heard"
    done = hosts("--delay-us", "40000", *python(LISTENS, str(out), "20"), *python(SENDS))
    assert done.returncode == 0, done.stderr
    assert int(out.read_text(encoding="utf-8")) >= 40_000_000


def test_what_is_lost_does_not_arrive(tmp_path: Path) -> None:
    out = tmp_path / "heard"
    done = hosts("--loss", "100", *python(LISTENS, str(out), "0.7"), *python(SENDS))
    assert done.returncode == 0, done.stderr
    assert out.read_text(encoding="utf-8") == "nothing"


def test_a_host_has_its_own_network_memory_and_processes(tmp_path: Path) -> None:
    outs = [tmp_path / "one", tmp_path / "two"]
    done = hosts(*python(LOOKS, str(outs[0])), *python(LOOKS, str(outs[1])))
    assert done.returncode == 0, done.stderr
    for out in outs:
        assert json.loads(out.read_text(encoding="utf-8")) == [["link", "lo"], ["mine"], 1]
    assert not Path("/dev/shm/mine").exists()


def test_the_first_failure_ends_all_hosts_and_wrong_arguments_are_named() -> None:
    done = hosts("--", "sh", "-c", "exit 5", "--", "sleep", "50")
    assert done.returncode == 5
    for arguments, says in (
        (("--", "true"), "from 2 to 250 commands"),
        (("--", "true", "--"), "a command is empty"),
    ):
        done = hosts(*arguments)
        assert done.returncode == 2
        assert says in done.stderr
