# Copyright 2026 The rclrt Authors
# SPDX-License-Identifier: Apache-2.0
"""What a proof takes for granted of each callback, held against its jobs; and its names."""

from collections.abc import Iterable
from dataclasses import dataclass, field
from itertools import pairwise

from rclrt_analysis.bounds.result import Result
from rclrt_analysis.bounds.threads import is_threaded
from rclrt_analysis.model import Callback, Kind, Policy, System, in_ms
from rclrt_analysis.plan.fields import pattern_of
from rclrt_analysis.plan.parameters import FULL_NAME, entry_name
from rclrt_tools.trace import layout
from rclrt_tools.watch.feed import Job

REAL_TIME = (layout.POLICY_FIFO, layout.POLICY_RR)
URGENT = (*REAL_TIME, layout.POLICY_DEADLINE, layout.POLICY_EXT)
"""What may take the CPU from callbacks of the model."""


@dataclass
class CallbackSeen:
    """What was seen of a callback; times in ns, -1: nothing yet."""

    jobs: int = 0
    worst: int = -1
    longest: int = -1
    misses: int = 0
    lost: int = 0
    releases: list[int] = field(default_factory=list)


@dataclass
class Broken:
    """An assumption that does not hold, and whose proofs it breaks.

    text: With the worst value so far.
    chains: All whose bound has the assumption in it.
    """

    callback: str
    kind: str
    text: str
    chains: tuple[str, ...]
    times: int = 0
    worst: int = 0


class Assumptions:
    """The callbacks of a model, and what of it has turned out to be wrong."""

    def __init__(self, system: System, result: Result) -> None:
        self.system = system
        self.seen = {callback.name: CallbackSeen() for callback in system.callbacks}
        self.strangers: set[str] = set()
        self.broken: dict[tuple[str, str], Broken] = {}
        self._bounds = {one.name: one.bound for one in result.callbacks}
        self._deadlines = {one.name: one.deadline for one in result.callbacks}
        self._released: dict[str, Callback] = {}  # Since the last look.

    def add(self, jobs: Iterable[Job]) -> None:
        """Look at jobs."""
        for job in jobs:
            callback = self.system.callback_of.get(job.callback)
            if callback is None:
                self.strangers.add(job.callback)
                if job.ran and job.policy in URGENT:
                    self.foreign(
                        "stranger", job.callback, "is not in the model, and runs in real time"
                    )
                continue
            seen = self.seen[callback.name]
            if not job.ran:
                seen.lost += job.count
                text = f"{seen.lost} of its jobs did not run"
                self._break(callback, "lost", text, seen.lost)
                continue
            self._job(callback, seen, job)

    def settle(self, until: int) -> None:
        """Look at the releases up to then, of which no more come."""
        for callback in list(self._released.values()):
            seen = self.seen[callback.name]
            self._releases(callback, seen, until)
            if len(seen.releases) < 2:
                del self._released[callback.name]

    def _job(self, callback: Callback, seen: CallbackSeen, job: Job) -> None:
        seen.jobs += 1
        if callback.period is not None:
            seen.releases.append(job.release)
            self._released[callback.name] = callback
        response = job.end - job.release
        seen.worst = max(seen.worst, response)
        bound, deadline = self._bounds[callback.name], self._deadlines[callback.name]
        if bound is not None and response > bound:
            text = f"took {in_ms(response)} ms; its bound is {in_ms(bound)} ms"
            self._break(callback, "bound", text, response)
        seen.misses += deadline is not None and response > deadline
        if job.cpu >= 0:
            seen.longest = max(seen.longest, job.cpu)
            if job.cpu > callback.wcet:
                text = f"runs for {in_ms(job.cpu)} ms; the model says {in_ms(callback.wcet)} ms"
                self._break(callback, "wcet", text, job.cpu)
        self._priority(callback, job)
        self._trigger(callback, job)
        cores = self.system.executor_of[callback.executor].cores
        if job.on not in cores:
            text = f"runs on CPU {job.on}; the model says {', '.join(map(str, cores))}"
            self._break(callback, "cpu", text, 1)

    def _trigger(self, callback: Callback, job: Job) -> None:
        """Look at what released it: an input taken for a store may be the last, and publish."""
        if job.by_callback in self.system.callback_of:
            known = self.system.triggered_by(callback)
            if job.by_callback not in known:
                said = ", ".join(f"'{name}'" for name in known) or "nothing"
                text = f"is released by '{job.by_callback}'; the model says {said}"
                self._break(callback, "trigger", text, 1)

    def _priority(self, callback: Callback, job: Job) -> None:
        executor = self.system.executor_of[callback.executor]
        policy = executor.policy
        if job.policy == layout.POLICY_UNKNOWN:
            return
        word = layout.word(layout.POLICIES, job.policy)
        asked = None
        if is_threaded(executor.kind) and (policy is Policy.EDF or executor.reservation):
            asked = layout.POLICY_DEADLINE if executor.reservation else layout.POLICY_EXT
        if asked is not None:
            if job.policy != asked:
                said = layout.word(layout.POLICIES, asked)
                self._break(callback, "policy", f"runs under {word}; the model says {said}", 1)
        elif policy is Policy.EDF:
            return
        elif job.policy not in REAL_TIME:
            self._break(callback, "policy", f"runs under {word}, which any program may preempt", 1)
        elif policy is Policy.FIXED_PRIORITY and callback.priority not in (None, job.priority):
            text = f"runs under {word} {job.priority}; the model says {callback.priority}"
            self._break(callback, "priority", text, 1)

    def _releases(self, callback: Callback, seen: CallbackSeen, until: int) -> None:
        """Releases come no closer than the period, but for the jitter."""
        seen.releases.sort()
        done = [time for time in seen.releases if time <= until]
        least = (callback.period or 0) - (0 if callback.kind is Kind.TIMER else callback.jitter)
        for one, next_one in pairwise(done):
            if next_one - one < least:
                text = (
                    f"is released {in_ms(next_one - one)} ms after the last time; the model says "
                    f"{in_ms(least)} ms"
                )
                self._break(callback, "period", text, least - (next_one - one))
        seen.releases = seen.releases[max(0, len(done) - 1) :]

    def foreign(self, kind: str, who: str, text: str, callback: str = "") -> None:
        """Note something that is no job of a callback of the model.

        kind: "thread" or "stranger".
        callback: Whose core it concerns; "": any.
        """
        known = self.system.callback_of.get(callback)
        chains = self._chains(known) if known else tuple(c.name for c in self.system.chains)
        one = self.broken.setdefault((who, kind), Broken(who, kind, text, chains))
        one.times += 1

    def chain(self, name: str, worst: int, bound: int | None) -> None:
        """Hold a chain against its bound."""
        if bound is not None and worst > bound:
            text = f"took {in_ms(worst)} ms; its bound is {in_ms(bound)} ms"
            self.broken[name, "chain"] = Broken(name, "chain", text, (name,), 1, worst)

    def _break(self, callback: Callback, kind: str, text: str, size: int) -> None:
        key = (callback.name, kind)
        one = self.broken.get(key)
        if one is None:
            one = self.broken[key] = Broken(callback.name, kind, text, self._chains(callback))
        one.times += 1
        if size > one.worst:
            one.worst, one.text = size, text

    def _chains(self, callback: Callback) -> tuple[str, ...]:
        """Return the chains with a callback on a core that this one uses."""
        cores = set(self.system.executor_of[callback.executor].cores)
        near = {
            other.name
            for other in self.system.callbacks
            if cores & set(self.system.executor_of[other.executor].cores)
        }
        return tuple(c.name for c in self.system.chains if near & set(c.callbacks))


class Names:
    """Names of a system's callbacks: as in a plan, one may stand for all of one kind of a node."""

    def __init__(self, system: System) -> None:
        self._exact = frozenset(system.callback_of)
        self._nodes = [
            (pattern_of(entry_name(callback)), callback.name)
            for callback in system.callbacks
            if not FULL_NAME.fullmatch(callback.name)
        ]
        self._known: dict[str, str] = {}

    def of(self, name: str) -> str:
        """Return its name in the model; as it is, if the model does not have it."""
        if name in self._exact or not self._nodes:
            return name
        found = self._known.get(name)
        if found is None:
            matches = (model for pattern, model in self._nodes if pattern.fullmatch(name))
            found = self._known[name] = next(matches, name)
        return found
