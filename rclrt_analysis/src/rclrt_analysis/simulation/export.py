# Copyright 2026 The rclrt Authors
# SPDX-License-Identifier: Apache-2.0
"""A simulated run as a trace file, and as a picture."""

from __future__ import annotations

from typing import Any

import numpy as np
from bokeh.embed import file_html
from bokeh.models import ColumnDataSource, HoverTool
from bokeh.plotting import figure
from bokeh.resources import Resources

from rclrt_analysis.model import NS_PER_MS
from rclrt_analysis.simulation.jobs import Job, Run
from rclrt_analysis.trace import DONE, NO_DEADLINE, RECORD, Trace

MAX_BARS = 20_000
LATE = "#c0392b"


def to_trace(run: Run) -> Trace:
    """Return the jobs as records; threads are numbered by core, times count from 0."""
    records = np.zeros(len(run.jobs), dtype=RECORD)
    for i, job in enumerate(run.jobs):
        due = job.deadline if 0 <= job.deadline < 2**61 else NO_DEADLINE
        records[i] = (
            job.nominal, job.release, job.start, job.end, due, job.sequence, job.callback,
            job.core, job.preemptions, job.core, DONE, 0,
        )  # fmt: skip
    return Trace({i: c.name for i, c in enumerate(run.system.callbacks)}, records)


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
