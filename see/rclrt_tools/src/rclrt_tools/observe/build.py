# Copyright 2026 The rclrt Authors
# SPDX-License-Identifier: Apache-2.0
"""From records to a model, with the reasons why nothing may be proved with it, if there are any."""

from collections import Counter
from collections.abc import Sequence
from typing import Any

import numpy as np
from rclrt_analysis.model import in_ms

from rclrt_tools.observe.causes import Causes, causes_of, roots_of
from rclrt_tools.observe.joins import join, joins_of
from rclrt_tools.observe.parts import Ints, Key, Observed, Part
from rclrt_tools.observe.scheduling import Scheduled, scheduling_of
from rclrt_tools.observe.times import BY_PRIORITY, arrivals, grid, idle_of, late_of, taken_of
from rclrt_tools.trace import NO_DEADLINE, Records, layout
from rclrt_tools.trace.layout import LONGEST

KINDS = {
    layout.KIND_SUBSCRIPTION: "subscription",
    layout.KIND_SERVICE: "service",
    layout.KIND_CLIENT: "client",
}
MOST_NAME = 150
LEAST, MIDDLE, USUAL = 0.05, 0.5, 0.99
"""Shares of the times that jobs were ready while nothing ran: what each dispatch costs at least,
what is usual, and what is no exception."""
CLOCKS_NS = 100_000
"""Timers of rcl go by a clock that is a little faster or slower than that of the records."""


class Builder:
    """Everything known while a model is made."""

    def __init__(self, parts: Sequence[Part], executor: str, with_idle: bool) -> None:
        self.parts = parts
        self.doubts: list[str] = []
        self.scheduling: list[str] = []
        self.names = _names(parts)
        self.timers: dict[Key, int] = {}
        self.releases = [
            (mine["release_ns"], mine["end_ns"]) for part in parts for mine in part.ran.values()
        ]
        for i, part in enumerate(parts):
            self._check_part(part)
            self._find_timers(i, part)
        self.idle = idle_of(parts)
        nothing = {key: np.zeros_like(times) for key, times in self.idle.items()}
        if not with_idle:
            self.idle = nothing
        every = np.concatenate([np.zeros(0, np.int64), *self.idle.values()])
        every.sort()
        self.taken = taken_of(parts, share_of(every, LEAST)) if with_idle else None
        # What is no exception. Longer times are told of the callbacks that had them, or taken.
        self.dispatch = share_of(every, USUAL if self.taken is None else MIDDLE)
        self.late = late_of(parts) if with_idle else nothing
        if with_idle and self.taken is None:  # How late is not told apart from what kept them.
            self.late = {
                (i, id_): np.maximum(mine["ready_ns"] - mine["release_ns"], 0)
                for i, part in enumerate(parts)
                for id_, mine in part.ran.items()
            }
        else:  # The times in which nothing ran are in there.
            self.idle = nothing
        self.causes: Causes = causes_of(parts, set(self.timers), with_idle)
        if self.causes.circle:
            names = ", ".join(self.names[key] for key in self.causes.circle)
            self.doubts.append(f"callbacks release each other in a circle, among them {names}")
        for key, executors in self.causes.missing.items():
            self.doubts.append(
                f"'{self.names[key]}' is released by executor {executors[0]} of its process, whose "
                "trace is not among these"
            )
        self.scheduled: dict[Key, Scheduled] = {}
        self.executors: list[dict[str, Any]] = []
        labels = Counter(part.name for part in parts)
        for i, part in enumerate(parts):
            timers = {id_ for j, id_ in self.timers if i == j}
            label = part.name[:MOST_NAME] + (f" #{i}" if labels[part.name] > 1 else "")
            if not part.ran:
                continue  # Publications outside of callbacks, and callbacks that never ran.
            scheduled = scheduling_of(part, label, timers, self.names_of(i), executor)
            self.executors += scheduled.executors
            self.scheduling += scheduled.doubts
            self.scheduled |= {(i, id_): one for id_, one in scheduled.callbacks.items()}

    def names_of(self, part: int) -> dict[int, str]:
        """Return the names in the model of one part's callbacks."""
        return {id_: name for (i, id_), name in self.names.items() if i == part}

    def _check_part(self, part: Part) -> None:
        if part.dropped:
            self.doubts.append(
                f"{part.dropped} records of {part.name} are missing: raise trace_capacity"
            )
        if part.wrong:
            self.doubts.append(f"{part.wrong} records of {part.name} contradict themselves")

    def _find_timers(self, number: int, part: Part) -> None:
        for id_, jobs in part.ran.items():
            entry = part.callbacks[id_]
            key = (number, id_)
            seen = grid(jobs["release_ns"])
            unsaid = entry.kind == layout.KIND_UNKNOWN
            if entry.kind == layout.KIND_TIMER and 0 < entry.period_ns <= LONGEST:
                self.timers[key] = entry.period_ns
                apart = int(np.diff(jobs["release_ns"]).min()) if len(jobs) > 1 else LONGEST
                if apart < entry.period_ns - CLOCKS_NS - entry.period_ns // 100:
                    self.doubts.append(
                        f"'{self.names[key]}' came after {in_ms(apart)} ms, its period was "
                        f"{in_ms(entry.period_ns)} ms: somebody has changed it"
                    )
            elif entry.kind == layout.KIND_TIMER or (unsaid and seen and len(jobs) > 2):
                self.timers[key] = min(LONGEST, seen or max(1, self.span))
                self.doubts.append(f"the period of '{self.names[key]}' is not in the trace")
            elif unsaid:
                self.doubts.append(f"nobody knows of what kind '{self.names[key]}' is")

    @property
    def span(self) -> int:
        """From the first release to the last end, ns."""
        first = min((int(release.min()) for release, _ in self.releases), default=0)
        return max((int(end.max()) for _, end in self.releases), default=0) - first

    def callback(self, key: Key, jobs: Records) -> tuple[dict[str, Any], str]:
        """Return a callback of the model, and a remark."""
        part = self.parts[key[0]]
        name = self.names[key]
        remarks = [f"{len(jobs)} jobs"]
        measured = jobs["cpu_ns"][jobs["cpu_ns"] >= 0]
        if len(measured) < len(jobs):
            remarks.append(f"{len(jobs) - len(measured)} of them not measured")
        if not len(measured):
            self.doubts.append(f"the execution time of no job of '{name}' was measured")
            measured = jobs["end_ns"] - jobs["start_ns"]
        wcet, bcet = int(measured.max()), int(measured.min())
        times = self._releases(key, jobs, remarks)
        late = max(0, int(self.idle[key].max()) - self.dispatch)
        if late and "triggers" in times:
            wcet += late
            remarks.append(f"wcet_ms with {in_ms(late)} in which it was ready and nothing ran")
        period = times.get("period_ms")
        if period is not None and wcet > period:
            self.doubts.append(f"'{name}' takes longer than the time between its releases")
            wcet, bcet = period, min(bcet, period)
        item: dict[str, Any] = {"name": name, "kind": self._kind(key, part.callbacks[key[1]].kind)}
        item |= self.scheduled[key].fields
        item |= {"wcet_ms": wcet, "bcet_ms": bcet} | times
        deadline = _deadline(jobs)
        if deadline is not None:
            item["deadline_ms"] = deadline
        elif self.scheduled[key].by_deadline and "period_ms" in times:
            self.doubts.append(
                f"jobs of '{name}' go by deadlines, and not all of them had the same or any"
            )
        lost = part.lost.get(key[1], jobs[:0])
        if len(lost):
            remarks.append(f"{int(lost['jobs'].sum())} more did not run")
            if key not in self.timers:
                self.doubts.append(f"jobs of '{name}' were dropped or skipped")
        return item, ", ".join(remarks)

    def _kind(self, key: Key, kind: int) -> str:
        return "timer" if key in self.timers else KINDS.get(kind, "subscription")

    def _releases(self, key: Key, jobs: Records, remarks: list[str]) -> dict[str, Any]:
        """Return what the model says of releases and publications; times in ns."""
        found: dict[str, Any] = {}
        if key in self.timers:
            found["period_ms"] = self.timers[key]
            found["assumptions"] = {"period_ms": {"origin": "stated"}}  # By the program.
            delay = np.maximum(self.idle[key] - self.dispatch, 0) + self.late[key]
            found["jitter_ms"] = min(LONGEST, int(delay.max()))
        elif key in self.causes.outside:
            release = self.causes.outside[key]
            period, jitter = arrivals(release, self.span)
            found["period_ms"] = min(period, LONGEST)
            late = max(0, int(self.idle[key].max()) - self.dispatch)
            found["jitter_ms"] = min(jitter + late, LONGEST)
            remarks.append(f"{len(release)} releases from outside")
            if self.causes.unknown[key]:
                self.doubts.append(f"nobody knows what released jobs of '{self.names[key]}'")
        triggers = [
            topic
            for (source, target), times in self.causes.edges.items()
            if target == key
            for topic in self._topics(source, target, times)
        ]
        publishes = [
            topic
            for (source, target), times in self.causes.edges.items()
            if source == key
            for topic in self._topics(source, target, times)
        ]
        if triggers:
            found["triggers"] = triggers
        if publishes:
            found["publishes"] = publishes
        if not found.get("jitter_ms"):
            found.pop("jitter_ms", None)
        return found

    def _topics(self, source: Key, target: Key, times: int) -> list[str]:
        """Return a topic for each job that one job of `source` releases of `target`."""
        ends = [self.names[key] for key in (source, target)]
        if max(len(name) for name in ends) > MOST_NAME // 2:
            ends = [f"#{number}/{id_}" for number, id_ in (source, target)]
        return [" to ".join(ends) + (f" #{n}" if n else "") for n in range(times)]


def share_of(ordered: Ints, share: float) -> int:
    """Return the time that this share of all is below; 0 without any."""
    return int(ordered[int(len(ordered) * share)]) if len(ordered) else 0


def _deadline(jobs: Records) -> int | None:
    """Return the relative deadline if all jobs have the same."""
    due = jobs["deadline_ns"]
    if np.any(due == NO_DEADLINE) or np.any(np.abs(due) >= 2**61):
        return None
    relative = due - jobs["release_ns"]
    first = int(relative[0])
    return first if 0 < first <= LONGEST and np.all(relative == first) else None


def _names(parts: Sequence[Part]) -> dict[Key, str]:
    """Return names that are all different and no longer than a model may have."""
    plain = {
        (i, id_): entry.name[:MOST_NAME] or f"callback {id_}"
        for i, part in enumerate(parts)
        for id_, entry in part.callbacks.items()
    }
    times = Counter(plain.values())
    used: set[str] = set()
    for key, name in plain.items():
        if times[name] > 1 or name in used:
            plain[key] = f"{name} #{key[1]}"
            if plain[key] in used:
                plain[key] = f"{name} #{key[0]}/{key[1]}"
        used.add(plain[key])
    return plain


def build(
    parts: Sequence[Part],
    name: str,
    executor: str,
    with_idle: bool = True,
    with_ways: bool = False,
) -> Observed:
    """Return the model; see `rclrt_tools.observe.observe`.

    with_idle: Whether times in which jobs were not ready, or were and none ran, are in the model,
        and the longest way of a message. They are those of other programs, above all.
    with_ways: Whether it says how long jobs took since the release of what has led to them.
    """
    builder = Builder(parts, executor, with_idle)
    observed = Observed({"name": name[:MOST_NAME] or "observed"})
    callbacks = []
    for i, part in enumerate(parts):
        for id_ in part.callbacks:
            jobs = part.ran.get(id_)
            if jobs is None:
                observed.silent.append(builder.names[i, id_])
                continue
            item, remark = builder.callback((i, id_), jobs)
            callbacks.append(item)
            observed.remarks.append(remark)
            observed.jobs += len(jobs)
            longest = int((jobs["end_ns"] - jobs["release_ns"]).max())
            observed.responses[item["name"]] = longest
            if set(np.unique(jobs["policy"])) <= BY_PRIORITY:
                observed.priorities[item["name"]] = int(jobs["priority"].min())
    if with_ways:
        for (i, id_), roots in roots_of(parts, set(builder.timers), builder.causes):
            longest = int((parts[i].ran[id_]["end_ns"] - roots).max())
            observed.ways[builder.names[i, id_]] = longest
    overheads = {
        "dispatch_ms": builder.dispatch,
        "transport_ms": builder.causes.transport,
    }
    if builder.taken is not None and builder.taken[0]:
        overheads["stolen_ms"], overheads["window_ms"] = builder.taken
    observed.doubts = list(dict.fromkeys(builder.doubts))
    observed.content |= {
        "no_verdict": list(dict.fromkeys(builder.doubts + builder.scheduling)),
        "overheads": {key: min(value, LONGEST) for key, value in overheads.items() if value},
        "executors": builder.executors,
        "callbacks": callbacks,
    }
    for i, part in enumerate(parts):
        for found in joins_of(part):
            join(observed, found, builder.names_of(i))
    return observed
