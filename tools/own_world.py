# Copyright 2026 The rclrt Authors
# SPDX-License-Identifier: Apache-2.0
"""A plugin of pytest: tests have a /dev/shm and an `apply` of their own, in a mount namespace.

Live traces lie there, of every program of the user, also of what other runs have left. Tests that
ask which executors run would see them. Only root gets the namespace without losing real-time
scheduling; without it tests see what the machine has.
"""

import ctypes
import os
from contextlib import suppress
from pathlib import Path

APPLY = Path("/run/rclrt-apply")
"""Where `./rclrt apply` writes down what it has changed."""

CLONE_NEWNS = 0x00020000
MS_REC, MS_PRIVATE = 0x4000, 0x40000

why_not = ""


def enter() -> str:
    """Enter the namespace; return why there is none, or nothing."""
    libc = ctypes.CDLL(None, use_errno=True)
    with suppress(OSError):  # It may be read-only.
        APPLY.mkdir(mode=0o700, exist_ok=True)
    places = [Path("/dev/shm"), *[APPLY] * APPLY.is_dir(), *Path("/run/user").glob("*/rclrt")]
    if libc.unshare(CLONE_NEWNS) != 0 or libc.mount(b"none", b"/", None, MS_REC | MS_PRIVATE, None):
        return os.strerror(ctypes.get_errno())
    for place in places:
        mode = b"mode=1777" if place.name == "shm" else b"mode=0700"
        if libc.mount(b"none", os.fsencode(place), b"tmpfs", 0, mode) != 0:
            return f"{place}: {os.strerror(ctypes.get_errno())}"
    return ""


def pytest_configure() -> None:
    """Enter before any test is collected. Under -q no header is asked for."""
    global why_not
    why_not = enter() if os.geteuid() == 0 else "only root has one"


def pytest_report_header() -> str:
    """Say how it went."""
    return f"/dev/shm: the machine's ({why_not})" if why_not else "/dev/shm: of these tests alone"
