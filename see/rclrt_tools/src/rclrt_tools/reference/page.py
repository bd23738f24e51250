# Copyright 2026 The rclrt Authors
# SPDX-License-Identifier: Apache-2.0
"""The demo's result as one self-contained page, without a network."""

import math
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from functools import partial
from typing import Any

from rclrt_tools.pages.frame import render
from rclrt_tools.reference.measurement import NS_PER_MS, Measurement
from rclrt_tools.reference.picture import ticks
from rclrt_tools.reference.program import EXECUTORS, QUIET, Report, Row
from rclrt_tools.reference.table import group_findings, number


@dataclass(frozen=True)
class Job:
    """One job of a callback; times are CLOCK_MONOTONIC, ns."""

    callback: str
    node: str
    input: str
    output: str
    on_hot_path: bool
    release_ns: int
    start_ns: int
    end_ns: int
    in_sequence: int
    out_sequence: int


@dataclass(frozen=True)
class Timeline:
    """One instance of the hot path."""

    received_ns: int
    start_ns: int
    end_ns: int
    path: list[Job]
    """The jobs that carried its data, in the order of their start."""
    others: list[Job]
    """Jobs of other callbacks, or for other data, that ran between reception and end."""


def _jobs(report: Report) -> Iterator[Job]:
    for callback in report["callbacks"]:
        keys = ("name", "node", "input", "output", "on_hot_path")
        one: Callable[..., Job] = partial(Job, *(callback[key] for key in keys))
        for release, start, end, _sent, in_sequence, out_sequence, *_ in callback["jobs"]:
            yield one(release, start, end, in_sequence, out_sequence)


def worst_instance(report: Report) -> Timeline | None:
    """Return the slowest instance of the hot path in one run.

    From the sink's job it walks back: every job names the number of what it received, and the job
    that published that number is the one before. A fusion published for all of its inputs, so the
    jobs that stored the other inputs belong to it too.
    """
    samples = report["hot_path"]["samples"] if report["hot_path"] else []
    if not samples:
        return None
    received, start, end, _ = max(samples, key=lambda sample: sample[1] - sample[0])
    jobs = list(_jobs(report))
    hot = [job for job in jobs if job.on_hot_path]
    publisher = {(job.output, job.out_sequence): job for job in hot if job.out_sequence}

    todo = [job for job in hot if job.start_ns == start and job.end_ns == end]
    path: list[Job] = []
    while todo:
        job = todo.pop()
        if job in path:
            continue
        path.append(job)
        before = publisher.get((job.input, job.in_sequence))
        if before is not None:
            todo.append(before)
        if job.out_sequence or job.start_ns == start:
            todo += _stored_for(job, hot)
    path.sort(key=lambda job: job.start_ns)
    others = [
        job for job in jobs if job not in path and job.start_ns < end and job.end_ns > received
    ]
    others.sort(key=lambda job: job.start_ns)
    return Timeline(received, start, end, path, others)


def _stored_for(job: Job, hot: list[Job]) -> list[Job]:
    """Return the jobs that stored the other inputs of a fusion's `job`: the latest before it."""
    latest: dict[str, Job] = {}
    for other in hot:
        is_sibling = other.node == job.node and other.input and other.callback != job.callback
        if is_sibling and not other.out_sequence and other.start_ns < job.start_ns:
            known = latest.get(other.callback)
            if known is None or known.start_ns < other.start_ns:
                latest[other.callback] = other
    return list(latest.values())


SCALE = 1000
"""A track is as wide, whatever its width in pixels."""
BINS = 125
TALL = 100
"""The height of a track."""
MOST_OTHERS = 12
"""So many callbacks beside the path are shown: those that ran longest."""
MOST_BYTES = 200_000


@dataclass(frozen=True)
class Axis:
    """Times, ms, on a track: logarithmic, or linear from zero."""

    low: float
    high: float
    logarithmic: bool = True

    def __call__(self, ms: float) -> int:
        """Return the place of a time, from 0 to `SCALE`."""
        if not self.logarithmic:
            return round(SCALE * (ms - self.low) / (self.high - self.low))
        return round(SCALE * math.log(ms / self.low) / math.log(self.high / self.low))

    @property
    def ticks(self) -> list[float]:
        """Return times that have a number: few enough for a telephone."""
        found = ticks(self.low, self.high) if self.logarithmic else []
        while len(found) > 7:
            found = found[::3]
        if len(found) < 3:
            rough = (self.high - self.low) / 5
            power = 10.0 ** math.floor(math.log10(rough))
            step = next(m * power for m in (1, 2, 5, 10) if m * power >= rough)
            numbers = range(math.ceil(self.low / step), math.floor(self.high / step) + 1)
            found = [number * step for number in numbers]
        return found


def axis_of(measurements: Sequence[Measurement], ideal_ms: float | None) -> Axis:
    """Return the axis on which all samples lie."""
    values = [max(v, 1e-3) for m in measurements for v in m.latency_ms]
    values += [ideal_ms] if ideal_ms else []
    return Axis(min(values, default=1.0) * 0.9, max(values, default=10.0) * 1.1)


def histogram(latencies_ms: Iterable[float], axis: Axis) -> str:
    """Return how often which time was seen, as the path of an area; the most often: full height."""
    counts = [0] * (BINS + 1)
    for value in latencies_ms:
        counts[axis(max(value, 1e-3)) * BINS // SCALE] += 1
    most = max(*counts, 1)
    width = SCALE // BINS
    return "".join(
        f"M{i * width} {TALL}v-{max(6, round(TALL * n / most))}h{width}V{TALL}z"
        for i, n in enumerate(counts)
        if n
    )


def load_of(measurement: Measurement) -> str:
    """Return the load as the page says it."""
    return "alone" if measurement.load == QUIET else "busy"


@dataclass(frozen=True)
class Line:
    """A callback's row in a timeline: paths of when it waited and when it ran."""

    callback: str
    is_main: bool
    waits: str
    runs: str


def spans_of(spans: Iterable[tuple[float, float]], axis: Axis) -> str:
    """Return spans of time as a path; those that touch are one, so that it stays short."""
    joined: list[list[int]] = []
    for begin, end in sorted((max(0, axis(begin)), axis(end)) for begin, end in spans):
        if joined and begin <= joined[-1][1] + 1:
            joined[-1][1] = max(joined[-1][1], end)
        else:
            joined.append([begin, end])
    return "".join(f"M{begin} 5h{max(2, end - begin)}" for begin, end in joined)


@dataclass(frozen=True)
class Drawn:
    """A timeline as it is drawn."""

    measurement: Measurement
    latency_ms: float
    axis: Axis
    lines: list[Line]
    left_out: int


def drawn(measurement: Measurement, timeline: Timeline) -> Drawn:
    """Return how it is drawn: the path in its order, then what else ran, the longest first."""

    def ms(at_ns: int) -> float:
        return (at_ns - timeline.received_ns) / NS_PER_MS

    rows: dict[tuple[str, bool], list[Job]] = {}
    for jobs, is_main in ((timeline.path, True), (timeline.others, False)):
        for job in jobs:
            rows.setdefault((job.callback, is_main), []).append(job)
    ran = {row: sum(job.end_ns - job.start_ns for job in jobs) for row, jobs in rows.items()}
    others = sorted((row for row in rows if not row[1]), key=lambda row: -ran[row])
    shown = [row for row in rows if row[1]] + others[:MOST_OTHERS]
    last = max((job.end_ns for row in shown for job in rows[row]), default=timeline.end_ns)
    axis = Axis(0.0, max(ms(last), 1e-3), logarithmic=False)
    lines = [
        Line(
            name,
            is_main,
            spans_of(((ms(job.release_ns), ms(job.start_ns)) for job in rows[name, is_main]), axis),
            spans_of(((ms(job.start_ns), ms(job.end_ns)) for job in rows[name, is_main]), axis),
        )
        for name, is_main in shown
    ]
    latency_ms = (timeline.start_ns - timeline.received_ns) / NS_PER_MS
    return Drawn(measurement, latency_ms, axis, lines, len(others[MOST_OTHERS:]))


def timelines(measurements: Sequence[Measurement]) -> list[Drawn]:
    """Return the worst instance of each executor that has a hot path, under whichever load."""
    worst: dict[str, Measurement] = {}
    for one in measurements:
        known = worst.get(one.executor)
        if one.worst and (known is None or known.worst is None or one.worst[0] > known.worst[0]):
            worst[one.executor] = one
    found = ((one, worst_instance(one.worst[1])) for one in worst.values() if one.worst)
    return [drawn(one, timeline) for one, timeline in found if timeline is not None]


@dataclass(frozen=True)
class Verdict:
    """What the reader sees first.

    best: The measurements of the executor whose hot path is shortest when it matters: beside the
        load, if that was measured.
    worst: Those of the one whose hot path is longest then; empty if there was one executor only.
    """

    best: list[Measurement]
    worst: list[Measurement]
    sentences: list[str]
    warnings: list[str]


def _figure(one: Measurement) -> str:
    """Return median and 99th percentile; the maximum if there are too few samples for these."""
    p50, p99 = one.percentile(0.50), one.percentile(0.99)
    if p50 is None:
        return f"{number(one.max_ms)} ms at most"
    return f"{number(p50)} ms" + (f" (p99 {number(p99)} ms)" if p99 is not None else "")


def _range(ones: Sequence[Measurement]) -> str:
    """Return the lowest and the highest median of some executors, and which executors had them."""
    known = [(p50, one.executor) for one in ones if (p50 := one.percentile(0.5)) is not None]
    if not known:
        return ""
    (low, first), (high, last) = min(known), max(known)
    if first == last:
        return f"{number(low)} ms ({first})"
    return f"from {number(low)} ms ({first}) to {number(high)} ms ({last})"


def verdict_of(measurements: Sequence[Measurement]) -> Verdict:
    """Return the verdict: the best executor, its figures, and what is to be known beside them."""
    warnings = [
        f"{name_of(one)} failed: {one.failure.splitlines()[-1]}"
        for one in measurements
        if one.failure
    ]
    refused = dict.fromkeys(m.executor for m in measurements if not m.attributes_in_force)
    if refused:
        what = "The operating system refused what these asked for, so they ran without it: "
        warnings.append(what + ", ".join(refused))
    sound = [one for one in measurements if one.latency_ms and not one.failure]
    loaded = any(one.load != QUIET for one in sound)
    judged = [one for one in sound if (one.load != QUIET) == loaded]
    if not judged:
        return Verdict([], [], ["Nothing was measured."], warnings)
    what = "the hot path takes" if any(one.worst for one in sound) else "a timer's callback takes"

    def of(executor: str) -> list[Measurement]:
        return [one for one in sound if one.executor == executor]

    def slow(one: Measurement) -> float:
        return one.percentile(0.99) or one.max_ms or 0.0

    best = min(judged, key=slow).executor
    worst = max(judged, key=lambda one: one.percentile(0.5) or one.max_ms or 0.0).executor
    texts = {load_of(one): _figure(one) for one in of(best)}
    others = [one for one in sound if one.executor != best]
    ranges = {load: _range([m for m in others if load_of(m) == load]) for load in texts}
    first = f"{texts['busy']} beside busy programs" if loaded else texts["alone"]
    if loaded and "alone" in texts:
        first += f", {texts['alone']} alone"
    sentences = [f"Under {best} {what} {first}."]
    if any(ranges.values()):
        where = {"busy": " beside busy programs", "alone": " alone" if loaded else ""}
        rest = ", and ".join(
            ranges[load] + where[load] for load in ("busy", "alone") if ranges.get(load)
        )
        sentences.append(f"Medians of the other executors: {rest}.")
    return Verdict(of(best), of(worst) if worst != best else [], sentences, warnings)


def name_of(measurement: Measurement) -> str:
    """Return the executor, and the load if there was any."""
    return str(Row(measurement.executor, measurement.load))


def make_page(
    title: str,
    measurements: Sequence[Measurement],
    result: Mapping[str, Any],
    notes: Sequence[str],
) -> str:
    """Return the page. Timelines are left out, the longest first, until it is small enough."""
    ideal_ms = next((run["hot_path_ms"]["ideal"] for run in result["runs"]), None)
    executors: dict[str, list[Measurement]] = {}
    for one in measurements:
        executors.setdefault(one.executor, []).append(one)
    figures = timelines(measurements)
    while True:
        page = render(
            "demo.html.j2",
            {"number": number},
            title=title,
            verdict=verdict_of(measurements),
            executors=executors,
            rows=list(zip(measurements, result["runs"], strict=True)),
            what_it_is=EXECUTORS,
            axis=axis_of(measurements, ideal_ms),
            ideal_ms=ideal_ms,
            histogram=histogram,
            load=load_of,
            environment=result["environment"],
            findings=group_findings(measurements),
            notes=notes,
            timelines=figures,
        )
        if len(page.encode()) <= MOST_BYTES or not figures:
            return page
        figures.remove(max(figures, key=lambda one: len(one.lines)))
