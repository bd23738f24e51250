# Copyright 2026 The rclrt Authors
# SPDX-License-Identifier: Apache-2.0
"""The report as one page that needs nothing else."""

import json
from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import Any

import jinja2
import markupsafe
from rclrt_analysis.plots import draw
from rclrt_benchmarks.harness.row import FAILS, HOLDS, OPEN, Row, Run

FEW = 3
TONES = {HOLDS: "good", FAILS: "late", OPEN: "tight"}


def best(rows: Sequence[Row]) -> list[Row]:
    """Return the statements that hold by the widest margin, one of an experiment."""
    held = [row for row in rows if row.verdict == HOLDS and row.margin is not None]
    return _one_each(sorted(held, key=lambda row: -(row.margin or 0)))


def worst(rows: Sequence[Row]) -> list[Row]:
    """Return what does not hold, by the widest margin first; then what holds by the least."""
    failed = sorted((r for r in rows if r.verdict == FAILS), key=lambda r: r.margin or 0)
    near = sorted(
        (r for r in rows if r.verdict == HOLDS and r.margin is not None),
        key=lambda r: r.margin or 0,
    )
    among_best = best(rows)
    return _one_each([*failed, *(row for row in near if row not in among_best)])


def _one_each(rows: Sequence[Row]) -> list[Row]:
    first: dict[str, Row] = {}
    for row in rows:
        first.setdefault(row.experiment, row)
    return list(first.values())[:FEW]


def count(rows: Sequence[Row]) -> str:
    """Return how many hold, do not, and are not judged."""
    of = {verdict: sum(row.verdict == verdict for row in rows) for verdict in TONES}
    return f"{of[HOLDS]} hold, {of[FAILS]} do not, {of[OPEN]} could not be judged here"


def make_page(runs: Sequence[Run], environment: Mapping[str, Any], command: str) -> str:
    """Return the page. All that comes from programs is escaped."""
    rows = [row for run in runs for row in run.rows]
    page = jinja2.Environment(
        autoescape=True, undefined=jinja2.StrictUndefined, trim_blocks=True, lstrip_blocks=True
    )
    page.filters.update(
        draw=lambda plot: markupsafe.Markup(draw(plot)), tone=TONES.__getitem__, raw=_raw
    )
    text = Path(__file__).with_name("report.html.j2").read_text(encoding="utf-8")
    return page.from_string(text).render(
        runs=runs, summary=count(rows), best=best(rows), worst=worst(rows),
        ahead=[row for row in rows if row.ahead], environment=environment, command=command,
    )  # fmt: skip


def _raw(value: object) -> str:
    return json.dumps(value, separators=(",", ":"))
