# Copyright 2026 The rclrt Authors
# SPDX-License-Identifier: Apache-2.0
"""The demo's result as one self-contained page: no file beside it, nothing from a network."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from importlib import resources
from typing import Any

import jinja2
import markupsafe
from rclrt_analysis.plots import Bar, Plot, bars, draw

from rclrt_tools.reference.executors import Row
from rclrt_tools.reference.measurement import NS_PER_MS, Measurement
from rclrt_tools.reference.table import number
from rclrt_tools.reference.timeline import Timeline, worst_instance


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
