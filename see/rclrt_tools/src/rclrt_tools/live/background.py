# Copyright 2026 The rclrt Authors
# SPDX-License-Identifier: Apache-2.0
"""A recording that goes on in the background: `./rclrt trace start` and `stop`.

The folder of the recording says which process it is, so several folders may be recorded into at
once, and nothing else is left behind.
"""

from __future__ import annotations

import contextlib
import os
import signal
import subprocess
import time
from pathlib import Path

from rclrt_tools import cli

NAME = ".recording"
PATIENCE_S = 10.0


def born(process: int) -> str:
    """Return when a process began, as the kernel counts; empty: it does not run."""
    try:
        text = Path(f"/proc/{process}/stat").read_text(encoding="utf-8", errors="replace")
    except OSError:
        return ""
    fields = text.rpartition(")")[2].split()
    return "" if fields[0] in "ZX" else fields[19]


def running(folder: Path) -> int:
    """Return the process that records into the folder; 0: none."""
    try:
        process, began = (folder / NAME).read_text(encoding="utf-8").split()
        return int(process) if born(int(process)) == began else 0
    except (OSError, ValueError):
        return 0


def start(folder: Path, options: list[str]) -> str:
    """Begin to record, and return what to say.

    Raises
    ------
    ValueError
        A recording into this folder runs, or it ended at once; the text says why.
    OSError
        The folder cannot be made or written.
    """
    if running(folder):
        raise ValueError(f"{folder}: process {running(folder)} records into it already")
    folder.mkdir(parents=True, exist_ok=True)
    log = folder / f"{NAME}.log"
    command = cli.command("trace", "record", "-o", str(folder))
    with log.open("wb") as out:
        child = subprocess.Popen(
            [*command, *options], stdin=subprocess.DEVNULL, stdout=out, stderr=out,
            start_new_session=True,
        )  # fmt: skip
    (folder / NAME).write_text(f"{child.pid} {born(child.pid)}\n", encoding="utf-8")
    end = time.monotonic() + PATIENCE_S
    while b"recording into" not in log.read_bytes() and time.monotonic() < end:
        if child.poll() is not None:
            raise ValueError(log.read_text(encoding="utf-8").strip() or "it ended at once")
        time.sleep(0.02)
    child.returncode = 0  # It goes on without us.
    return f"process {child.pid} records into {folder}; ./rclrt trace stop -o {folder} ends it"


def stop(folder: Path) -> str:
    """End the recording into a folder, and return what it said.

    Raises
    ------
    ValueError
        There is none, or it does not end.
    """
    process = running(folder)
    if not process:
        raise ValueError(f"{folder}: no recording into this folder runs")
    began = born(process)
    os.kill(process, signal.SIGTERM)
    end = time.monotonic() + PATIENCE_S
    while born(process) == began:
        if time.monotonic() >= end:
            raise ValueError(f"process {process} does not end")
        time.sleep(0.02)
    log = folder / f"{NAME}.log"
    said = log.read_text(encoding="utf-8", errors="replace")
    for left in (folder / NAME, log):
        with contextlib.suppress(OSError):
            left.unlink()
    return said.strip()
