# Copyright 2026 The rclrt Authors
# SPDX-License-Identifier: Apache-2.0
"""Systems as graphs for rclrt_core/test/graph_on_threads.cpp, and what it saw of them.

A machine takes its CPUs away now and then: its host, interrupts, other programs. So jobs are judged
by the time in which a CPU was busy without a break, from the moment when nothing waited. In it the
jobs burn a known CPU time. What is left was the engine's work, or was taken away. If that is more
than the model allows (`SLACK` and `LEAST` for each job), its jobs are discarded, and counted.
"""

import os
import random
import re
import subprocess
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass, field
from pathlib import Path

import pytest
from rclrt_analysis.bounds.activation import LOWEST_DERIVED, urgencies
from rclrt_analysis.bounds.demotion import accounts
from rclrt_analysis.model import (
    Callback,
    Executor,
    ExecutorKind,
    Kind,
    Overheads,
    Policy,
    System,
)
from rclrt_tools.trace import DONE, read_trace

MS = 1_000_000
RUN_MS = 800
"""Less than the share of a second that the kernel leaves to real-time threads."""

LEAST = 5_000
"""What a job costs the engine at least, ns: so much lies outside of another's window."""
SLACK = 400_000
"""What may be left of a busy time beyond that, ns."""
OVERHEADS = Overheads(dispatch=LEAST + SLACK)
"""Each job's bound allows for its own: so a window in which no more was left keeps its bound."""

BREAK = 20_000
"""Longer without work is a break, ns."""

MODELS = {
    ExecutorKind.PREEMPTIVE: "preemptive",
    ExecutorKind.ISOLATED: "isolated",
    ExecutorKind.PRIORITY_EVENTS: "priority_events",
}
EVENTS_THREAD = 50
"""Priority of an events executor's thread; those of its callbacks are ranks."""

LOWEST_FIFO = 2
"""A callback that inherits begins with it; 1 has the thread that takes the rest of a CPU."""

Span = tuple[int, int]


@dataclass
class Seen:
    """Observed responses by callback, from the nominal release of timers, ns."""

    responses: dict[str, list[int]] = field(default_factory=dict)
    jobs: int = 0
    discarded: int = 0

    def add(self, other: "Seen") -> None:
        self.jobs += other.jobs
        self.discarded += other.discarded


def graph(system: System, rng: random.Random, publishes_at: float | None = None) -> str:
    """Return the text of a system: each job burns its `wcet`, messages leave anywhere inside.

    publishes_at: After which share of the job, instead.
    """
    together = rng.random() < 0.5
    readers: dict[str, list[str]] = {}
    for callback in system.callbacks:
        for topic in callback.triggers:
            readers.setdefault(topic, []).append(callback.name)
    urgency = urgencies(system)
    lines = []
    for executor in system.executors:
        kind = MODELS[executor.kind]
        cores = " ".join(map(str, executor.cores))
        policy = "edf" if executor.policy is Policy.EDF else "fixed_priority"
        lines.append(f"engine {kind} {policy} {cores}")
        lines += [f"shared {g} {b.runtime} {b.period}" for g, b in executor.budgets]
        for callback in system.members(executor.name):
            first = MS if together else rng.randint(1, callback.period or 1)
            lines += _callback(callback, executor, first, urgency[callback.name])
            released = [name for topic in callback.publishes for name in readers.get(topic, ())]
            share = rng.random() if publishes_at is None else publishes_at
            share = max(share, callback.publish_least / max(1, callback.wcet))
            lines += _steps(callback, released, share)
    return "\n".join(lines) + "\n"


def _callback(callback: Callback, executor: Executor, first: int, urgency: int) -> list[str]:
    """Return the lines of a callback: its own priority, or one to begin with and to inherit."""
    events = executor.kind is ExecutorKind.PRIORITY_EVENTS
    derived = executor.policy in (Policy.RM, Policy.DM)
    inherits = callback.priority is None and callback.kind is not Kind.TIMER
    rank = urgency if not inherits else LOWEST_DERIVED if derived else LOWEST_FIFO
    fifo = EVENTS_THREAD if events else rank
    lines = [
        f"callback {callback.name} {callback.group or callback.name} {rank if events else 0} "
        f"{fifo} {callback.deadline or 0} {int(inherits)}"
    ]
    if callback.budget is not None:
        lines.append(f"budget {callback.budget.runtime} {callback.budget.period}")
    if callback.period is not None:
        lines.append(f"timer {callback.period} {first}")
    return lines


def _steps(callback: Callback, released: Sequence[str], share: float) -> list[str]:
    before = int(callback.wcet * share)
    return [
        f"burn {before}",
        *(f"release {name}" for name in released),
        f"burn {callback.wcet - before}",
    ]


def run_on_engine(system: System, text: str, folder: Path) -> Seen:
    """Run a graph; return the responses of the jobs that nothing has disturbed.

    Skips, with the reason, where the program is missing or real time is not permitted.
    """
    program = Path(os.environ.get("RCLRT_BUILD_DIR", "/")) / "rclrt_core" / "graph_on_threads"
    if not program.exists():
        pytest.skip(f"{program} has not been built")
    done = subprocess.run(
        [str(program), str(RUN_MS), str(folder)],
        input=text,
        capture_output=True,
        text=True,
        timeout=60,
        check=False,
    )
    if done.returncode == 77:
        pytest.skip(done.stdout.strip())
    assert done.returncode == 0, f"{done.stdout}\n{done.stderr}\n{text}"
    begin, end = 0, 0
    gaps: list[Span] = []
    ran: list[Span] = []
    for line in done.stdout.splitlines():
        word, first, last = line.split()
        if word == "gap":
            gaps.append((int(first), int(last)))
        elif word == "limited":
            ran.append((int(first), int(last)))
        else:
            begin, end = int(first), int(last)
    limited = accounts(system)
    others = {name for account in limited for name in account.members}
    jobs = []
    for i in range(len(system.executors)):
        trace = read_trace(folder / f"{i}.trace")
        assert trace.dropped == 0
        fields = ["callback", "release_ns", "end_ns", "outcome"]
        for number, release, ended, outcome in trace.jobs[fields].tolist():
            name = trace.names[number]
            if name in others:
                continue  # It may have lost releases, and waits in the background.
            assert outcome == DONE
            if begin <= release and ended <= end:
                jobs.append((name, release, ended))
    wcet = {c.name: c.wcet for c in system.callbacks}
    return judge(jobs, gaps, wcet, ran)


def judge(
    jobs: Sequence[tuple[str, int, int]],
    gaps: Iterable[Span],
    wcet: Mapping[str, int],
    limited: Sequence[Span] = (),
) -> Seen:
    """Return the responses of those jobs whose busy time held nothing but what is allowed.

    jobs: Name, release and end of each.
    gaps: When a CPU was busy; on several CPUs at once there are several.
    limited: When what has a budget ran: however long that was, nothing has disturbed.
    """
    seen = Seen(jobs=len(jobs))
    busy: list[tuple[int, int, int]] = []  # Begin, end, sum over the CPUs.
    # A job that waits while a CPU idles belongs to the busy time all the same.
    spans = [(b, e, e - b) for b, e in gaps] + [(release, end, 0) for _, release, end in jobs]
    for begin, end, work in sorted(spans):
        if busy and begin - busy[-1][1] <= BREAK:
            busy[-1] = (busy[-1][0], max(busy[-1][1], end), busy[-1][2] + work)
        else:
            busy.append((begin, end, work))
    left = sorted(jobs, key=lambda job: job[1], reverse=True)
    for since, until, work in busy:
        mine = []
        while left and left[-1][1] <= until:
            mine.append(left.pop())
        rest = work - sum(wcet[name] for name, _, _ in mine)
        rest -= sum(max(0, min(until, end) - max(since, begin)) for begin, end in limited)
        if rest > LEAST * len(mine) + SLACK:
            seen.discarded += len(mine)
            continue
        for name, release, end in mine:
            seen.responses.setdefault(name, []).append(end - release)
    return seen


def seen_at_least(count: int, name: str, system: System, text: str, folder: Path) -> Seen:
    """Run a graph; skip if the machine disturbed all but a few of the jobs of a callback."""
    seen = run_on_engine(system, text, folder)
    if len(seen.responses.get(name, ())) < count:
        pytest.skip(f"the machine disturbed {seen.discarded} of {seen.jobs} jobs")
    return seen


def released_at(text: str, *first_ms: int) -> str:
    """Return the text of a graph with these first releases of its timers."""
    first = iter(first_ms)
    return re.sub(r"timer (\d+) \d+", lambda m: f"timer {m[1]} {next(first) * MS}", text)
