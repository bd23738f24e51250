# Copyright 2026 The rclrt Authors
# SPDX-License-Identifier: Apache-2.0
"""Traces for the Perfetto viewer.

Of each process: a slice for each job on the track of its thread, and on the track of its callback,
there with deadline and lateness; an arrow from the job that published to the job it released;
counters of jobs that wait, and of those that were dropped or skipped. The last step of a chain has
the way to its root in its arrows.

Files of one format may be joined byte by byte: `cat` adds a recording of the kernel's scheduler.
"""

from collections.abc import Sequence
from functools import cache
from pathlib import Path
from typing import BinaryIO

import numpy as np
import numpy.typing as npt
from perfetto.protos.perfetto.trace.perfetto_trace_pb2 import TracePacket, TrackEvent
from rclrt_tools.trace import NO_DEADLINE, Records, layout
from rclrt_tools.views.blockers import Blockers
from rclrt_tools.views.timeline import NEVER, Ints, Source, Timeline
from rclrt_tools.views.tracks import (
    ARGUMENTS,
    COUNTERS,
    MIDDLE,
    NAMES,
    SEQUENCE,
    WORDS,
    Marks,
    Template,
    Tracks,
    fixed,
    framed,
    short_varints,
)
from rclrt_tools.views.tracks import varints as wide

NS_PER_MS = 1e6
REMEMBERED = 1 << 18
"""Publications that are kept for the jobs they may release."""

Tracked = npt.NDArray[np.uint64]

MIX = (np.uint64(0x9E3779B97F4A7C15), np.uint64(0xC2B2AE3D27D4EB4F), np.uint64(0x165667B19E3779F9))


def _event(packet: TracePacket, marks: Marks, kind: int) -> TrackEvent:
    packet.timestamp = marks.large("time")
    packet.trusted_packet_sequence_id = SEQUENCE
    packet.sequence_flags = TracePacket.SEQ_NEEDS_INCREMENTAL_STATE
    packet.track_event.type = kind
    packet.track_event.track_uuid = marks.large("track")
    return packet.track_event


def _argument(event: TrackEvent, name: str, marks: Marks) -> None:
    annotation = event.debug_annotations.add()
    annotation.name_iid = ARGUMENTS.index(name) + 1
    if name.endswith("_ms"):
        annotation.double_value = marks.double(name)
    else:
        annotation.uint_value = marks.large(name)


@cache
def _end() -> Template:
    return Template(lambda packet, marks: _event(packet, marks, TrackEvent.TYPE_SLICE_END) and None)


@cache
def _counter() -> Template:
    def fill(packet: TracePacket, marks: Marks) -> None:
        event = _event(packet, marks, TrackEvent.TYPE_COUNTER)
        event.double_counter_value = marks.double("value")

    return Template(fill)


@cache
def _plain(outcome: int) -> Template:
    def fill(packet: TracePacket, marks: Marks) -> None:
        event = _event(packet, marks, TrackEvent.TYPE_SLICE_BEGIN)
        event.name_iid = marks.middle("name")
        event.category_iids.append(outcome + 1)

    return Template(fill)


@cache
def _full(form: int) -> Template:
    """Return the begin of a slice with arguments; the bits of the form say which, see `_forms`."""

    def fill(packet: TracePacket, marks: Marks) -> None:
        event = _event(packet, marks, TrackEvent.TYPE_SLICE_BEGIN)
        event.name_iid = marks.middle("name")
        event.category_iids.append((form >> 6) + 1)
        names = ["response_ms", "waiting_ms", "sequence"]
        names += ["execution_ms"] if form & 1 else []
        names += ["deadline_ms", "lateness_ms"] if form & 2 else []
        for name in names:
            _argument(event, name, marks)
        waited = form >> 3 & 3
        if waited:
            blocked = event.debug_annotations.add()
            blocked.name_iid = ARGUMENTS.index("blocked_by") + 1
            blocked.string_value = WORDS[waited]
        if form & 32:
            blocked = event.debug_annotations.add()
            blocked.name_iid = ARGUMENTS.index("blocked_by_callback") + 1
            blocked.string_value_iid = marks.middle("blocker")
            _argument(event, "blocked_by_sequence", marks)
        if form & 4:
            event.flow_ids.append(marks.fixed("flow"))

    return Template(fill)


def _forms(jobs: Records, caused: npt.NDArray[np.bool_], blocked: npt.NDArray[np.bool_]) -> Ints:
    form = (jobs["cpu_ns"] >= 0).astype(np.int64)
    form |= (_has_deadline(jobs)).astype(np.int64) << 1
    form |= caused.astype(np.int64) << 2
    form |= np.where(jobs["waited_for"] < len(WORDS), jobs["waited_for"], 0).astype(np.int64) << 3
    return form | blocked.astype(np.int64) << 5 | jobs["outcome"].astype(np.int64) << 6


def _has_deadline(jobs: Records) -> npt.NDArray[np.bool_]:
    found: npt.NDArray[np.bool_] = (jobs["deadline_ns"] != NO_DEADLINE) & (
        np.abs(jobs["deadline_ns"] // 2) < NEVER // 4
    )
    return found


@cache
def _instant(name: str, flow: bool) -> Template:
    def fill(packet: TracePacket, marks: Marks) -> None:
        event = _event(packet, marks, TrackEvent.TYPE_INSTANT)
        event.name_iid = MIDDLE + NAMES.index(name)
        if flow:
            event.flow_ids.append(marks.fixed("flow"))
        else:
            _argument(event, "jobs", marks)

    return Template(fill)


class _Writer:
    def __init__(self, sources: Sequence[Source], stream: BinaryIO) -> None:
        self._stream = stream
        self._tracks = Tracks(sources)
        self._blockers = Blockers(sources)
        self._from = -NEVER
        self._to_begin = self._to_end = _Jobs.none()
        self._level = {(i, name): 0 for i in range(len(sources)) for name in COUNTERS}
        self._steps: list[tuple[Ints, Ints, Ints]] = []
        self._published: tuple[Tracked, Tracked, Ints] = (
            np.zeros(0, np.uint64), np.zeros(0, np.uint64), np.zeros(0, np.int64),
        )  # fmt: skip
        self._write(self._tracks.describe())

    def _write(self, packets: object) -> None:
        for packet in packets:  # type: ignore[attr-defined]
            self._stream.write(framed(packet))

    def add(self, records: Records, source: Ints, horizon: int) -> None:
        """Write what happened before the horizon, and keep the rest."""
        index = self._tracks.index(source, records["callback"])
        outcome = records["outcome"]
        ran = np.flatnonzero(outcome <= layout.EXCEPTION)
        self._remember(records, source, index)
        blocker, blocker_job = self._blockers.find(records, source)
        known = np.flatnonzero(blocker >= 0)
        blocker[known] = self._tracks.index(source[known], blocker[known].astype(np.uint32))
        jobs = _Jobs(
            records[ran],
            source[ran],
            index[ran],
            self._tracks.lanes(index[ran], records[ran]),
            self._tracks.threads(source[ran], records[ran]),
            blocker[ran],
            blocker_job[ran],
        )
        self._write(self._tracks.new())
        begin, self._to_begin = self._to_begin.and_more(jobs).split("start_ns", horizon)
        end, self._to_end = self._to_end.and_more(jobs).split("end_ns", horizon)
        short = end.records["end_ns"] == end.records["start_ns"]
        # At one instant: what ends, arrows, what begins, then what took no time at all.
        self._ends(end.part(~short))
        caused = self._arrows(begin)
        self._given_up(records, source, index)
        self._begins(begin, caused)
        self._ends(end.part(short))
        self._count(jobs, records, source, horizon)

    def finish(self) -> None:
        """Write what is kept."""
        self.add(layout.blank(0), np.zeros(0, dtype=np.int64), NEVER)

    def _ends(self, jobs: "_Jobs") -> None:
        time = wide(jobs.records["end_ns"])
        for track in (jobs.thread, jobs.lane):
            self._stream.write(_end().rows(len(time), time=time, track=wide(track)))

    def _begins(self, jobs: "_Jobs", caused: npt.NDArray[np.uint64]) -> None:
        records = jobs.records
        form = _forms(records, caused != 0, jobs.blocker >= 0)
        columns = {
            "time": wide(records["start_ns"]),
            "name": short_varints(self._tracks.name_iids(jobs.index)),
        }
        thread = wide(jobs.thread)
        for outcome in np.unique(records["outcome"]).tolist():
            mine = np.flatnonzero(records["outcome"] == outcome)
            chosen = {name: column[mine] for name, column in columns.items()}
            self._stream.write(_plain(outcome).rows(len(mine), **chosen, track=thread[mine]))
        response = records["end_ns"] - records["release_ns"]
        due = np.where(_has_deadline(records), records["deadline_ns"], 0)
        columns |= {
            "track": wide(jobs.lane),
            "response_ms": fixed(response / NS_PER_MS),
            "waiting_ms": fixed((records["start_ns"] - records["ready_ns"]) / NS_PER_MS),
            "execution_ms": fixed(records["cpu_ns"] / NS_PER_MS),
            "deadline_ms": fixed((due - records["release_ns"]) / NS_PER_MS),
            "lateness_ms": fixed((records["end_ns"] - due) / NS_PER_MS),
            "sequence": wide(np.minimum(records["sequence"], np.uint64(2**63 - 1))),
            "flow": fixed(caused),
            "blocker": short_varints(self._tracks.name_iids(np.maximum(jobs.blocker, 0))),
            "blocked_by_sequence": wide(np.minimum(jobs.blocker_job, np.uint64(2**63 - 1))),
        }
        for one in np.unique(form).tolist():
            mine = np.flatnonzero(form == one)
            chosen = {name: column[mine] for name, column in columns.items()}
            self._stream.write(_full(one).rows(len(mine), **chosen))

    def _arrows(self, jobs: "_Jobs") -> npt.NDArray[np.uint64]:
        """Write where arrows begin; return their numbers, 0 for jobs without.

        That is on the track of the job that has published: so viewers follow a chain through it.
        """
        records = jobs.records
        origin = np.zeros(len(records), dtype=np.uint64)
        time = records["release_ns"].astype(np.int64)
        by_job = records["cause"] == layout.CAUSE_JOB
        for number in np.unique(jobs.source[by_job]).tolist():
            for executor in np.unique(
                records["by_executor"][by_job & (jobs.source == number)]
            ).tolist():
                there = self._tracks.by_executor.get((self._tracks.process(number), executor))
                if there is None:
                    continue
                mine = np.flatnonzero(
                    by_job & (jobs.source == number) & (records["by_executor"] == executor)
                )
                callbacks = records["by_callback"][mine]
                index = self._tracks.index(np.full(len(mine), there), callbacks)
                mine, index = mine[index >= 0], index[index >= 0]
                origin[mine] = self._tracks.base[index]
        self._from_publications(records, origin, time)
        caused = np.zeros(len(records), dtype=np.uint64)
        found = np.flatnonzero((origin != 0) & (time >= 0))
        if len(found):
            lane = self._tracks.base[jobs.index[found]]
            number = lane * MIX[0] ^ records["sequence"][found] * MIX[1]
            caused[found] = np.maximum(number ^ number >> np.uint64(29), np.uint64(1))
            self._stream.write(
                _instant("releases", True).rows(
                    len(found),
                    time=wide(time[found]),
                    track=wide(origin[found]),
                    flow=fixed(caused[found]),
                )
            )
        return caused

    def _from_publications(self, records: Records, origin: Tracked, time: Ints) -> None:
        """Find publications: in any process, and by which of the jobs that may run at once."""
        mixed, tracks, published = self._published
        asking = np.flatnonzero(records["publisher"] != 0)
        if not len(mixed) or not len(asking):
            return
        wanted = _mixed(records[asking])
        place = np.minimum(np.searchsorted(mixed, wanted), len(mixed) - 1)
        there = mixed[place] == wanted
        origin[asking[there]] = tracks[place[there]]
        time[asking[there]] = published[place[there]]

    def _remember(self, records: Records, source: Ints, index: Ints) -> None:
        new = np.flatnonzero((records["outcome"] == layout.PUBLISHED) & (records["publisher"] != 0))
        if len(new):
            mixed, known, time = self._published
            mixed = np.append(mixed, _mixed(records[new]))
            known = np.append(known, self._tracks.lanes(index[new], records[new]))
            time = np.append(time, records["end_ns"][new])
            newest = np.argsort(time, kind="stable")[-REMEMBERED:]
            order = newest[np.argsort(mixed[newest], kind="stable")]
            self._published = (mixed[order], known[order], time[order])

    def _given_up(self, records: Records, source: Ints, index: Ints) -> None:
        for outcome, name in ((layout.DROPPED, "dropped"), (layout.SKIPPED, "skipped")):
            mine = np.flatnonzero((records["outcome"] == outcome) & (records["end_ns"] >= 0))
            if len(mine):
                self._stream.write(
                    _instant(name, False).rows(
                        len(mine),
                        time=wide(records["end_ns"][mine]),
                        track=wide(self._tracks.base[index[mine]]),
                        jobs=wide(records["jobs"][mine]),
                    )
                )

    def _count(self, jobs: "_Jobs", records: Records, source: Ints, horizon: int) -> None:
        """Write counters, as far as nothing can come in between."""
        for name, chosen, time, change in (
            ("backlog", jobs.source, jobs.records["ready_ns"], 1),
            ("backlog", jobs.source, jobs.records["start_ns"], -1),
        ):
            kind = np.full(len(chosen), COUNTERS.index(name))
            self._steps.append((chosen * len(COUNTERS) + kind, time, np.full(len(time), change)))
        for name, outcome in (("dropped", layout.DROPPED), ("skipped", layout.SKIPPED)):
            mine = records["outcome"] == outcome
            kind = source[mine] * len(COUNTERS) + COUNTERS.index(name)
            jobs_given_up = records["jobs"][mine].astype(np.int64)
            self._steps.append((kind, records["end_ns"][mine], jobs_given_up))
        which, at_all, changes = (np.concatenate(part) for part in zip(*self._steps, strict=True))
        now = at_all < horizon
        self._steps = [(which[~now], at_all[~now], changes[~now])]
        which, at_all, changes = which[now], at_all[now], changes[now]
        for one in np.unique(which).tolist():
            mine = which == one
            order = np.argsort(at_all[mine], kind="stable")
            at = at_all[mine][order]
            number, name = divmod(one, len(COUNTERS))
            key = (number, COUNTERS[name])
            level = self._level[key] + np.cumsum(changes[mine][order])
            self._level[key] = int(level[-1])
            last = np.append(at[1:] != at[:-1], True)
            track = np.full(int(last.sum()), self._tracks.counter(*key), dtype=np.uint64)
            value = fixed(level[last].astype(np.float64))
            self._stream.write(
                _counter().rows(len(track), time=wide(at[last]), track=wide(track), value=value)
            )


class _Jobs:
    """Jobs that ran, with their tracks and the jobs that they waited for."""

    def __init__(
        self,
        records: Records,
        source: Ints,
        index: Ints,
        lane: npt.NDArray[np.uint64],
        thread: npt.NDArray[np.uint64],
        blocker: Ints,
        blocker_job: npt.NDArray[np.uint64],
    ) -> None:
        self.records = records
        self.source = source
        self.index = index
        self.lane = lane
        self.thread = thread
        self.blocker = blocker
        self.blocker_job = blocker_job

    @classmethod
    def none(cls) -> "_Jobs":
        ints, numbers = np.zeros(0, dtype=np.int64), np.zeros(0, dtype=np.uint64)
        return cls(layout.blank(0), ints, ints, numbers, numbers, ints, numbers)

    def and_more(self, other: "_Jobs") -> "_Jobs":
        return _Jobs(
            *(
                np.concatenate((mine, theirs)) if len(mine) else theirs
                for mine, theirs in zip(self._columns(), other._columns(), strict=True)
            )
        )

    def _columns(self) -> tuple[Records, ...]:
        return (
            self.records, self.source, self.index, self.lane, self.thread, self.blocker,
            self.blocker_job,
        )  # fmt: skip

    def part(self, chosen: npt.NDArray[np.bool_]) -> "_Jobs":
        """Return some of them."""
        if chosen.all():
            return self
        return _Jobs(*(column[chosen] for column in self._columns()))

    def split(self, name: str, horizon: int) -> "tuple[_Jobs, _Jobs]":
        """Return those of which a time is before the horizon, and the others."""
        now = self.records[name] < horizon
        return self.part(now), self.part(~now)


def _mixed(records: Records) -> npt.NDArray[np.uint64]:
    mixed: npt.NDArray[np.uint64] = records["publisher"] * MIX[0] ^ records["message"] * MIX[2]
    return mixed


def write_perfetto(timeline: Timeline, path: Path) -> int:
    """Write a Perfetto trace; return how many records are in it.

    Times before zero, which only an offset makes, are left out.
    """
    count = 0
    with path.open("wb") as stream:
        writer: _Writer | None = None
        for batch in timeline.batches():
            writer = writer or _Writer(timeline.sources, stream)
            fine = (batch.records["ready_ns"] >= 0) & (batch.records["release_ns"] > -NEVER)
            writer.add(batch.records[fine], batch.source[fine], batch.horizon)
            count += int(fine.sum())
        (writer or _Writer(timeline.sources, stream)).finish()
    return count
