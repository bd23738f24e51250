# Copyright 2026 The rclrt Authors
# SPDX-License-Identifier: Apache-2.0
"""Whatever is made of a trace, a longer one takes no more memory."""

import contextlib
import tracemalloc
from collections.abc import Callable
from pathlib import Path

import numpy as np
import pytest
from models import SCHEMA
from rclrt_tools.observe import observe
from rclrt_tools.pages import jobs as of_page
from rclrt_tools.pages.trace_page import make_page
from rclrt_tools.trace import Entry, Header, Trace, blank, layout, named_traces, write_trace
from rclrt_tools.views import mcap, perfetto, summary, timeline
from rclrt_tools.views.lines import Filter, lines
from rclrt_tools.views.mcap import write_mcap
from rclrt_tools.views.perfetto import write_perfetto
from rclrt_tools.views.summary import summarize
from rclrt_tools.views.timeline import Source, Timeline, close, open_sources

CALLBACKS = 20
AT_ONCE = 1_000_000


def make_trace(path: Path, count: int) -> None:
    """Write a trace of so many jobs, 10 us apart."""
    header = Header(
        bytes(range(16)), 10**18, 4200, 1, layout.MODEL_PREEMPTIVE, layout.ORDER_FIRST_COME
    )
    kinds = (layout.KIND_TIMER, layout.KIND_SUBSCRIPTION)
    entries = {i: Entry(f"/node{i}", i, f"/g{i}", 1, kinds[i % 2]) for i in range(CALLBACKS)}
    write_trace(Trace(entries, blank(0), 0, header), path)
    dice = np.random.default_rng(1)
    with path.open("ab") as stream:
        for first in range(0, count, AT_ONCE):
            number = np.arange(first, min(count, first + AT_ONCE))
            records = blank(len(number))
            release = number * 10_000 + dice.integers(0, 5_000, len(number))
            records["release_ns"] = records["root_ns"] = release
            records["ready_ns"] = release + 500
            records["start_ns"] = release + 2_000 + dice.integers(0, 3_000, len(number))
            records["cpu_ns"] = dice.integers(5_000, 9_000, len(number))
            records["end_ns"] = records["start_ns"] + records["cpu_ns"]
            records["deadline_ns"] = release + 1_000_000
            records["sequence"], records["callback"] = number, number % CALLBACKS
            records["thread"], records["cause"] = 100 + number % 4, layout.CAUSE_TIMER
            records["waited_for"][number % 4 == 0] = layout.WAITED_FOR_THREAD
            caused = np.flatnonzero(number % 2)
            records["cause"][caused] = layout.CAUSE_JOB
            records["by_sequence"][caused] = number[caused] - 1
            records["by_callback"][caused] = (number[caused] - 1) % CALLBACKS
            records["by_executor"][caused] = 1
            for part in np.array_split(records, 16):
                stream.write(layout.CHUNK.pack(layout.CHUNK_RECORDS, part.nbytes) + part.tobytes())


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
