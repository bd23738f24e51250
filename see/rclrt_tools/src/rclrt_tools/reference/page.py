# Copyright 2026 The rclrt Authors
# SPDX-License-Identifier: Apache-2.0
"""The demo's result as one self-contained page: no file beside it, nothing from a network."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from functools import partial
from importlib import resources
from typing import Any

import jinja2
import markupsafe
from rclrt_analysis.plots import Bar, Plot, bars, draw

from rclrt_tools.reference.executors import Row
from rclrt_tools.reference.measurement import NS_PER_MS, Measurement
from rclrt_tools.reference.program import Report
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
