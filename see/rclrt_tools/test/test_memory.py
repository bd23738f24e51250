# Copyright 2026 The rclrt Authors
# SPDX-License-Identifier: Apache-2.0
"""Whatever is made of a trace, a longer one takes no more memory."""

from __future__ import annotations

import contextlib
import tracemalloc
from collections.abc import Callable
from pathlib import Path

import numpy as np
import pytest
from long_trace import make_trace
from models import SCHEMA
from rclrt_tools.observe import observe
from rclrt_tools.pages import jobs as of_page
from rclrt_tools.pages.trace_page import make_page
from rclrt_tools.trace import named_traces
from rclrt_tools.views import compare, mcap, perfetto, summary, timeline
from rclrt_tools.views.compare import Blocks, series_of
from rclrt_tools.views.lines import Filter, lines
from rclrt_tools.views.mcap import write_mcap
from rclrt_tools.views.perfetto import write_perfetto
from rclrt_tools.views.summary import summarize
from rclrt_tools.views.timeline import Source, Timeline, close, open_sources

BLOCK = 1 << 9
SHORT, LONG = 16 * BLOCK, 80 * BLOCK


def export(write: Callable[[Timeline, Path], int]) -> Callable[[list[Source], Path], int]:
    return lambda sources, folder: write(Timeline(sources, BLOCK), folder / "out")


def page(sources: list[Source], folder: Path) -> None:
    (folder / "out").write_text(make_page("page", sources), encoding="utf-8")


def printed(sources: list[Source], folder: Path) -> None:
    for _ in lines(Timeline(sources, BLOCK), Filter()):
        pass


FORMATS: dict[str, Callable[[list[Source], Path], object]] = {
    "perfetto": export(write_perfetto),
    "mcap": export(write_mcap),
    "print": printed,
    "info": lambda sources, _: summarize(Timeline(sources, BLOCK)),
    "diff": lambda sources, _: series_of(Timeline(sources, BLOCK)),
    "page": page,
}


def peak(count: int, make: Callable[[list[Source], Path], object], folder: Path) -> int:
    """Return how many bytes it takes at most to make something of a trace of so many jobs."""
    path = folder / f"{count}.trace"
    make_trace(path, count)
    tracemalloc.start()
    with contextlib.ExitStack() as stack:
        stack.callback(tracemalloc.stop)
        sources = open_sources([path])
        stack.callback(close, sources)
        make(sources, folder)
        return tracemalloc.get_traced_memory()[1]


@pytest.mark.parametrize("name", FORMATS)
def test_five_times_as_many_jobs_take_no_more_memory(
    name: str, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """With limits so small that the short trace reaches them, too."""
    monkeypatch.setattr(perfetto, "REMEMBERED", 1 << 10)
    monkeypatch.setattr(mcap, "IN_MEMORY", 1 << 12)
    monkeypatch.setattr(compare, "GRAIN", 1 << 4)
    monkeypatch.setattr(of_page, "MOST_JOBS", 1 << 12)
    monkeypatch.setattr(of_page, "CELLS", 1 << 13)
    monkeypatch.setattr(timeline.Timeline.__init__, "__defaults__", (BLOCK,))
    monkeypatch.setattr(summary, "MOST_VALUES", 1 << 6)
    monkeypatch.setattr(summary, "BITS", 3)
    monkeypatch.setattr(summary, "FEWEST_BITS", 3)
    make = FORMATS[name]
    peak(SHORT, make, tmp_path)  # What is made once and kept.
    short, long = (peak(count, make, tmp_path) for count in (SHORT, LONG))
    more = (LONG - SHORT) * 128
    assert long - short < more / 100, f"{short} and {long} bytes"


def test_a_model_takes_less_than_twice_the_memory_of_its_records(tmp_path: Path) -> None:
    def taken(count: int) -> int:
        make_trace(tmp_path / f"{count}.trace", count)
        traces = named_traces([tmp_path / f"{count}.trace"])
        tracemalloc.start()
        with contextlib.ExitStack() as stack:
            stack.callback(tracemalloc.stop)
            observe(traces, SCHEMA)
            return tracemalloc.get_traced_memory()[1]

    taken(SHORT)  # What is made once and kept.
    each = (taken(LONG) - taken(SHORT)) / (LONG - SHORT)
    assert each < 2 * 128, f"{each} bytes a record"


def test_of_a_block_no_more_values_are_kept_than_a_median_is_taken_of() -> None:
    values = np.random.default_rng(1).normal(0, 1, 15_900)
    Blocks().add(values)
    tracemalloc.start()
    with contextlib.ExitStack() as stack:
        stack.callback(tracemalloc.stop)
        blocks = Blocks()
        for _ in range(100):
            blocks.add(values)
        kept = tracemalloc.get_traced_memory()[0]
    assert blocks.size > 4 * compare.GRAIN
    assert kept < 4 * 8 * compare.GRAIN, f"{kept} bytes"
    assert np.allclose(blocks.medians, 0, atol=0.05)
