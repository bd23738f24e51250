# Copyright 2026 The rclrt Authors
# SPDX-License-Identifier: Apache-2.0
"""A run as one page: opens on the worst instance, from hours to microseconds."""

import tempfile
from collections.abc import Sequence
from pathlib import Path
from typing import Any

import numpy as np
from rclrt_analysis.model import System
from rclrt_analysis.simulation import Run
from rclrt_tools.pages.frame import COLUMNS, LOWEST_NS, PER_OCTAVE, chunks, picture, render
from rclrt_tools.pages.jobs import Jobs, collect, number_of
from rclrt_tools.trace import layout, write_trace
from rclrt_tools.trace.simulated import to_traces
from rclrt_tools.views.summary import Row, Summary, summarize
from rclrt_tools.views.timeline import Ints, Source, Timeline, close, open_sources
from rclrt_tools.watch.sources import watch_files
from rclrt_tools.watch.watch import Seen, Watch


def histogram(values: Ints, counts: Ints | None = None) -> list[int]:
    """Return how many values are in each bin: the number of the first bin, then counts."""
    if not len(values):
        return []
    octaves = np.log2(np.maximum(values, LOWEST_NS) / LOWEST_NS)
    bins = np.floor(octaves * PER_OCTAVE + 1e-9).astype(np.int64)
    first = int(bins.min())
    found = np.bincount(bins - first, weights=counts).astype(np.int64)
    return [first, *found.tolist()]


def make_page(
    title: str, sources: Sequence[Source], paths: Sequence[Path] = (), system: System | None = None
) -> str:
    """Return the page of a run.

    paths, system: The same files again, and a model to hold them against.

    Raises TraceError: There is nothing to show, or the files do not say enough for the model.
    """
    timeline = Timeline(sources)
    summary = summarize(timeline)
    jobs = collect(timeline, summary)
    watch = None
    if system is not None:
        watch = Watch(system)
        watch_files(watch, list(paths))
    rows = _rows(sources, summary, jobs, watch)
    chains = [_chain(one, jobs) for one in watch.chains] if watch else []
    packed = list(chunks(jobs))
    # The latest job, or the longest if no deadline was missed.
    worst = max(range(len(rows)), key=lambda i: _badness(summary.rows[i], rows[i]))
    if any(chain["worst"] for chain in chains):
        opens = max(range(len(chains)), key=lambda i: _nearness(chains[i]))
    else:
        opens = len(chains) + worst
    data = {
        "title": title,
        "span": jobs.span,
        "jobs": sum(row.jobs for row in summary.rows),
        "kept": len(jobs.kept),
        "windows": [[a - jobs.begin, b - jobs.begin] for a, b in jobs.windows],
        "rows": rows,
        "chains": chains,
        "open": opens,
        "columns": COLUMNS,
        "chunks": [chunk.about for chunk in packed],
        "density": {"columns": jobs.density.busy.shape[1]},
        "threads": np.unique(jobs.kept["thread"]).tolist(),
        "policies": layout.POLICIES,
        "outcomes": layout.OUTCOMES,
        "bins": [LOWEST_NS, PER_OCTAVE],
    }
    missing = sum(source.reader.dropped for source in sources)
    notes = [
        f"{count} records {what}"
        for count, what in (
            (missing, "are missing"),
            (summary.wrong, "contradict themselves and were left out"),
        )
        if count
    ]
    return render(
        "trace.html.j2",
        title=title,
        data=data,
        notes=notes,
        packed=packed,
        picture=picture(jobs.density, jobs.stated),
    )


def page_of_run(run: Run) -> str:
    """Return the page of a simulated run, held against its model.

    Raises TraceError: Nothing ran.
    """
    with tempfile.TemporaryDirectory() as folder:
        paths = []
        for i, (name, trace) in enumerate(to_traces(run).items()):
            # A name of a model may be none of a file.
            label = "".join(c if c.isalnum() else "_" for c in name[:40])
            paths.append(Path(folder) / f"{i}-{label}.trace")
            write_trace(trace, paths[-1])
        sources = open_sources(paths)
        try:
            return make_page(f"{run.system.name}, simulated", sources, paths, run.system)
        finally:
            close(sources)


def _badness(row: Row, shown: dict[str, Any]) -> tuple[bool, int, int]:
    late = row.latest if shown["late"] and row.latest is not None else 0
    return (bool(shown["late"]), late, row.times["response"].largest or 0)


def _nearness(chain: dict[str, Any]) -> tuple[float, float]:
    """Return how near its deadline a chain came, and how long it took."""
    longest = chain["max"] or 0.0
    return (longest / chain["deadline"] if chain["deadline"] else 0.0, longest)


def _ms(ns: float | None) -> float | None:
    return None if ns is None else ns / 1e6


def _rows(
    sources: Sequence[Source], summary: Summary, jobs: Jobs, watch: Watch | None
) -> list[dict[str, Any]]:
    bounds = {one.name: one for one in watch.result.callbacks} if watch else {}
    several = len({row.label for row in summary.rows if row.jobs}) > 1
    found = []
    for i, row in enumerate(summary.rows):
        response = row.times["response"]
        bound = bounds.get(row.name)
        stated = bool(jobs.stated[i])
        if watch is not None and row.name in watch.system.callback_of:
            stated = watch.system.callback_of[row.name].deadline is not None and stated
            jobs.stated[i] = stated
        at = jobs.worst_at[i]
        due = _due(jobs, i) if stated else None
        found.append(
            {
                "name": row.name,
                "file": row.label if several else "",
                "kind": layout.word(layout.KINDS, row.kind),
                "jobs": row.jobs,
                "p50": _ms(response.percentile(0.5)),
                "p99": _ms(response.percentile(0.99)),
                "max": _ms(response.largest),
                "late": row.late if stated else 0,
                "lost": row.dropped + row.skipped,
                "deadline": due,
                "bound": _ms(bound.bound) if bound else None,
                "hist": histogram(*response.counts()),
                "worst": [at[0] - jobs.begin, at[1] - jobs.begin] if at else None,
            }
        )
    return found


def _due(jobs: Jobs, row: int) -> float | None:
    mine = np.flatnonzero(jobs.row == row)
    if not len(mine):
        return None
    first = jobs.kept[mine[0]]
    return _ms(int(first["deadline_ns"]) - int(first["release_ns"]))


def _chain(seen: Seen, jobs: Jobs) -> dict[str, Any]:
    at = None
    if seen.worst is not None:
        end = seen.worst_at - jobs.begin
        at = [end - seen.worst, end]
    row = seen.row
    return {
        "name": seen.chain.name,
        "semantics": seen.chain.semantics,
        "callbacks": seen.chain.callbacks,
        "jobs": row["count"],
        "p50": row["p50_ms"],
        "p99": row["p99_ms"],
        "max": row["worst_ms"],
        "late": row["misses"],
        "lost": row["silences"],
        "deadline": row["deadline_ms"],
        "bound": row["bound_ms"],
        "hist": histogram(np.array(seen.values, dtype=np.int64)),
        "worst": at,
        "path": _path(seen.worst_path, jobs),
    }


def _path(keys: Sequence[tuple[bytes, int, int, int]], jobs: Jobs) -> list[int]:
    """Return the numbers of jobs, of those that are kept."""
    ran = np.flatnonzero(jobs.kept["outcome"] <= layout.EXCEPTION)
    found = []
    for boot, process, executor, sequence in dict.fromkeys(keys):
        number = jobs.executors.get((boot, process, executor))
        if number is None:
            continue
        wanted = number_of(np.array([number], np.uint64), np.array([sequence], np.uint64))
        found += ran[jobs.key[ran] == wanted[0]][:1].tolist()
    return found
