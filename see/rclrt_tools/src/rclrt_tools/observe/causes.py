# Copyright 2026 The rclrt Authors
# SPDX-License-Identifier: Apache-2.0
"""Which callback releases which, as the records say; nothing is guessed from times."""

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, field

import numpy as np

from rclrt_tools.observe.parts import Ints, Key, Part, joined
from rclrt_tools.observe.times import Busy
from rclrt_tools.trace import Records, layout

SOON = 0.1
"""The share of messages, of those that a thread may have seen late, that it has not."""
ODD = np.uint64(0x9E3779B97F4A7C15)


@dataclass
class Causes:
    """What releases jobs.

    edges: How many jobs of the second callback one job of the first releases at most.
    outside: By callback: when jobs were released by what is in no trace, sorted.
    unknown: By callback: how many jobs were released nobody knows by what.
    transport: Longest time from a publication, or the end of the job it was in, to the release, ns.
        Without the time in which the reader's executor, or its CPUs, had other jobs.
    missing: By callback: executors of its process that released jobs of it, and whose trace is not
        here.
    circle: Callbacks that release each other; what they release of each other is in `outside`.
    """

    edges: dict[tuple[Key, Key], int] = field(default_factory=dict)
    outside: dict[Key, Ints] = field(default_factory=dict)
    unknown: dict[Key, int] = field(default_factory=dict)
    transport: int = 0
    missing: dict[Key, list[int]] = field(default_factory=dict)
    circle: list[Key] = field(default_factory=list)


@dataclass(frozen=True)
class _Publications:
    """All publications that know their numbers, by a mix of these."""

    mixed: Ints
    records: Records
    part: Ints

    @classmethod
    def of(cls, parts: Sequence[Part]) -> "_Publications":
        every = [list(part.published.values()) for part in parts]
        records = joined(mine for several in every for mine in several)
        part = np.repeat(np.arange(len(parts)), [sum(map(len, several)) for several in every])
        known = (records["publisher"] != 0) & (records["message"] != layout.NO_MESSAGE)
        mixed = _mix(records)
        order = np.flatnonzero(known)
        order = order[np.argsort(mixed[order])]
        return cls(mixed[order], records[order], part[order])

    def find(self, jobs: Records) -> Ints:
        """Return the place of the publication that released each job, or -1."""
        if not len(self.mixed) or not len(jobs):
            return np.full(len(jobs), -1, dtype=np.int64)
        mixed = _mix(jobs)
        place = np.minimum(np.searchsorted(self.mixed, mixed), len(self.mixed) - 1)
        there = self.records[place]
        same = (there["publisher"] == jobs["publisher"]) & (there["message"] == jobs["message"])
        return np.where(same, place, -1)  # What is unknown is not among them.


class _Hindered:
    """When all threads of a reader's executor, or all of its CPUs, had jobs.

    by_cpus: When all of some CPUs had jobs, by clock and mask: kept for other readers.
    """

    def __init__(
        self, parts: Sequence[Part], reader: Part, by_cpus: dict[tuple[bytes, int], Busy]
    ) -> None:
        cpus = reader.cpus
        self._busy = [Busy([reader], len(reader.values_of("thread")))]
        if (key := (reader.clock, cpus)) not in by_cpus:
            beside = [one for one in parts if one.clock == reader.clock and not one.cpus & ~cpus]
            by_cpus[key] = Busy(beside, max(1, cpus.bit_count()))
        self._busy.append(by_cpus[key])

    def between(self, begin: Ints, end: Ints) -> Ints:
        """Return for how long that kept what was published from being seen, ns.

        What still goes on when the message is there has not kept it.
        """
        times: Ints = np.max([one.over_between(begin, end) for one in self._busy], axis=0)
        return times


def _mix(records: Records) -> Ints:
    mixed: Ints = (records["publisher"].astype(np.uint64) * ODD + records["message"]).view(np.int64)
    return mixed


def causes_of(parts: Sequence[Part], timers: set[Key], longest: bool = True) -> Causes:
    """Return what releases the jobs of all callbacks that are no timers.

    longest: Whether `transport` is the longest time where readers run in real time. Others may have
        waited for other programs: of them it is the median of the messages whose arrival is known,
        or else of those that were seen soonest.
    """
    found = Causes()
    number = _numbers(parts)
    publications = _Publications.of(parts)
    by_edge: dict[tuple[Key, Key], Ints] = {}
    by_cpus: dict[tuple[bytes, int], Busy] = {}
    for i, part in enumerate(parts):
        hindered = _Hindered(parts, part, by_cpus)
        is_fair = bool(part.values_of("policy") & set(layout.FAIR))
        for id_, jobs in part.ran.items():
            key = (i, id_)
            if key in timers:
                continue
            found.unknown[key] = int((jobs["cause"] == layout.CAUSE_UNKNOWN).sum())
            by = np.unique(jobs["by_executor"][jobs["cause"] == layout.CAUSE_JOB]).tolist()
            here = (part.clock, part.header.process)
            missing = [executor for executor in by if (*here, executor) not in number]
            if missing:
                found.missing[key] = missing
            is_inside = np.zeros(len(jobs), dtype=np.bool_)
            for source, chosen, sequence, published in _sources(
                parts, number, publications, part, jobs
            ):
                is_inside |= chosen
                releases = np.sort(jobs["release_ns"][chosen])
                by_edge[source, key] = releases
                most = int(np.unique(sequence, return_counts=True)[1].max())
                found.edges[source, key] = most
                release = jobs["release_ns"][chosen]
                way = release - published - hindered.between(published, release)
                if (
                    is_fair
                ):  # Its thread may have waited to see those that came before it was ready.
                    came = jobs["ready_ns"][chosen] > release
                    way = way[came] if came.any() else way[way <= np.quantile(way, SOON)]
                usual = is_fair or not longest
                found.transport = max(found.transport, int(np.median(way) if usual else way.max()))
            lost = part.lost.get(id_, jobs[:0])
            lost = lost[lost["cause"] != layout.CAUSE_JOB]
            outside = np.concatenate((jobs["release_ns"][~is_inside], lost["release_ns"]))
            if len(outside):
                found.outside[key] = np.sort(outside)
    _cut_circles(found, by_edge)
    return found


def _numbers(parts: Sequence[Part]) -> dict[tuple[bytes, int, int], int]:
    """Return the number of each part that says which executor it is."""
    return {
        (part.clock, part.header.process, part.header.executor): i
        for i, part in enumerate(parts)
        if part.header.executor
    }


def _sources(
    parts: Sequence[Part],
    number: Mapping[tuple[bytes, int, int], int],
    publications: _Publications,
    part: Part,
    jobs: Records,
) -> list[tuple[Key, np.ndarray, Ints, Ints]]:
    """Return for each callback that released some jobs: which, by which of its jobs, and when."""
    found = []
    by_job = jobs["cause"] == layout.CAUSE_JOB
    for executor in np.unique(jobs["by_executor"][by_job]).tolist():
        there = number.get((part.clock, part.header.process, executor))
        if there is None:
            continue
        of_executor = by_job & (jobs["by_executor"] == executor)
        for callback in np.unique(jobs["by_callback"][of_executor]).tolist():
            publishers = parts[there].ran.get(callback)
            if publishers is None:
                continue
            chosen = of_executor & (jobs["by_callback"] == callback)
            sequence = jobs["by_sequence"][chosen]
            ended = _ends(publishers, sequence, jobs["release_ns"][chosen])
            found.append(((there, callback), chosen, sequence, ended))
    place = np.where(by_job, -1, publications.find(jobs))
    for there in np.unique(publications.part[place[place >= 0]]).tolist():
        of_part = (place >= 0) & (publications.part[place] == there)
        callbacks = publications.records["callback"][place]
        for callback in np.unique(callbacks[of_part]).tolist():
            chosen = of_part & (callbacks == callback)
            if callback not in parts[there].ran:
                continue
            origin = publications.records[place[chosen]]
            one_clock = parts[there].clock == part.clock
            published = origin["end_ns"] if one_clock else jobs["release_ns"][chosen]
            found.append(((there, callback), chosen, origin["sequence"], published))
    return found


def roots_of(parts: Sequence[Part], timers: set[Key], causes: Causes) -> Iterator[tuple[Key, Ints]]:
    """Yield for each callback when that was released which has led to each of its jobs, ns."""
    roots = {
        (i, id_): jobs["release_ns"]
        for i, part in enumerate(parts)
        for id_, jobs in part.ran.items()
    }
    number, publications = _numbers(parts), _Publications.of(parts)
    links = []
    for key, release in roots.items():
        part = parts[key[0]]
        found = (
            [] if key in timers else _sources(parts, number, publications, part, part.ran[key[1]])
        )
        for source, chosen, sequence, _ in found:
            if (source, key) not in causes.edges or parts[source[0]].clock != part.clock:
                continue  # Part of a circle, or of a machine with another clock.
            place = _place_of(parts[source[0]].ran[source[1]], sequence)
            links.append((source, key, np.flatnonzero(chosen)[place >= 0], place[place >= 0]))
        roots[key] = release.copy()
    changed = True
    while changed:  # As many times as the longest way has steps.
        changed = False
        for source, key, mine, place in links:
            origin = roots[source][place]
            changed = changed or not np.array_equal(roots[key][mine], origin)
            roots[key][mine] = origin
    yield from roots.items()


def _place_of(jobs: Records, sequence: Ints) -> Ints:
    """Return the places of the jobs with these numbers, or -1."""
    order = np.argsort(jobs["sequence"])
    numbers = jobs["sequence"][order]
    place = np.minimum(np.searchsorted(numbers, sequence), len(numbers) - 1)
    return np.where(numbers[place] == sequence, order[place], -1)


def _ends(publishers: Records, sequence: Ints, otherwise: Ints) -> Ints:
    place = _place_of(publishers, sequence)
    return np.where(place >= 0, publishers["end_ns"][place], otherwise)


def _cut_circles(found: Causes, by_edge: Mapping[tuple[Key, Key], Ints]) -> None:
    """Take edges out until no callback releases itself, by whatever way."""
    after: dict[Key, set[Key]] = {}
    before: dict[Key, int] = {}
    for source, target in found.edges:
        after.setdefault(source, set()).add(target)
        before[target] = before.get(target, 0) + 1
    ready = [key for key in after if not before.get(key)]
    while ready:
        for target in after.pop(ready.pop(), ()):
            before[target] -= 1
            if not before[target]:
                ready.append(target)
    left = {key for key in after if before.get(key)}
    found.circle = sorted(left)
    for source, target in list(found.edges):
        if source in left and target in left:
            del found.edges[source, target]
            outside = found.outside.get(target, np.zeros(0, dtype=np.int64))
            found.outside[target] = np.sort(np.append(outside, by_edge[source, target]))
