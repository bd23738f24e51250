# Copyright 2026 The rclrt Authors
# SPDX-License-Identifier: Apache-2.0
"""The demo's result as one self-contained page: no file beside it, nothing from a network."""

from __future__ import annotations

import math
from collections.abc import Mapping, Sequence
from importlib import resources
from typing import Any

import jinja2
from bokeh.embed import components
from bokeh.models import (
    BasicTickFormatter,
    ColumnDataSource,
    FixedTicker,
    HoverTool,
    Legend,
    TabPanel,
    Tabs,
)
from bokeh.palettes import Category10
from bokeh.plotting import figure
from bokeh.resources import Resources

from rclrt_analysis.reference.executors import QUIET, Row
from rclrt_analysis.reference.measurement import NS_PER_MS, Measurement
from rclrt_analysis.reference.table import number
from rclrt_analysis.reference.timeline import Job, Timeline, worst_instance

WIDTH_PX = 980
ON_PATH = "#c0392b"
NOT_ON_PATH = "#95a5a6"
STEPS = (1, 1.5, 2, 3, 4, 5, 7)
MANY_DECADES = 20.0
"""From this ratio of the largest to the smallest on, only 1, 2 and 5 of each decade fit."""


def log_ticks(low: float, high: float) -> list[float]:
    """Return the ticks of a logarithmic axis around these values, each of which gets a label."""
    steps = STEPS if high < MANY_DECADES * low else (1, 2, 5)
    first, last = (math.floor(math.log10(value)) for value in (low, high))
    return [round(s * 10.0**p, 9) for p in range(first - 1, last + 2) for s in steps]


def name_of(measurement: Measurement) -> str:
    """Return the executor, and the load if there was any."""
    return str(Row(measurement.executor, measurement.load))


def distributions(measurements: Sequence[Measurement], ideal_ms: float | None) -> Any:
    """Return a figure: of each executor, which share of the samples is below which latency."""
    plot = figure(
        width=WIDTH_PX,
        height=420,
        x_axis_label="latency, ms",
        y_axis_label="share of samples",
        x_axis_type="log",
        tools="pan,wheel_zoom,box_zoom,reset,save",
    )
    seen = [ms for m in measurements for ms in m.latency_ms if ms > 0]
    seen += [ideal_ms] if ideal_ms else []
    if seen:
        plot.xaxis.ticker = FixedTicker(ticks=log_ticks(min(seen), max(seen)))
        plot.xaxis.formatter = BasicTickFormatter(use_scientific=False)
    items = []
    color_of: dict[str, str] = {}
    for measurement in (m for m in measurements if m.latency_ms):
        samples = sorted(measurement.latency_ms)
        share = [(i + 1) / len(samples) for i in range(len(samples))]
        step = plot.step(
            samples,
            share,
            mode="after",
            line_width=2,
            color=color_of.setdefault(measurement.executor, Category10[10][len(color_of) % 10]),
            line_dash="solid" if measurement.load == QUIET else "dotted",
            name=name_of(measurement),
        )
        items.append((f"{name_of(measurement)} (n={len(samples)})", [step]))
    if ideal_ms is not None:
        line = plot.line([ideal_ms, ideal_ms], [0, 1], color="black", line_dash="dashed")
        items.append(("ideal", [line]))
    plot.add_layout(Legend(items=items, click_policy="hide"), "right")
    plot.add_tools(HoverTool(tooltips=[("", "$name"), ("ms", "@x{0.00}"), ("share", "@y{0.000}")]))
    return plot


def _bars(jobs: Sequence[Job], origin_ns: int, color: str) -> tuple[Any, Any]:
    def column(values: list[int]) -> list[float]:
        return [(value - origin_ns) / NS_PER_MS for value in values]

    waiting = ColumnDataSource(
        {
            "callback": [job.callback for job in jobs],
            "left": column([job.release_ns for job in jobs]),
            "right": column([job.start_ns for job in jobs]),
            "ms": [(job.start_ns - job.release_ns) / NS_PER_MS for job in jobs],
        }
    )
    running = ColumnDataSource(
        {
            "callback": [job.callback for job in jobs],
            "left": column([job.start_ns for job in jobs]),
            "right": column([job.end_ns for job in jobs]),
            "ms": [(job.end_ns - job.start_ns) / NS_PER_MS for job in jobs],
            "color": [color] * len(jobs),
        }
    )
    return waiting, running


def timeline_figure(timeline: Timeline) -> Any:
    """Return a figure: a row for each callback, thin while it waits, thick from start to end."""
    rows = list(dict.fromkeys(job.callback for job in [*timeline.path, *timeline.others]))
    plot = figure(
        width=WIDTH_PX,
        height=120 + 22 * len(rows),
        y_range=list(reversed(rows)),
        x_axis_label="ms since reception at the first node",
        tools="xpan,xwheel_zoom,box_zoom,reset,save",
    )
    for jobs, color in ((timeline.others, NOT_ON_PATH), (timeline.path, ON_PATH)):
        waiting, running = _bars(jobs, timeline.received_ns, color)
        plot.hbar(
            y="callback",
            left="left",
            right="right",
            height=0.15,
            source=waiting,
            color=color,
            alpha=0.6,
            name="waiting",
        )
        plot.hbar(
            y="callback",
            left="left",
            right="right",
            height=0.7,
            source=running,
            color="color",
            name="started",
        )
    plot.add_tools(HoverTool(tooltips=[("", "@callback"), ("", "$name"), ("ms", "@ms{0.000}")]))
    return plot


def timelines(measurements: Sequence[Measurement]) -> Any | None:
    """Return tabs with the worst instance of each executor, or None if there is no hot path."""
    panels = []
    for measurement in measurements:
        timeline = worst_instance(measurement.worst[1]) if measurement.worst else None
        if timeline is not None:
            latency_ms = (timeline.start_ns - timeline.received_ns) / NS_PER_MS
            title = f"{name_of(measurement)} ({latency_ms:.1f} ms)"
            panels.append(TabPanel(child=timeline_figure(timeline), title=title))
    return Tabs(tabs=panels) if panels else None


def make_page(
    title: str,
    measurements: Sequence[Measurement],
    result: Mapping[str, Any],
    notes: Sequence[str],
) -> str:
    """Return the page."""
    ideal_ms = next((run["hot_path_ms"]["ideal"] for run in result["runs"]), None)
    figures = {"distributions": distributions(measurements, ideal_ms)}
    tabs = timelines(measurements)
    if tabs is not None:
        figures["timelines"] = tabs
    script, parts = components(figures)
    source = resources.files("rclrt_analysis") / "templates" / "demo.html.j2"
    environment = jinja2.Environment(autoescape=True, undefined=jinja2.StrictUndefined)
    environment.filters["number"] = number
    return environment.from_string(source.read_text(encoding="utf-8")).render(
        title=title,
        measurements=measurements,
        result=result,
        notes=notes,
        bokeh=Resources(mode="inline", components=["bokeh"]).render(),
        script=script,
        parts=parts,
    )
