# Copyright 2026 The rclrt Authors
# SPDX-License-Identifier: Apache-2.0
"""How long a chain took, instance by instance, from the records of its jobs.

The definitions are those of docs/concepts/chains.md. A datum is a job of the first callback. A
job of another callback uses the datum of the job that released it. If something else released it,
it uses the newest datum that the callback before has published when it starts. A callback that
waits for several inputs uses what each of them has brought last (`JoinWatch`).
"""

import itertools
from bisect import bisect_right, insort
from collections import deque
from collections.abc import Iterable, Mapping
from dataclasses import dataclass, field
from typing import Any

from rclrt_analysis.model import Chain, Kind, System
from rclrt_tools.watch.feed import Job, JobKey, JoinWatch, Message, Publication

NS_PER_S = 1_000_000_000
REMEMBERED_NS = 20 * NS_PER_S
"""A job that is older than this releases nothing any more."""

PATIENCE_NS = 2 * NS_PER_S
"""So long after a job has ended its publisher may go on."""

NO_INPUTS = ("/subscription/clock", "/subscription/parameter_events")
"""Topics that every node of rclcpp subscribes to: no join waits for these."""

KEPT = 10_000
"""Instances of which percentiles are made: the newest."""


@dataclass
class Seen:
    """What was seen of a chain; times in ns.

    last, worst: Of instances; None: there was none yet.
    worst_path: The jobs of the worst one, the first callback's first.
    in_a_row, most_in_a_row, peak: Misses without an instance in time between them: now, at most, at
        most since `take_peak`.
    silences: Times in which nothing new came out for `silent_after`.
    left_out: Outputs that used new data of this chain, which were not the last to come: `join:
        last` counts none of them.
    """

    count: int = 0
    last: int | None = None
    worst: int | None = None
    worst_at: int = 0
    worst_path: tuple[JobKey, ...] = ()
    misses: int = 0
    in_a_row: int = 0
    most_in_a_row: int = 0
    peak: int = 0
    silences: int = 0
    left_out: int = 0
    values: deque[int] = field(default_factory=lambda: deque(maxlen=KEPT))

    def add(self, value: int, at: int, deadline: int | None, path: tuple[JobKey, ...] = ()) -> None:
        """Count an instance that ended at `at`."""
        self.count += 1
        self.last = value
        self.values.append(value)
        if self.worst is None or value > self.worst:
            self.worst, self.worst_at, self.worst_path = value, at, path
        if deadline is not None:
            self.judge(value > deadline)

    def judge(self, missed: bool) -> None:
        """Count a miss, or that there was none."""
        self.misses += missed
        self.in_a_row = self.in_a_row + 1 if missed else 0
        self.most_in_a_row = max(self.most_in_a_row, self.in_a_row)
        self.peak = max(self.peak, self.in_a_row)

    def take_peak(self) -> int:
        """Return the most misses in a row since the last time, with those that last."""
        peak, self.peak = max(self.peak, self.in_a_row), self.in_a_row
        return peak


def shown_state(row: Mapping[str, Any]) -> str:
    """Return the state of a chain for people: OK is said alone only if nothing was ever missed."""
    state = str(row["state"])
    if state == "OK" and row["misses"]:
        state = "tolerated" if row["in_a_row"] else "OK again"
    return state + " silent" * bool(row["silent"])


class ChainWatch:
    """One chain. Give it all jobs and publications, then let it `settle`."""

    def __init__(self, system: System, chain: Chain) -> None:
        self.chain = chain
        self.seen = Seen()
        self._place = {name: i for i, name in enumerate(chain.callbacks)}
        self._samples = [False] * len(chain.callbacks)
        every = [system.callback_of[name] for name in chain.callbacks]
        self._by_timer = every[0].kind is Kind.TIMER
        self._inputs = [len(c.triggers) if c.wants_all else 0 for c in every]
        for i, (before, callback) in enumerate(itertools.pairwise(every), 1):
            is_read = bool(set(before.publishes) & set(callback.reads))
            self._samples[i] = is_read or callback.wants_all
        self._last_only = chain.join == "last" and any(self._inputs[1:])
        self._joins: dict[int, JoinWatch] = {}
        self._to_join: list[tuple[int, Job]] = []
        self._used: dict[JobKey, tuple[Job, ...]] = {}
        self._jobs: list[dict[JobKey, Job]] = [{} for _ in chain.callbacks]
        self._begun: list[JobKey] = []  # Jobs of the first callback, in order, also forgotten ones.
        self._sent: dict[Message, Publication] = {}
        self._sent_at: dict[JobKey, int] = {}
        self._outputs: list[Job] = []
        self._ends: list[list[tuple[int, JobKey]]] = [[] for _ in chain.callbacks]
        self._answered: JobKey | None = None
        self._newest_output: int | None = None
        self._silent_since: int | None = None
        self._begin: int | None = None

    def add(
        self, jobs: Iterable[Job], publications: Iterable[Publication], whole: bool = True
    ) -> None:
        """Take what is new of one executor, in any order.

        whole: Whether nothing came before what is there of it now and since.
        """
        for publication in publications:
            self._sent[publication.message] = publication
            self._sent_at.setdefault(publication.by, publication.time)
        for job in jobs:
            place = self._place.get(job.callback)
            if place is None or not job.ran:
                continue
            if not (job.input and self._inputs[place]):
                self._take(place, job)
            elif not job.input.endswith(NO_INPUTS):
                self._joins.setdefault(place, JoinWatch(self._inputs[place], whole))
                self._remember(place, job)
                self._to_join.append((place, job))

    def _remember(self, place: int, job: Job) -> None:
        if place == 0 and job.key not in self._jobs[0]:
            insort(self._begun, job.key)
        self._jobs[place][job.key] = job

    def _take(self, place: int, job: Job) -> None:
        self._remember(place, job)
        # Its last message is what others read; without numbers it may leave until the end.
        self._ends[place].append((self._sent_at.get(job.key, job.end), job.key))
        if place == len(self._jobs) - 1:
            self._outputs.append(job)

    def _join(self, until: int) -> None:
        """Find out which jobs of joins had all of their inputs."""
        self._to_join.sort(key=lambda item: item[1].end)
        done = bisect_right(self._to_join, until, key=lambda item: item[1].end)
        for place, job in self._to_join[:done]:
            join = self._joins[place]
            used = join.add(job, job.key in self._sent_at)
            # At the begin of a chain it is the job itself that counts.
            if used and (place or join.is_known):
                self._used[job.key] = used
                self._take(place, job)
            else:  # It is forgotten in time.
                self._ends[place].append((job.end, job.key))
        del self._to_join[:done]

    def settle(self, until: int) -> None:
        """Count what has ended by then. What comes later must have ended later."""
        self._join(until)
        self._outputs.sort(key=lambda job: job.end)
        for ends in self._ends:
            ends.sort()
        done = bisect_right(self._outputs, until, key=lambda job: job.end)
        for i, output in enumerate(self._outputs[:done]):
            path, is_late, is_last = self._path(len(self._jobs) - 1, output)
            if is_late and output.end > until - PATIENCE_NS:
                done = i
                break
            if path:
                self._output(path, output.end, is_last)
        del self._outputs[:done]
        self._listen(until)
        self._forget(until - max(REMEMBERED_NS, 4 * (self.chain.deadline or 0)))

    def _path(self, place: int, job: Job) -> tuple[tuple[JobKey, ...], bool, bool]:
        """Return the jobs whose data this one used, the first callback's first; (): unknown.

        And whether a job on the way is not here yet: it has published, and still runs. And whether
        these data were the last to come wherever others are waited for.
        """
        path = [job.key]
        is_last = True
        for i in range(place, 0, -1):
            used = self._used.get(job.key, (job,))
            known = [(self._source(i - 1, one), one) for one in used]
            found = [(source.key, one) for source, one in known if source is not None]
            if not found and any(
                one.by and one.by_callback == self.chain.callbacks[i - 1] for one in used
            ):
                return (), True, False
            source = None
            if found:
                newest, by = max(found, key=lambda item: item[0])
                source = self._jobs[i - 1][newest]
                is_last &= not self._inputs[i] or by is job
            elif self._samples[i] or not (job.by or job.message):
                source = self._newest(i - 1, job.start)
                # Where nobody has said what released it, it may have been the last.
                is_last &= not self._inputs[i] or not (job.by or job.message)
            if source is None:
                return (), False, False
            job = source
            path.append(job.key)
        return tuple(reversed(path)), False, is_last

    def _source(self, place: int, job: Job) -> Job | None:
        """Return the job of that callback which has published what released this one."""
        before = self._jobs[place]
        source = before.get(job.by) if job.by else None
        if source is None and job.message and job.message in self._sent:
            source = before.get(self._sent[job.message].by)
        return source

    def _newest(self, place: int, before: int) -> Job | None:
        ends = self._ends[place]
        at = bisect_right(ends, before, key=lambda item: item[0])
        while at and place in self._joins and ends[at - 1][1] not in self._used:
            at -= 1  # It has only kept its message.
        return self._jobs[place].get(ends[at - 1][1]) if at else None

    def _output(self, path: tuple[JobKey, ...], end: int, is_last: bool) -> None:
        """Note that the last callback has ended a job with the data of these."""
        last, datum = self._answered, path[0]
        if last is not None and datum <= last:
            return  # Nothing new.
        self.seen.left_out += self._last_only and not is_last
        first = self._jobs[0]
        if self._last_only and is_last and datum in first:
            self.seen.add(end - first[datum].release, end, self.chain.deadline, path)
        if last is not None and last[:3] == datum[:3] and not self._last_only:
            after, until = bisect_right(self._begun, last), bisect_right(self._begun, datum)
            between = [key for key in self._begun[after:until] if key in first]
            if self.chain.semantics == "age":
                begun = [last]
            elif self.chain.semantics == "reaction" and self._by_timer:
                # An event that job k has just missed is answered by k + 1 or a later one.
                begun = [last, *between[:-1]]
            else:
                begun = between
            from_start = self._by_timer and self.chain.semantics != "latency"
            for key in begun:
                if key in first:
                    job = first[key]
                    value = end - (job.start if from_start else job.release)
                    self.seen.add(value, end, self.chain.deadline, (key, *path))
        self._answered = datum
        self._newest_output = end
        self._silent_since = None

    def _listen(self, now: int) -> None:
        limit = self.chain.silent_after
        self._begin = now if self._begin is None else self._begin
        last = self._begin if self._newest_output is None else self._newest_output
        if limit is None or self._silent_since is not None:
            return
        if now - last > limit:
            self._silent_since = last
            self.seen.silences += 1
            self.seen.judge(missed=True)

    @property
    def is_silent(self) -> bool:
        """Whether nothing new comes out of it."""
        return self._silent_since is not None

    @property
    def state(self) -> str:
        """OK, WARN or ERROR, by what the model says of misses.

        UNSEEN before the first instance; NOT LAST if there is none because of `join: last`.
        """
        return self.state_after(self.seen.in_a_row)

    def state_after(self, row: int) -> str:
        """Return the state after so many misses in a row."""
        if self.seen.count == 0 and not self.is_silent:
            return "NOT LAST" if self.seen.left_out else "UNSEEN"
        chain = self.chain
        if row >= (chain.error_after or row + 1):
            return "ERROR"
        if row >= (chain.warn_after or (1 if chain.error_after is None else row + 1)) and row:
            return "WARN"
        return "OK"

    def _forget(self, before: int) -> None:
        for place, ends in enumerate(self._ends):
            old = bisect_right(ends, before, key=lambda item: item[0])
            for _, key in ends[:old]:
                self._jobs[place].pop(key, None)
                self._used.pop(key, None)
            del ends[:old]
        if len(self._begun) > 2 * len(self._jobs[0]):
            self._begun = [key for key in self._begun if key in self._jobs[0]]
        # The rest is newer, but for what several threads wrote at once.
        old_ones = itertools.takewhile(lambda item: item[1].time < before, self._sent.items())
        for message, sent in list(old_ones):
            del self._sent[message]
            self._sent_at.pop(sent.by, None)
