# Copyright 2026 The rclrt Authors
# SPDX-License-Identifier: Apache-2.0
"""Records as lines of text, in the order in which jobs were ready."""

import fnmatch
from collections.abc import Iterator
from dataclasses import dataclass

import numpy as np
import numpy.typing as npt
from rclrt_tools.live.files import printable
from rclrt_tools.trace import NO_DEADLINE, Records, layout
from rclrt_tools.views.blockers import Blockers
from rclrt_tools.views.timeline import Ints, Numbers, Timeline

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
                name = printable(source.callbacks[id_].name)
                names.append(f"{printable(source.label)}: {name}" if several else name)
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
    columns = zip(
        _times(records),
        _places(records),
        _outcomes(records),
        _causes(records),
        index.tolist(),
        records["sequence"].tolist(),
        waited,
        strict=True,
    )
    return [
        f"{times} {place} {outcome} {cause:24} {names[number]} #{sequence}{wait}"
        for times, place, outcome, cause, number, sequence, wait in columns
    ]


def _times(records: Records) -> list[str]:
    """Return the release, s; ready, start, end, CPU time and lateness, ms, or `-`."""
    release = records["release_ns"]
    due = records["deadline_ns"]
    has_due = (due != NO_DEADLINE) & (np.abs(due // 2) < 2**60)
    ran = records["outcome"] <= layout.EXCEPTION
    columns = (
        (records["ready_ns"] - release, ran),
        (records["start_ns"] - release, ran),
        (records["end_ns"] - release, ran),
        (records["cpu_ns"], records["cpu_ns"] >= 0),
        (records["end_ns"] - np.where(has_due, due, 0), has_due & ran),
    )
    # One format for each set of columns that are known. `%.0s` takes a value and writes nothing.
    known = sum(is_known.astype(np.uint8) << bit for bit, (_, is_known) in enumerate(columns))
    formats = [
        "%16.9f" + "".join(" %9.3f" if n >> bit & 1 else "         -%.0s" for bit in range(5))
        for n in range(32)
    ]
    values = zip(
        (release / 1e9).tolist(), *((one / 1e6).tolist() for one, _ in columns), strict=True
    )
    return [formats[n] % row for n, row in zip(known.tolist(), values, strict=True)]


def _places(records: Records) -> list[str]:
    """Return where each ran, and with what: few different ones, so each is made once."""
    columns = [records[name].tolist() for name in ("thread", "cpu", "policy", "priority")]
    keys = list(zip(*columns, strict=True))
    texts = {
        key: f"{key[0]:8} {key[1]:3} {f'{layout.word(layout.POLICIES, key[2])} {key[3]}':>11}"
        for key in set(keys)
    }
    return [texts[key] for key in keys]


def _outcomes(records: Records) -> list[str]:
    keys = list(zip(records["outcome"].tolist(), records["jobs"].tolist(), strict=True))
    texts = {
        (outcome, jobs): layout.word(layout.OUTCOMES, outcome)
        + (f" {jobs}" if outcome > layout.EXCEPTION else "")
        for outcome, jobs in set(keys)
    }
    return [f"{texts[key]:9}" for key in keys]


def _causes(records: Records) -> list[str]:
    words = [layout.word(layout.CAUSES, cause) for cause in range(256)]
    by = zip(
        records["cause"].tolist(),
        records["by_executor"].tolist(),
        records["by_callback"].tolist(),
        records["by_sequence"].tolist(),
        strict=True,
    )
    return [
        f"job {executor}/{callback} #{sequence}" if cause == layout.CAUSE_JOB else words[cause]
        for cause, executor, callback, sequence in by
    ]
