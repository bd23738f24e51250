# Copyright 2026 The rclrt Authors
# SPDX-License-Identifier: Apache-2.0
"""How much CPU `./rclrt top` itself takes.

Writes a live trace of 1000 callbacks on four threads, 1000 jobs a second in all, as an executor
would, and shows it in a terminal of 140 x 40. The share of a CPU is from runs of two lengths, so
that the start of the program is not in it. Exits with 1 if the target is missed.
"""

from __future__ import annotations

import argparse
import fcntl
import json
import os
import pty
import struct
import sys
import tempfile
import termios
import time
from pathlib import Path

from rclrt_analysis.arguments import positive, writable_file

MOST_PERCENT = 10.0
THREADS, CAPACITY = 4, 1024
TOP = (
    "from pathlib import Path; from rclrt_analysis.live.top_screen import Top; "
    "from rclrt_analysis.live.watch import Watch; "
    "Top(Watch([], 5 * 10**9, [Path({folder!r})]), 1.0, {seconds}).run(mouse=False)"
)


NEEDS = ()  # It runs nothing that is built.


def add_arguments(parser: argparse.ArgumentParser) -> None:
    """Declare the options."""
    parser.add_argument("--callbacks", type=positive, default=1000, help="(%(default)s)")
    parser.add_argument("--rate", type=positive, default=1000, help="jobs a second (%(default)s)")
    parser.add_argument("--seconds", type=positive, default=10, help="of a run (%(default)s)")
    parser.add_argument("--runs", type=positive, default=3, help="(%(default)s)")
    parser.add_argument("--json", type=writable_file, metavar="FILE", help="write the rows there")


def run(arguments: argparse.Namespace) -> int:
    """Measure, print, judge."""
    rows = []
    with tempfile.TemporaryDirectory() as name:
        Path(name).chmod(0o700)
        trace = LiveTrace(Path(name) / "cost.trace", arguments.callbacks)
        for _ in range(arguments.runs):
            short = _cpu_s(name, 1.0, trace, arguments.rate)
            long = _cpu_s(name, 1.0 + arguments.seconds, trace, arguments.rate)
            rows.append(100 * (long - short) / arguments.seconds)
            print(f"{rows[-1]:6.2f} % of a CPU, start and 1 s: {short:.2f} s", flush=True)
    worst = max(rows)
    if arguments.json:
        content = {"schema": 1, "cpu_percent": rows, "met": worst <= MOST_PERCENT}
        arguments.json.write_text(json.dumps(content, indent=1) + "\n", "utf-8")
    if worst > MOST_PERCENT:
        print(f"MISSED: at most {MOST_PERCENT:g} % of a CPU", file=sys.stderr)
        return 1
    return 0


class LiveTrace:
    """A live trace of this process with one ring a thread (rclrt_trace/SPEC.md)."""

    def __init__(self, path: Path, callbacks: int) -> None:
        from rclrt_analysis.live.files import read_process
        from rclrt_analysis.trace import layout

        fields = Path("/proc/self/stat").read_text(encoding="utf-8").rpartition(")")[2].split()
        namespace = Path("/proc/self/ns/pid").stat().st_ino
        pack, size = layout.CHUNK.pack, layout.RECORD.itemsize
        parts = [
            layout.HEADER.pack(layout.MAGIC, 2, size, bytes(16), 0, os.getpid(), 1, 2, 2, 0),
            pack(layout.CHUNK_PROCESS, layout.PROCESS.size + 8),
            layout.PROCESS.pack(namespace, int(fields[19]) % 2**32, 8) + b"topcost_",
        ]
        for key in range(callbacks):
            text = f"/node_{key:06}/timer/1000ms".encode().ljust(32, b"_")
            parts.append(pack(layout.CHUNK_CALLBACK, layout.ENTRY.size + len(text)))
            parts.append(layout.ENTRY.pack(key, key, 1, 1, 10**9, len(text), 0) + text)
        self._rings = []
        for _ in range(THREADS):
            parts.append(pack(layout.CHUNK_RING, layout.RING.size + CAPACITY * size))
            self._rings.append(sum(map(len, parts)))
            parts.append(layout.RING.pack(0, CAPACITY) + bytes(CAPACITY * size))
        path.write_bytes(b"".join(parts))
        self._stream = os.open(path, os.O_RDWR)
        assert read_process(self._stream) is not None
        self._callbacks, self._count, self._heads = callbacks, 0, [0] * THREADS

    def write(self, jobs: int) -> None:
        """Write so many jobs that have just ended."""
        from rclrt_analysis.trace import blank, layout

        now = time.monotonic_ns()
        one = blank(1)
        one["release_ns"], one["ready_ns"], one["start_ns"] = (
            now - 200_000,
            now - 190_000,
            now - 150_000,
        )
        one["end_ns"], one["deadline_ns"], one["cpu_ns"] = now, now + 10**6, 150_000
        one["policy"], one["priority"], one["cpus"] = layout.POLICY_FIFO, 80, 3
        for _ in range(jobs):
            ring = self._count % THREADS
            one["callback"], one["thread"] = self._count % self._callbacks, os.getpid()
            at = self._rings[ring] + layout.RING.size
            at += self._heads[ring] % CAPACITY * layout.RECORD.itemsize
            os.pwrite(self._stream, one.tobytes(), at)
            self._heads[ring] += 1
            os.pwrite(self._stream, layout.LOST.pack(self._heads[ring]), self._rings[ring])
            self._count += 1


def _cpu_s(folder: str, seconds: float, trace: LiveTrace, rate: int) -> float:
    child, screen = pty.fork()
    if child == 0:
        code = TOP.format(folder=folder, seconds=seconds)
        os.execve(sys.executable, [sys.executable, "-c", code], {**os.environ, "TERM": "xterm"})
    fcntl.ioctl(screen, termios.TIOCSWINSZ, struct.pack("HHHH", 40, 140, 0, 0))
    os.set_blocking(screen, False)
    begin, written = time.monotonic(), 0
    while True:
        due = int((time.monotonic() - begin) * rate)
        trace.write(due - written)
        written = due
        try:
            while os.read(screen, 1 << 16):
                pass
        except BlockingIOError:
            pass
        except OSError:  # It has closed its terminal.
            break
        time.sleep(0.01)
    _, status, used = os.wait4(child, 0)
    os.close(screen)
    if status:
        raise RuntimeError(f"top has ended with {os.waitstatus_to_exitcode(status)}")
    return used.ru_utime + used.ru_stime
