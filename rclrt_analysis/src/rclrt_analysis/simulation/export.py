# Copyright 2026 The rclrt Authors
# SPDX-License-Identifier: Apache-2.0
"""A simulated run as a picture."""

from __future__ import annotations

from typing import Any

from bokeh.embed import file_html
from bokeh.models import ColumnDataSource, HoverTool
from bokeh.plotting import figure
from bokeh.resources import Resources

from rclrt_analysis.model import NS_PER_MS
from rclrt_analysis.simulation.jobs import Job, Run

MAX_BARS = 20_000
LATE = "#c0392b"


def gantt(run: Run) -> str:
    """Return a page with a row for each callback: thin while a job waits, thick from start to end.

    Preemption is within the thick part. At most `MAX_BARS` jobs are drawn, the first ones.
    """
    jobs = run.jobs[:MAX_BARS]
    names = [callback.name for callback in run.system.callbacks]
    rows = [names[job.callback] for job in jobs]
    stated = [callback.deadline is not None for callback in run.system.callbacks]

    def is_late(job: Job) -> bool:
        # Nobody has stated a deadline that was only inherited.
        return stated[job.callback] and job.end > job.deadline

    def column(values: list[int]) -> list[float]:
        return [value / NS_PER_MS for value in values]

    source = ColumnDataSource(
        {
            "callback": rows,
            "release": column([job.release for job in jobs]),
            "start": column([job.start for job in jobs]),
            "end": column([job.end for job in jobs]),
            "response": column([job.response for job in jobs]),
            "preemptions": [job.preemptions for job in jobs],
            "color": [LATE if is_late(job) else "#2c7fb8" for job in jobs],
        }
    )
    plot: Any = figure(
        width=1100, height=100 + 22 * len(names), y_range=list(reversed(names)),
        x_axis_label="ms", tools="xpan,xwheel_zoom,box_zoom,reset,save",
        title=f"{run.system.name}: red jobs end after the deadline of their callback",
    )  # fmt: skip
    plot.hbar("callback", right="start", left="release", height=0.15, color="color", source=source)
    plot.hbar("callback", right="end", left="start", height=0.7, color="color", source=source)
    tips = [(name, f"@{name}") for name in ("callback", "release", "response", "preemptions")]
    plot.add_tools(HoverTool(tooltips=tips))
    return str(file_html(plot, Resources(mode="inline"), run.system.name))
