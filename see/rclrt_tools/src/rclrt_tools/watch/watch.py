# Copyright 2026 The rclrt Authors
# SPDX-License-Identifier: Apache-2.0
"""The watch over a system: fed with records, asked for its verdict."""

from collections.abc import Iterable, Mapping
from typing import Any

from rclrt_analysis.bounds.analyse import analyse
from rclrt_analysis.model import System
from rclrt_analysis.plan.placement import NAME as TIMER_THREAD
from rclrt_tools.live.files import printable
from rclrt_tools.places import me
from rclrt_tools.statistics import percentile
from rclrt_tools.trace.layout import Entry, Header, Records
from rclrt_tools.watch.assumptions import Assumptions, Names
from rclrt_tools.watch.chains import ChainWatch, shown_state
from rclrt_tools.watch.feed import Job, read

NS_PER_MS = 1e6
FIRST_JOB = 1
"""An engine counts its jobs from 0, the simulator from 1."""


class Watch:
    """A system and what has been seen of it."""

    def __init__(self, system: System) -> None:
        self.system = system
        self.result = analyse(system)
        self.chains = [ChainWatch(system, chain) for chain in system.chains]
        self.assumptions = Assumptions(system, self.result)
        self.lost_records = 0
        self.names = Names(system)
        self._whole: dict[tuple[bytes, int, int], bool] = {}

    def add(self, header: Header, callbacks: Mapping[int, Entry], records: Records) -> None:
        """Take records of one executor."""
        if not len(records):
            return
        jobs, publications = read(header, callbacks, records, self.names.of)
        self.assumptions.add(jobs)
        key = (header.boot_id, header.process, header.executor)
        begins = int(records["sequence"].min()) <= FIRST_JOB
        whole = self._whole.setdefault(key, begins)
        jobs_of: dict[str, list[Job]] = {}
        for job in jobs:
            jobs_of.setdefault(job.callback, []).append(job)
        for chain in self.chains:
            its = [job for name in chain.chain.callbacks for job in jobs_of.get(name, ())]
            chain.add(its, publications, whole)

    def settle(self, until: int) -> None:
        """Judge what has ended by then; of that nothing more comes."""
        self.assumptions.settle(until)
        bounds = {one.name: one.bound for one in self.result.chains}
        for chain in self.chains:
            chain.settle(until)
            if chain.seen.worst is not None:
                name = chain.chain.name
                self.assumptions.chain(name, chain.seen.worst, bounds[name])

    @property
    def missed(self) -> bool:
        """Whether a deadline was missed, of a chain or of a callback."""
        seen = self.assumptions.seen.values()
        return any(c.seen.misses for c in self.chains) or any(one.misses for one in seen)

    @property
    def is_proved(self) -> bool:
        """Whether all bounds exist, and nothing that they rest on was seen to be wrong."""
        return self.result.met and not self.assumptions.broken and not self.unseen

    @property
    def unseen(self) -> str:
        """What was not seen, so that nothing can be said of it; empty: all was."""
        silent = [
            watch.chain.name
            for watch in self.chains
            if not (watch.seen.count or watch.seen.left_out)
        ]
        if not any(one.jobs for one in self.assumptions.seen.values()):
            return "no callback of the model was seen"
        if silent:
            return f"nothing came out of {_some(silent)}"
        return f"{self.lost_records} records are missing" if self.lost_records else ""

    def to_json(self) -> dict[str, Any]:
        """Return everything, times in ms; schema 1."""
        bounds = {one.name: one for one in self.result.chains}
        of_callback = {one.name: one for one in self.result.callbacks}
        chains = []
        for watch in self.chains:
            seen, bound = watch.seen, bounds[watch.chain.name]
            values = list(seen.values)
            chains.append(
                {
                    "name": watch.chain.name,
                    "semantics": watch.chain.semantics,
                    "state": watch.state,
                    "proved": bound.met if self.is_proved and bound.met is not None else False,
                    "deadline_ms": _ms(watch.chain.deadline),
                    "bound_ms": _ms(bound.bound),
                    "count": seen.count,
                    "last_ms": _ms(seen.last),
                    "p50_ms": _ms(_percentile(values, 0.5)),
                    "p99_ms": _ms(_percentile(values, 0.99)),
                    "worst_ms": _ms(seen.worst),
                    "misses": seen.misses,
                    "in_a_row": seen.in_a_row,
                    "most_in_a_row": seen.most_in_a_row,
                    "left_out": seen.left_out,
                    "silences": seen.silences,
                    "silent": watch.is_silent,
                }
            )
        callbacks = [
            {
                "name": name,
                "jobs": seen.jobs,
                "worst_ms": _ms(seen.worst if seen.jobs else None),
                "bound_ms": _ms(of_callback[name].bound),
                "deadline_ms": _ms(of_callback[name].deadline),
                "misses": seen.misses,
                "longest_execution_ms": _ms(seen.longest if seen.longest >= 0 else None),
                "not_run": seen.lost,
            }
            for name, seen in self.assumptions.seen.items()
        ]
        broken = [
            {"callback": b.callback, "what": b.kind, "text": b.text, "times": b.times,
             "chains": list(b.chains)}
            for b in self.assumptions.broken.values()
        ]  # fmt: skip
        return {
            "schema": 1,
            "system": self.system.name,
            "proved": self.is_proved,
            "missed": self.missed,
            "lost_records": self.lost_records,
            "chains": chains,
            "callbacks": callbacks,
            "broken_assumptions": broken,
            "not_in_the_model": sorted(self.assumptions.strangers),
        }


def _percentile(values: Iterable[int], fraction: float) -> int | None:
    found = percentile(sorted(values), fraction)
    return None if found is None else int(found)


def _ms(ns: int | None) -> float | None:
    return None if ns is None else ns / NS_PER_MS


TIGHT = 0.2
"""Less slack than this share of the deadline is tight."""

RED, YELLOW, GREEN, PLAIN = "\033[31m", "\033[33m", "\033[32m", "\033[0m"


def _tone(chain: Mapping[str, Any]) -> str:
    """Return the colour of what is left to the deadline of a chain; none without one."""
    deadline, worst = chain["deadline_ms"], chain["worst_ms"]
    if chain["misses"] or chain["silent"]:
        return RED
    if deadline is None or worst is None:
        return ""
    return GREEN if deadline - worst >= TIGHT * deadline else YELLOW


def to_text(watch: Watch, colored: bool = False) -> str:
    """Return what people want to know: chains first, then what is wrong."""
    rows: list[tuple[str, ...]] = [
        ("chain", "state", "deadline", "bound", "last", "p99", "worst", "slack", "n", "misses")
    ]
    content = watch.to_json()
    for chain in content["chains"]:
        deadline, worst = chain["deadline_ms"], chain["worst_ms"]
        slack = None if deadline is None or worst is None else deadline - worst
        ms = (deadline, chain["bound_ms"], chain["last_ms"], chain["p99_ms"], worst, slack)
        rows.append(
            (
                chain["name"],
                shown_state(chain),
                *map(_text, ms),
                str(chain["count"]),
                str(chain["misses"]),
            )
        )
    lines = _table(rows) if len(rows) > 1 else ["the model has no chains"]
    tones = ["", *map(_tone, content["chains"])] if colored else []
    for chain in content["chains"]:
        if chain["state"] == "NOT LAST":
            text = (
                f"{chain['left_out']} outputs used its data, and each time another input came last"
            )
            lines.append(f"'{chain['name']}': {text}: join: last counts none of them")
    late = [c for c in content["callbacks"] if c["misses"]]
    for one in sorted(late, key=lambda c: -c["misses"]):
        lines.append(f"late: '{one['name']}' {one['misses']} of {one['jobs']} jobs")
    for broken in content["broken_assumptions"]:
        times = f" ({broken['times']} times)" if broken["times"] > 1 else ""
        lines.append(f"not as in the model: '{broken['callback']}' {broken['text']}{times}")
        if broken["chains"]:
            lines.append(f"    chains: {', '.join(broken['chains'])}")
    # What a plan counts for the thread of timers has no jobs.
    real = (c.name for c in watch.system.callbacks if c.executor != TIMER_THREAD)
    unseen = [name for name in real if not watch.assumptions.seen[name].jobs]
    if unseen:
        lines.append(f"nothing seen yet of {_some(unseen)}")
    if watch.assumptions.strangers:
        lines.append(f"not in the model: {_some(sorted(watch.assumptions.strangers))}")
    lines = [printable(line) for line in (*lines, verdict(watch))]
    for i, tone in enumerate(tones):
        lines[i] = f"{tone}{lines[i]}{PLAIN}" if tone else lines[i]
    return "\n".join(lines)


def verdict(watch: Watch) -> str:
    """Return the last line."""
    met = "deadlines missed" if watch.missed else "deadlines met so far"
    if watch.unseen:
        met = f"deadlines missed; {watch.unseen}" if watch.missed else watch.unseen
    if watch.result.no_verdict:
        return f"{met}; the model proves nothing: {watch.result.no_verdict[0]}"
    if not watch.result.met:
        return f"{met}, not proved: see {me()} analyze"
    if watch.assumptions.broken:
        return f"{met}, no longer proved"
    return met if watch.unseen else f"{met}, proved"


def _table(rows: list[tuple[str, ...]]) -> list[str]:
    widths = [max(len(row[i]) for row in rows) for i in range(len(rows[0]))]
    return [
        "  ".join(
            text.ljust(width) if i < 2 else text.rjust(width)
            for i, (text, width) in enumerate(zip(row, widths, strict=True))
        ).rstrip()
        for row in rows
    ]


def _text(ms: float | None) -> str:
    return "-" if ms is None else f"{ms:.3f}"


def _some(names: list[str]) -> str:
    shown = ", ".join(f"'{name}'" for name in names[:5])
    return shown + (f" and {len(names) - 5} more" if len(names) > 5 else "")
