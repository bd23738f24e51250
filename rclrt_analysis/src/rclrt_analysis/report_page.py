# Copyright 2026 The rclrt Authors
# SPDX-License-Identifier: Apache-2.0
"""The result of an analysis as one self-contained page, with nothing from a network."""

from __future__ import annotations

from importlib import resources
from typing import Any

import jinja2
from bokeh.embed import components
from bokeh.models import ColumnDataSource, HoverTool
from bokeh.plotting import figure
from bokeh.resources import Resources

from rclrt_analysis.bounds.result import Result
from rclrt_analysis.model import NS_PER_MS, System
from rclrt_analysis.report import interference, ms, slack, verdict
from rclrt_analysis.sensitivity import Margins

PARTS = ("own", "blocking", "interference", "overhead")
COLORS = ("#2c7fb8", "#c0392b", "#95a5a6", "#f1c40f")
HOP_PARTS = ("waiting", "response")


def parts_figure(result: Result) -> Any:
    """Return a figure: of each callback, what its bound consists of, and its deadline."""
    bounded = [bound for bound in result.callbacks if bound.bound is not None]
    data: dict[str, list[Any]] = {"name": [bound.name for bound in bounded]}
    for part in PARTS:
        values = [
            interference(b) if part == "interference" else getattr(b.local, part) for b in bounded
        ]
        data[part] = [value / NS_PER_MS for value in values]
    plot = _bars(data, PARTS, COLORS)
    due = [(b.name, b.deadline / NS_PER_MS) for b in bounded if b.deadline is not None]
    if due:
        plot.scatter(
            x=[at for _, at in due],
            y=[name for name, _ in due],
            marker="diamond",
            size=10,
            color="black",
            legend_label="deadline",
        )
    return plot


def chains_figure(result: Result) -> Any:
    """Return a figure: of each chain, how much is waiting for data and how much responding."""
    bounded = [chain for chain in result.chains if chain.bound is not None]
    data: dict[str, list[Any]] = {"name": [chain.name for chain in bounded]}
    for part in HOP_PARTS:
        data[part] = [sum(getattr(h, part) for h in c.hops) / NS_PER_MS for c in bounded]
    return _bars(data, HOP_PARTS, COLORS[2:0:-1])


def _bars(data: dict[str, list[Any]], parts: tuple[str, ...], colors: tuple[str, ...]) -> Any:
    plot = figure(
        width=980,
        height=120 + 22 * len(data["name"]),
        y_range=list(reversed(data["name"])),
        x_axis_label="ms",
        tools="xpan,xwheel_zoom,reset,save",
    )
    source = ColumnDataSource(data)
    plot.hbar_stack(
        parts, y="name", height=0.7, color=colors, source=source, legend_label=list(parts)
    )
    plot.add_tools(HoverTool(tooltips=[("", "@name"), ("", "$name"), ("ms", "@$name{0.000}")]))
    plot.legend.location = "bottom_right"
    return plot


def make_page(system: System, result: Result, margins: Margins | None = None) -> str:
    """Return the page."""
    figures = {"callbacks": parts_figure(result)}
    if any(chain.bound is not None for chain in result.chains):
        figures["chains"] = chains_figure(result)
    script, parts = components(figures)
    source = resources.files("rclrt_analysis") / "templates" / "analyze.html.j2"
    environment = jinja2.Environment(autoescape=True, undefined=jinja2.StrictUndefined)
    environment.filters["ms"] = ms
    environment.filters["slack"] = slack
    environment.filters["interference"] = interference
    return environment.from_string(source.read_text(encoding="utf-8")).render(
        system=system,
        result=result,
        margins=margins,
        verdict=verdict(result),
        bokeh=Resources(mode="inline", components=["bokeh"]).render(),
        script=script,
        parts=parts,
    )
