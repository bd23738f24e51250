# Copyright 2026 The rclrt Authors
# SPDX-License-Identifier: Apache-2.0
"""Records as lines of text, in the order in which jobs were ready."""

from __future__ import annotations

import fnmatch
from collections.abc import Iterator
from dataclasses import dataclass

import numpy as np
import numpy.typing as npt

from rclrt_analysis.trace import NO_DEADLINE, Records, layout
from rclrt_analysis.views.blockers import Blockers
from rclrt_analysis.views.numbers import Ints, Numbers
from rclrt_analysis.views.timeline import Timeline

HEAD = (
    f"{'release, s':>16} {'ready':>9} {'start':>9} {'end':>9} {'cpu, ms':>9} {'late, ms':>9} "
    f"{'thread':>8} {'cpu':>3} {'policy':>11} {'outcome':9} {'released by':24} "
    "callback #job < waited for"
)

AT_ONCE = 1 << 13
"""Records of which there are texts at a time: these take ten times as much memory."""


@dataclass(frozen=True)
class Filter:
    """Which records to show; times in ns after the first."""

    callback: str = "*"
    begin: int | None = None
    end: int | None = None


def _ms(values: Ints, known: np.ndarray) -> list[str]:
    numbers = (values / 1e6).tolist()
    return [
        f"{number:9.3f}" if one else "        -"
        for number, one in zip(numbers, known.tolist(), strict=True)
    ]


def _clean(text: str) -> str:
    return "".join(c if c.isprintable() else "?" for c in text)


def lines(timeline: Timeline, chosen: Filter) -> Iterator[str]:
    """Yield a block of lines at a time. Ready, start and end are ms after the release."""
    numbers: Numbers | None = None
    names: list[str] = []
    blockers = Blockers(timeline.sources)
    first = 0
    yield HEAD
    for batch in timeline.batches():
        if numbers is None:
            numbers = Numbers(timeline.sources)
            several = len(timeline.sources) > 1
            for number, id_ in numbers.callbacks:
                source = timeline.sources[number]
                name = _clean(source.callbacks[id_].name)
                names.append(f"{_clean(source.label)}: {name}" if several else name)
            wanted = np.array(
                [
                    fnmatch.fnmatchcase(
                        timeline.sources[number].callbacks[id_].name, chosen.callback
                    )
                    for number, id_ in numbers.callbacks
                ]
            )
            first = int(batch.records["release_ns"].min())
        records = batch.records
        index = numbers.index(batch.source, records["callback"])
        waited = _waited_for(records, batch.source, blockers, numbers, names)
        show = wanted[index]
        if chosen.begin is not None:
            show = show & (records["end_ns"] - first >= chosen.begin)
        if chosen.end is not None:
            show = show & (records["release_ns"] - first <= chosen.end)
        places = np.flatnonzero(show)
        for begin in range(0, len(places), AT_ONCE):
            part = places[begin : begin + AT_ONCE]
            yield "\n".join(_format(records[part], index[part], waited[part].tolist(), names))


def _waited_for(
    records: Records, source: Ints, blockers: Blockers, numbers: Numbers, names: list[str]
) -> npt.NDArray[np.object_]:
    """Return what stands at the end of each line."""
    callback, sequence = blockers.find(records, source)
    known = callback >= 0
    by = numbers.index(source, np.where(known, callback, 0).astype(np.uint32))
    found = np.full(len(records), "", dtype=object)
    for i in np.flatnonzero(records["waited_for"] != layout.WAITED_FOR_NOTHING).tolist():
        found[i] = f" < {layout.word(layout.WAITS, int(records['waited_for'][i]))}"
        if known[i]:
            found[i] += f": {names[by[i]]} #{sequence[i]}"
    return found


def _format(records: Records, index: Ints, waited: list[str], names: list[str]) -> list[str]:
    release = records["release_ns"]
    due = records["deadline_ns"]
    has_due = (due != NO_DEADLINE) & (np.abs(due // 2) < 2**60)
    ran = records["outcome"] <= layout.EXCEPTION
    columns = zip(
        (release / 1e9).tolist(),
        _ms(records["ready_ns"] - release, ran),
        _ms(records["start_ns"] - release, ran),
        _ms(records["end_ns"] - release, ran),
        _ms(records["cpu_ns"], records["cpu_ns"] >= 0),
        _ms(records["end_ns"] - np.where(has_due, due, 0), has_due & ran),
        records["thread"].tolist(),
        records["cpu"].tolist(),
        _policies(records),
        records["outcome"].tolist(),
        records["jobs"].tolist(),
        _causes(records),
        index.tolist(),
        records["sequence"].tolist(),
        waited,
        strict=True,
    )
    return [
        f"{at:16.9f} {ready} {start} {end} {cpu_ms} {late} {thread:8} {cpu:3} {policy:>11} "
        f"{layout.word(layout.OUTCOMES, outcome) + (f' {jobs}' if outcome > 2 else ''):9} "
        f"{cause:24} {names[number]} #{sequence}{wait}"
        for (
            at, ready, start, end, cpu_ms, late, thread, cpu, policy, outcome, jobs, cause, number,
            sequence, wait,
        ) in columns
    ]  # fmt: skip


def _policies(records: Records) -> list[str]:
    pairs = zip(records["policy"].tolist(), records["priority"].tolist(), strict=True)
    return [f"{layout.word(layout.POLICIES, policy)} {priority}" for policy, priority in pairs]


def _causes(records: Records) -> list[str]:
    by = zip(
        records["cause"].tolist(),
        records["by_executor"].tolist(),
        records["by_callback"].tolist(),
        records["by_sequence"].tolist(),
        strict=True,
    )
    return [
        f"job {executor}/{callback} #{sequence}"
        if cause == layout.CAUSE_JOB
        else layout.word(layout.CAUSES, cause)
        for cause, executor, callback, sequence in by
    ]
