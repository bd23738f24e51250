# Copyright 2026 The rclrt Authors
# SPDX-License-Identifier: Apache-2.0
"""What was measured of one executor, merged over its slices."""

from dataclasses import dataclass, field
from typing import Any

from rclrt_tools.reference.program import QUIET, Report
from rclrt_tools.statistics import percentile

NS_PER_MS = 1e6


@dataclass
class Measurement:
    """All samples and counts of one executor. Times in ms."""

    executor: str
    load: str = QUIET
    policy: str = ""
    latency_ms: list[float] = field(default_factory=list)
    """Hot path to the start of the sink; response times of all timers if there is no hot path."""
    latency_to_end_ms: list[float] = field(default_factory=list)
    """Hot path to the end of the sink."""
    dropped: int = 0
    """Jobs released but never run: timer releases skipped, samples lost before they were taken."""
    deadline_misses: int = 0
    cpu_s: float = 0.0
    measured_s: float = 0.0
    rss_mib: float = 0.0
    involuntary_switches: int = 0
    attributes_asked: bool = False
    attributes_in_force: bool = True
    in_force: set[tuple[str, int]] = field(default_factory=set)
    """Policy and priority found in force by callbacks."""
    deadline_scheduler: str = ""
    """What ordered threads by deadline, e.g. "fifo bands"; empty if nothing did."""
    findings: list[dict[str, Any]] = field(default_factory=list)
    without_room: int = 0
    """Samples that the program could not keep."""
    failure: str = ""
    rmw: str = ""
    reception_stamp: str = "arrival"
    """What the time of reception of a message is with this RMW: "arrival", "take" or "unknown"."""

    def add(self, report: Report) -> None:
        """Merge one slice."""
        self.policy = report["policy"]
        self.rmw = report["rmw"]
        self.reception_stamp = report["reception_stamp"]
        self.measured_s += (report["measured_to_ns"] - report["measured_from_ns"]) / 1e9
        self.cpu_s += report["cpu_s"]
        self.rss_mib = max(self.rss_mib, report["rss_mib"])
        self.involuntary_switches += report["involuntary_switches"]
        self.attributes_asked |= report["attributes_asked"]
        self.attributes_in_force &= report["attributes_in_force"]
        self.deadline_scheduler = report["deadline_scheduler"] or self.deadline_scheduler
        self._add_findings(report["findings"])
        self._add_callbacks(report)
        self._add_hot_path(report)

    def _add_findings(self, findings: list[dict[str, Any]]) -> None:
        self.findings += [finding for finding in findings if finding not in self.findings]

    def _add_callbacks(self, report: Report) -> None:
        for callback in report["callbacks"]:
            self.dropped += callback["lost"]
            self.deadline_misses += callback["deadline_misses"]
            self.without_room += callback["jobs_without_room"]
            found = callback["in_force"]
            if found is not None:
                self.in_force.add((found["policy"], found.get("priority", 0)))
            if report["hot_path"] is None and callback["kind"] == "timer":
                self.latency_ms += [
                    (end - release) / NS_PER_MS for release, _, end, *_ in callback["jobs"]
                ]

    def _add_hot_path(self, report: Report) -> None:
        path = report["hot_path"]
        if path is None:
            return
        self.without_room += path["samples_without_room"]
        for received, start, end, _ in path["samples"]:
            self.latency_ms.append((start - received) / NS_PER_MS)
            self.latency_to_end_ms.append((end - received) / NS_PER_MS)
            self.deadline_misses += (end - received) / NS_PER_MS > path["deadline_ms"]

    def percentile(self, fraction: float) -> float | None:
        """Return a percentile of the latency, ms; None if there are too few samples."""
        return percentile(sorted(self.latency_ms), fraction)

    def percentile_to_end(self, fraction: float) -> float | None:
        """Return a percentile of the hot path to the end of the sink, ms, or None likewise."""
        return percentile(sorted(self.latency_to_end_ms), fraction)

    @property
    def max_ms(self) -> float | None:
        """The longest latency, ms."""
        return max(self.latency_ms, default=None)

    @property
    def cpu_percent(self) -> float | None:
        """Processor time over measured time, % of one CPU."""
        return 100.0 * self.cpu_s / self.measured_s if self.measured_s > 0 else None

    def attributes_text(self) -> str:
        """Return what was really in force, e.g. "fifo 56-80", or what ordered by deadline."""
        texts = []
        for policy in sorted({policy for policy, _ in self.in_force}):
            priorities = sorted(p for name, p in self.in_force if name == policy)
            low, high = priorities[0], priorities[-1]
            texts.append(
                policy
                if high == 0
                else f"{policy} {high}"
                if low == high
                else f"{policy} {low}-{high}"
            )
        text = self.deadline_scheduler or ", ".join(texts) or "-"
        return text if self.attributes_in_force else f"{text} REFUSED"
