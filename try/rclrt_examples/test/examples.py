# Copyright 2026 The rclrt Authors
# SPDX-License-Identifier: Apache-2.0
"""Runs an example until its trace has what a test wants to see, reads the trace, and draws it.

    RCLRT_EXAMPLES_TRACES=traces pytest ...      # the tests keep their traces there
    examples.py traces > examples.svg            # needs the variables of the tests, too

A panel for each folder has some 300 ms: which callback had the CPU. A bar is a job, from its start
to its end. A more urgent one above it has the CPU meanwhile. On a serial line a bar is a message.
"""

import json
import os
import signal
import subprocess
import sys
import tempfile
import time
from collections.abc import Callable, Mapping, Sequence
from contextlib import suppress
from dataclasses import dataclass, field
from html import escape
from pathlib import Path

import pytest
from rclrt_tools.trace import TraceError, read_trace
from rclrt_tools.trace.layout import DONE, POLICIES

BUILD = Path(os.environ["RCLRT_BUILD_DIR"])
SOURCE = Path(os.environ["RCLRT_SOURCE_DIR"])
HERE = SOURCE / "try/rclrt_examples"
RUN_S = 2.0
BAUD = 115200
PATIENCE_S = 60.0
WIDTH, NAMES, ROW, MS, COLUMNS = 460, 150, 13, 300, 2
COLORS = {"fifo": "#0b6e99", "other": "#8a8f94"}
STYLE = (
    "text{font:9px sans-serif;fill:#333}.t{font-weight:bold;font-size:11px}"
    "@media(prefers-color-scheme:dark){text{fill:#ddd}}"
)


@dataclass(frozen=True)
class Job:
    """A job that has run, with the times of its record."""

    release: int
    start: int
    end: int
    policy: str
    priority: int

    def in_the_middle_of(self, other: "Job") -> bool:
        """Whether it was released in the first half of another one."""
        return other.start < self.release < (other.start + other.end) // 2


@dataclass
class Run:
    """What a run has left behind: jobs by callback, in the order of their start, and its output."""

    jobs: dict[str, list[Job]] = field(default_factory=dict)
    printed: str = ""


def program(name: str, file: str = "") -> Path:
    """Return an example's program, or another file of its, or skip the test and say why."""
    path = BUILD / "examples" / name / (file or name)
    if not path.exists():
        pytest.skip(f"{path} is not built: there is no rclcpp, or a sanitizer is in use")
    return path


def clean_environment() -> dict[str, str]:
    """Return one in which a program finds its libraries by itself, and nobody else hears it."""
    environment = dict(os.environ, ROS_AUTOMATIC_DISCOVERY_RANGE="LOCALHOST")
    for name in ("LD_LIBRARY_PATH", "PYTHONPATH", "AMENT_PREFIX_PATH", "RCLRT_CONFIGURATION"):
        environment.pop(name, None)
    return environment


def jobs_in(folder: Path) -> dict[str, list[Job]]:
    """Read all trace files of a folder as far as they are written, and what was on a line."""
    jobs: dict[str, list[Job]] = {}
    for path in folder.glob("*.trace"):
        with suppress(TraceError):  # It has no header yet.
            trace = read_trace(path)
            for record in trace.records[trace.records["outcome"] == DONE]:
                times = (int(record[name]) for name in ("release_ns", "start_ns", "end_ns"))
                job = Job(*times, POLICIES[record["policy"]], int(record["priority"]))
                jobs.setdefault(trace.callbacks[int(record["callback"])].name, []).append(job)
    for path in folder.glob("line.json"):
        for topic, end, number_of_bytes in json.loads(path.read_text(encoding="utf-8")):
            start = end - number_of_bytes * 10 * 1_000_000_000 // BAUD
            policy, priority = ("fifo", 1) if topic == "stop" else ("other", 0)
            jobs.setdefault(topic, []).append(Job(start, start, end, policy, priority))
    for of_one in jobs.values():
        of_one.sort(key=lambda job: job.start)
    return jobs


def kept_for_the_picture(name: str) -> Path | None:
    """Return where an example leaves what the picture needs, if that is asked for and not there."""
    keep = os.environ.get("RCLRT_EXAMPLES_TRACES")
    return kept if keep and not (kept := Path(keep) / name).exists() else None


def run(
    command: Sequence[str | Path],
    wants: Mapping[str, int],
    traces: Path,
    environment: Mapping[str, str] | None = None,
    once_started: Callable[[], None] = lambda: None,
) -> Run:
    """Run a command for two seconds, or longer until each callback has had so many jobs."""
    traces = kept_for_the_picture(Path(command[0]).name) or traces
    with (
        tempfile.TemporaryFile("w+") as output,
        subprocess.Popen(
            [str(word) for word in command],
            stdout=output,
            stderr=subprocess.STDOUT,
            env={**(environment or clean_environment()), "RCLRT_TRACE": str(traces)},
            start_new_session=True,  # So that all of it gets the Ctrl-C.
        ) as child,
    ):
        done = Run()
        try:
            once_started()
        except BaseException:
            os.killpg(child.pid, signal.SIGKILL)
            raise
        began = time.monotonic()
        while child.poll() is None and time.monotonic() < began + PATIENCE_S:
            time.sleep(0.5)
            done.jobs = jobs_in(traces)
            enough = all(len(done.jobs.get(name, ())) >= count for name, count in wants.items())
            if enough and time.monotonic() >= began + RUN_S:
                break
        with suppress(ProcessLookupError):  # It has ended.
            os.killpg(child.pid, signal.SIGINT)
        try:
            status = child.wait(PATIENCE_S)
        except subprocess.TimeoutExpired:
            os.killpg(child.pid, signal.SIGKILL)
            raise
        output.seek(0)
        done.printed = output.read()
        done.jobs = jobs_in(traces)
    assert status == 0, done.printed
    few = {name: len(done.jobs.get(name, ())) for name in wants}
    assert all(few[name] >= count for name, count in wants.items()), (few, done.printed)
    return done


def needs_real_time() -> None:
    """Skip the test where priorities are refused, and say so."""
    before = os.sched_getparam(0)
    try:
        os.sched_setscheduler(0, os.SCHED_FIFO, os.sched_param(1))
    except PermissionError:
        pytest.skip("real-time scheduling is refused: docs/how-to/real-time-permissions.md")
    os.sched_setscheduler(0, os.SCHED_OTHER, before)


def shown(name: str) -> bool:
    """Whether a callback is of the example: none that every node has."""
    return not any(word in name for word in ("parameter", "/clock", "type_desc", "_container"))


def panel(title: str, jobs: dict[str, list[Job]]) -> tuple[list[str], int]:
    """Return the lines of a panel and its height: the most urgent callback on top."""
    rows = {name: all_ for name, all_ in jobs.items() if shown(name)}
    order = sorted(rows, key=lambda name: -max(job.priority for job in rows[name]))
    # Around the longest job that has the most urgent callback near it.
    urgent = [job.start for job in rows[order[0]]]
    longest = max(
        (job for all_ in rows.values() for job in all_),
        key=lambda j: (any(abs(at - j.start) < MS * 400_000 for at in urgent), j.end - j.start),
    )
    began = (longest.start + longest.end) // 2 - MS * 500_000
    lines = [f'<text class="t" x="0" y="10">{escape(title)}</text>']
    scale = (WIDTH - NAMES - 10) / (MS * 1e6)
    for row, name in enumerate(order):
        y = 16 + row * ROW
        short = name if len(name) < 32 else name[:12] + "…" + name[-18:]
        lines.append(f'<text x="0" y="{y + 9}">{escape(short)}</text>')
        bars: dict[str, str] = {}
        for job in rows[name]:
            start, end = (max(0.0, (t - began) * scale) for t in (job.start, job.end))
            if end == 0 or start > WIDTH - NAMES - 10:
                continue
            width = max(1.2, min(end, WIDTH - NAMES - 10) - start)
            bar = f"M{NAMES + start:.1f} {y + 2}h{width:.1f}v{ROW - 4}h-{width:.1f}z"
            color = COLORS.get(job.policy, "#8a8f94")
            bars[color] = bars.get(color, "") + bar
        lines += [f'<path fill="{color}" d="{bar}"/>' for color, bar in bars.items()]
    return lines, 16 + len(order) * ROW + 14


def main() -> None:
    """Print the picture of the folders below the argument."""
    panels = [(p.name, jobs_in(p)) for p in sorted(Path(sys.argv[1]).iterdir()) if p.is_dir()]
    drawn = [panel(name, jobs) for name, jobs in panels if jobs]
    y, body = 0, []
    for first in range(0, len(drawn), COLUMNS):
        row = drawn[first : first + COLUMNS]
        for column, (lines, _) in enumerate(row):
            body += [f'<g transform="translate({column * WIDTH + 5} {y + 4})">', *lines, "</g>"]
        y += max(height for _, height in row)
    size = f'width="{COLUMNS * WIDTH}" height="{y + 4}" viewBox="0 0 {COLUMNS * WIDTH} {y + 4}"'
    print(f'<svg xmlns="http://www.w3.org/2000/svg" {size}><style>{STYLE}</style>')
    print("\n".join(body))
    print("</svg>")


if __name__ == "__main__":
    main()
