# Copyright 2026 The rclrt Authors
# SPDX-License-Identifier: Apache-2.0
"""The demo's result as one self-contained page, without a network; and as a picture (SVG)."""

from __future__ import annotations

import math
from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from functools import partial
from html import escape
from importlib import resources
from typing import Any

import jinja2
import markupsafe
from rclrt_analysis.plots import Bar, Plot, bars, draw

from rclrt_tools.reference.measurement import NS_PER_MS, Measurement
from rclrt_tools.reference.program import BACKGROUND, QUIET, Report, Row
from rclrt_tools.reference.table import number


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


def name_of(measurement: Measurement) -> str:
    """Return the executor, and the load if there was any."""
    return str(Row(measurement.executor, measurement.load))


def distributions(measurements: Sequence[Measurement], ideal_ms: float | None) -> str:
    """Return a figure: of each executor, which share of the samples is below which latency."""
    curves = {
        f"{name_of(one)} (n={len(one.latency_ms)})": sorted(one.latency_ms) for one in measurements
    }
    marks = {} if ideal_ms is None else {"ideal": ideal_ms}
    return draw(Plot("latency of the hot path", "ms", curves, marks))


def timeline_figure(title: str, timeline: Timeline) -> str:
    """Return a figure: a row for each callback, thin while it waits, thick from start to end."""

    def ms(at_ns: int) -> float:
        return (at_ns - timeline.received_ns) / NS_PER_MS

    every = [
        Bar(job.callback, ms(job.release_ns), ms(job.start_ns), ms(job.end_ns), is_main)
        for jobs, is_main in ((timeline.path, True), (timeline.others, False))
        for job in jobs
    ]
    return bars(title, "ms since reception at the first node", every)


def timelines(measurements: Sequence[Measurement]) -> list[str]:
    """Return a figure of the worst instance of each executor that has a hot path."""
    figures = []
    for measurement in measurements:
        timeline = worst_instance(measurement.worst[1]) if measurement.worst else None
        if timeline is not None:
            latency_ms = (timeline.start_ns - timeline.received_ns) / NS_PER_MS
            title = f"{name_of(measurement)} ({latency_ms:.1f} ms)"
            figures.append(timeline_figure(title, timeline))
    return figures


def make_page(
    title: str,
    measurements: Sequence[Measurement],
    result: Mapping[str, Any],
    notes: Sequence[str],
) -> str:
    """Return the page."""
    ideal_ms = next((run["hot_path_ms"]["ideal"] for run in result["runs"]), None)
    source = resources.files("rclrt_tools") / "templates" / "demo.html.j2"
    environment = jinja2.Environment(autoescape=True, undefined=jinja2.StrictUndefined)
    environment.filters["number"] = number
    return environment.from_string(source.read_text(encoding="utf-8")).render(
        title=title,
        measurements=measurements,
        result=result,
        notes=notes,
        distributions=markupsafe.Markup(distributions(measurements, ideal_ms)),
        timelines=[markupsafe.Markup(one) for one in timelines(measurements)],
    )


WIDTH = 860
LEFT = 190
RIGHT = 110
ROW = 44
BAR = 13
TOP = 76
BOTTOM = 58
COLORS = {QUIET: "#2f6f9f", BACKGROUND: "#c8553d"}
NAMES = {QUIET: "alone", BACKGROUND: "beside 4 busy processes a CPU"}


def _ticks(low: float, high: float) -> list[float]:
    """1, 2 and 5 times each power of ten."""
    decades = range(math.floor(math.log10(low)), math.ceil(math.log10(high)) + 1)
    return [
        digit * 10.0**decade
        for decade in decades
        for digit in (1, 2, 5)
        if low <= digit * 10.0**decade <= high
    ]


def _text(x: float, y: float, words: str, more: str = "") -> str:
    return f'<text x="{x:.1f}" y="{y:.1f}" {more}>{escape(words)}</text>'


def make_picture(title: str, measurements: Sequence[Measurement], ideal_ms: float | None) -> str:
    """Return the picture.

    A bar goes from the median to the 99th percentile (with too few samples: to the maximum);
    the dot is the median, the thin line ends at the maximum. The axis is logarithmic.
    """
    shown = [m for m in measurements if m.latency_ms]
    names = list(dict.fromkeys(m.executor for m in shown))
    values = [value for m in shown for value in m.latency_ms] + ([ideal_ms] if ideal_ms else [])
    low, high = min(values, default=1.0) * 0.9, max(values, default=10.0) * 1.1
    scale = (WIDTH - LEFT - RIGHT) / (math.log(high) - math.log(low))
    height = TOP + ROW * len(names) + BOTTOM

    def x(value: float) -> float:
        return LEFT + (math.log(value) - math.log(low)) * scale

    floor = TOP + ROW * len(names)
    parts = [
        f'<svg xmlns="http://www.w3.org/2000/svg" viewBox="0 0 {WIDTH} {height}" '
        f'width="{WIDTH}" height="{height}" font-family="sans-serif" font-size="13" fill="#222">',
        f'<rect width="{WIDTH}" height="{height}" fill="#ffffff"/>',
        _text(16, 24, title, 'font-size="15" font-weight="bold"'),
    ]
    loads = [load for load in (QUIET, BACKGROUND) if any(m.load == load for m in shown)]
    at = 16.0
    for load in loads:
        parts.append(f'<rect x="{at}" y="38" width="14" height="10" fill="{COLORS[load]}"/>')
        parts.append(_text(at + 20, 47, NAMES[load]))
        at += 40 + 7.0 * len(NAMES[load])
    for tick in _ticks(low, high):
        parts.append(
            f'<line x1="{x(tick):.1f}" x2="{x(tick):.1f}" y1="{TOP - 6}" y2="{floor}" '
            'stroke="#e2e2e2"/>'
        )
        parts.append(_text(x(tick), floor + 18, f"{tick:g}", 'text-anchor="middle" fill="#555"'))
    parts.append(_text(LEFT, floor + 40, "hot path, ms: dot p50, bar to p99, line to the maximum"))
    if ideal_ms:
        parts.append(
            f'<line x1="{x(ideal_ms):.1f}" x2="{x(ideal_ms):.1f}" y1="{TOP - 6}" y2="{floor}" '
            'stroke="#222" stroke-dasharray="4 3"/>'
        )
        parts.append(_text(x(ideal_ms), TOP - 10, "ideal", 'text-anchor="middle" font-size="11"'))
    for row, name in enumerate(names):
        middle = TOP + ROW * row + ROW / 2
        parts.append(_text(LEFT - 12, middle + 4, name, 'text-anchor="end"'))
        for measurement in (m for m in shown if m.executor == name):
            y = middle if len(loads) == 1 else middle + (-9 if measurement.load == QUIET else 9)
            parts += _bar(measurement, x, y)
    parts.append("</svg>")
    return "\n".join(parts) + "\n"


def _bar(measurement: Measurement, x: Callable[[float], float], y: float) -> list[str]:
    color = COLORS[measurement.load]
    worst = max(measurement.latency_ms)
    median = measurement.percentile(0.5) or worst
    p99 = measurement.percentile(0.99)
    end = worst if p99 is None else p99
    label = f"{median:.1f} / {'-' if p99 is None else f'{p99:.1f}'}"
    return [
        f'<line x1="{x(median):.1f}" x2="{x(worst):.1f}" y1="{y}" y2="{y}" stroke="{color}"/>',
        f'<rect x="{x(median):.1f}" y="{y - BAR / 2}" width="{max(2.0, x(end) - x(median)):.1f}" '
        f'height="{BAR}" fill="{color}" fill-opacity="0.55"/>',
        f'<circle cx="{x(median):.1f}" cy="{y}" r="4.5" fill="{color}"/>',
        _text(x(worst) + 8, y + 4, label, f'fill="{color}" font-size="12"'),
    ]
