# Copyright 2026 The rclrt Authors
# SPDX-License-Identifier: Apache-2.0
"""What the engine and a machine cost, from measurements: the overheads of a model.

Costs come with every job, and what is above nearly all samples of them is no property of the job:
an interrupt, or the host of a virtual machine, has come in between. So a cost is what 95 % of the
samples keep, and what the worst of them has beyond that is stolen time, once in each window.
Delays (`wake`, `late`) come once, before work begins: there the worst counts.
"""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any

NS_PER_MS = 1_000_000
USUAL = 0.95
SHOWN = 0.99
WINDOW_NS = 10 * NS_PER_MS
SKIPPED = 77

SAID = {
    "release_ns": "a notification: the job is queued, its thread woken",
    "start_ns": "from the notification to the start of the job, which preempts",
    "job_ns": "a whole job that does nothing: notification, both switches, start, end",
    "next_ns": "from the start of such a job to the start of the next, on another thread",
    "switch_ns": "a switch between two threads",
    "late_ns": "how late a timer's job starts on a busy CPU",
    "idle_late_ns": "the same on an idle CPU",
    "timer_job_ns": "a whole timer's job that does nothing",
    "watched_ns": "the same of a job with a budget, which the watch looks at once",
    "wake_ns": "from the notification to the start on another, busy CPU",
}
"""What was measured, in the order of the report."""


@dataclass(frozen=True)
class Calibration:
    """All samples by what they are, ns, and the times in which a CPU was taken away.

    stolen, looked: Of each CPU: these times, and those in which it was looked at, as (begin, end),
        ns.
    """

    samples: Mapping[str, Sequence[int]]
    stolen: Mapping[int, Sequence[tuple[int, int]]]
    looked: Mapping[int, Sequence[tuple[int, int]]]

    def at(self, name: str, fraction: float) -> int:
        """Return what so many of the samples do not exceed; 0 without any."""
        ordered = sorted(self.samples.get(name, ()))
        return ordered[min(len(ordered) - 1, int(len(ordered) * fraction))] if ordered else 0

    def window(self, cpu: int, fraction: float = 1.0) -> int:
        """Return what is stolen from a CPU in this share of windows at most, ns."""
        gaps = self.stolen[cpu]
        if fraction == 1.0:
            return worst_window(gaps, WINDOW_NS)
        sums = []
        for begin, end in self.looked[cpu]:
            inside = [gap for gap in gaps if begin <= gap[0] < end]
            for at in range(begin, end - WINDOW_NS, WINDOW_NS):
                cut = [(max(b, at), min(e, at + WINDOW_NS)) for b, e in inside]
                sums.append(sum(max(0, e - b) for b, e in cut))
        return sorted(sums)[min(len(sums) - 1, int(len(sums) * fraction))] if sums else 0

    def overheads(self, fraction: float = 1.0) -> dict[str, int]:
        """Return the overheads of a model, ns, by their names there.

        fraction: Of the delays and of the windows: 1 is the worst.
        """
        job, timer = self.at("job_ns", USUAL), self.at("timer_job_ns", USUAL)
        beyond = max(
            self.at(name, fraction) - self.at(name, USUAL) for name in ("job_ns", "timer_job_ns")
        )
        worst = max((self.window(cpu, fraction) for cpu in self.stolen), default=0)
        found = {
            "release_ms": max(0, timer - self.at("job_ns", 0.5)),
            "dispatch_ms": job,
            "wake_ms": self.at("wake_ns", fraction),
            "watch_ms": max(0, self.at("watched_ns", USUAL) - self.at("job_ns", 0.5)),
            "late_ms": max(self.at(name, fraction) for name in ("late_ns", "idle_late_ns")),
            "stolen_ms": worst + max(0, beyond),
            "window_ms": WINDOW_NS,
        }
        return {name: value for name, value in found.items() if value}


def worst_window(gaps: Sequence[tuple[int, int]], window: int) -> int:
    """Return the longest time taken within any time of that length, ns."""
    worst = total = first = 0
    for begin, end in gaps:
        total += end - begin
        # A window that ends here takes in the gaps that end after its begin.
        while gaps[first][1] <= end - window:
            total -= gaps[first][1] - gaps[first][0]
            first += 1
        outside = max(0, end - window - gaps[first][0])
        worst = max(worst, total - outside)
    return min(worst, window)


def read_samples(content: Mapping[str, Any]) -> Calibration:
    """Return what the program has written."""
    samples = {name: content[name] for name in SAID if name in content}
    stolen = {one["cpu"]: [(b, e) for b, e in one["gaps"]] for one in content["stolen"]}
    looked = {one["cpu"]: [(b, e) for b, e in one["spans"]] for one in content["stolen"]}
    return Calibration(samples, stolen, looked)


def to_yaml(overheads: Mapping[str, int], about: str) -> str:
    """Return the overheads as a block of a model."""
    lines = [f"overheads:  # {about}"]
    lines += [f"  {name}: {value / NS_PER_MS:.6f}" for name, value in overheads.items()]
    lines.append(f'  measured: "{about}"')
    return "\n".join(lines) + "\n"


def read_overheads(path: Path) -> dict[str, Any]:
    """Return the overheads of a file that ./rclrt model calibrate has written; times in ns.

    Raises ValueError: It is none.
    """
    import yaml

    try:
        content = yaml.safe_load(path.read_text(encoding="utf-8"))["overheads"]
        return {
            name: round(float(value) * NS_PER_MS) if name.endswith("_ms") else str(value)
            for name, value in content.items()
        }
    except (OSError, KeyError, TypeError, ValueError, AttributeError, yaml.YAMLError) as error:
        raise ValueError(f"{path}: these are no overheads of `rclrt model calibrate`") from error


def to_text(calibration: Calibration) -> str:
    """Return the samples as a table."""
    lines = [f"{'us':72} {'n':>6} {'p50':>8} {'p99':>8} {'worst':>8}"]
    for name, said in SAID.items():
        values = calibration.samples.get(name, ())
        if values:
            parts = (calibration.at(name, fraction) / 1000 for fraction in (0.5, SHOWN, 1))
            lines.append(f"{said:72} {len(values):6} " + " ".join(f"{v:8.1f}" for v in parts))
    for cpu, gaps in calibration.stolen.items():
        said = f"taken from the most urgent thread of CPU {cpu}; worst sum in 10 ms"
        lengths = sorted(end - begin for begin, end in gaps) or [0]
        middle, most = lengths[len(lengths) // 2], lengths[int(len(lengths) * SHOWN)]
        worst = worst_window(gaps, WINDOW_NS)
        lines.append(
            f"{said:72} {len(gaps):6} {middle / 1000:8.1f} {most / 1000:8.1f} {worst / 1000:8.1f}"
        )
    return "\n".join(lines)
