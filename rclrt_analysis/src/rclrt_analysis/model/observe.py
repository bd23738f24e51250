# Copyright 2026 The rclrt Authors
# SPDX-License-Identifier: Apache-2.0
"""A model from the job records of a running system.

What was observed is not what is possible: the longest execution seen is no worst case, the shortest
gap no period, and an edge is a guess from times. The model says so in its first lines.
"""

from __future__ import annotations

from collections import Counter
from dataclasses import dataclass

import numpy as np
import numpy.typing as npt

from rclrt_analysis.trace import DONE, Records, Trace

Ints = npt.NDArray[np.int64]

MIN_JOBS = 3
SAME = 0.95
"""Share of a callback's releases that must fall into jobs of another to take that for its cause."""


@dataclass(frozen=True)
class Observed:
    """What the records say about one callback; times in ns.

    Attributes
    ----------
    period
        Of the grid that all releases lie on, or the least gap between two.
    timer
        Whether they lie on a grid.
    cause
        The callback whose jobs publish what releases it; "" if none was found.
    preempted
        Jobs of unknown or unwanted preemptions: their time from start to end counts as execution,
        which is longer than it was.
    """

    name: str
    jobs: int
    longest: int
    shortest: int
    period: int
    timer: bool
    cause: str
    preempted: int


def observe(trace: Trace) -> list[Observed]:
    """Return what the records say about each callback that ran at least `MIN_JOBS` times.

    Callbacks of the same name get their id added.
    """
    records = trace.records[trace.records["outcome"] == DONE]
    by_callback = {
        key: np.sort(records[records["callback"] == key], order="release_ns") for key in trace.names
    }
    enough = {key: mine for key, mine in by_callback.items() if len(mine) >= MIN_JOBS}
    timers = {key: _grid(mine["release_ns"].astype(np.int64)) for key, mine in enough.items()}
    times = Counter(trace.names.values())
    names = {key: n if times[n] == 1 else f"{n} #{key}" for key, n in trace.names.items()}
    found = []
    for key, mine in enough.items():
        execution = mine["end_ns"] - mine["start_ns"]
        grid = timers[key]
        apart = np.diff(mine["release_ns"].astype(np.int64))
        cause = None if grid else _cause(key, mine, enough)
        found.append(
            Observed(
                names[key],
                len(mine),
                int(execution.max()),
                int(execution.min()),
                grid or max(1, int(apart.min())),
                bool(grid),
                "" if cause is None else names[cause],
                int((mine["preemptions"] != 0).sum()),
            )
        )
    return found


def _grid(release: Ints) -> int:
    """Return the period of a grid that all releases lie on exactly, or 0.

    The grid of a timer is exact. A gap is a skipped timestamp, or a record that is missing.
    """
    apart = np.diff(release)
    least = int(apart.min())
    return least if least > 0 and np.all(apart % least == 0) else 0


def _cause(key: int, mine: Records, every: dict[int, Records]) -> int | None:
    """Return the id of the callback during whose jobs, or right after, this one is released."""
    release = mine["release_ns"].astype(np.int64)
    best: int | None = None
    best_late = 2**62
    for other, jobs in every.items():
        if other == key:
            continue
        start = np.sort(jobs["start_ns"].astype(np.int64))
        end = np.sort(jobs["end_ns"].astype(np.int64))
        at = np.searchsorted(start, release, side="right") - 1
        inside = (at >= 0) & (release - end[np.maximum(at, 0)] <= 0)
        if inside.mean() >= SAME:
            late = int(np.abs(end[at[inside]] - release[inside]).mean())
            if late < best_late:
                best, best_late = other, late
    return best


def to_yaml(trace: Trace, name: str, kind: str = "priority_events", policy: str = "rm") -> str:
    """Return a model of all callbacks on one executor.

    Raises
    ------
    ValueError
        No callback has enough records.
    """
    observed = observe(trace)
    if not observed:
        raise ValueError(f"no callback has {MIN_JOBS} jobs that ended")
    publishers = {callback.cause for callback in observed}
    names = {callback.name for callback in observed}
    lines = [
        "# OBSERVED, NOT GUARANTEED: wcet_ms is the longest execution in a trace, which is no",
        "# worst case; period_ms of what is no timer is the least gap seen; triggers are guessed.",
        "# Priorities, groups and CPUs are not in a trace: say them here before you analyze this.",
        f"# {sum(c.jobs for c in observed)} jobs; {trace.dropped} records were dropped.",
        "schema: 1",
        f'name: "{_quoted(name)}"',
        f"executors: [{{name: executor, kind: {kind}, policy: {policy}}}]",
        "callbacks:",
    ]
    for callback in observed:
        quoted = _quoted(callback.name)
        lines += [
            f'  - name: "{quoted}"  # {callback.jobs} jobs'
            + (f", {callback.preempted} perhaps preempted" if callback.preempted else ""),
            f"    kind: {'timer' if callback.timer else 'subscription'}",
            "    executor: executor",
            f"    wcet_ms: {callback.longest / 1e6:.6f}",
            f"    bcet_ms: {callback.shortest / 1e6:.6f}",
        ]
        if callback.cause in names:
            lines.append(f'    triggers: ["from {_quoted(callback.cause)}"]')
        else:
            lines.append(f"    period_ms: {callback.period / 1e6:.6f}")
        if callback.name in publishers:
            lines.append(f'    publishes: ["from {quoted}"]')
    return "\n".join(lines) + "\n"


def _quoted(text: str) -> str:
    return text.replace("\\", "\\\\").replace('"', '\\"')
