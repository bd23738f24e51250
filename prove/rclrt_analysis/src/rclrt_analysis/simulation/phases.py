# Copyright 2026 The rclrt Authors
# SPDX-License-Identifier: Apache-2.0
"""Which first releases to simulate: those that are known to be bad, then some at random.

One run shows one set of phases if all periods divide each other, however long it is. So a search
makes many short runs. What it sees is not the worst case, but no bound may be below it.
"""

import random
from collections.abc import Iterable, Iterator
from dataclasses import dataclass, field

from rclrt_analysis.bounds.activation import rates, urgencies
from rclrt_analysis.model import Callback, Kind, System
from rclrt_analysis.simulation.jobs import Run, chain_times
from rclrt_analysis.simulation.simulate import Options, prepare, run_once

JOBS = 40_000
"""Simulated in one search, roughly."""
MOST = 200
"""Phases in one search."""
LENGTH = 3
"""The longest period fits so often into each run of a search."""


def phasings(system: System, seed: int) -> Iterator[dict[str, int]]:
    """Yield first releases by name, without end; the same ones for the same seed.

    All at one instant; each just when the work of all that is more urgent may be done; one that has
    just begun when the others come. And at random: within a period, or close together.
    """
    rng = random.Random(seed)
    urgency = urgencies(system)
    sources = [c for c in system.callbacks if c.period is not None and c.offset is None]
    sources.sort(key=lambda c: (-urgency[c.name], c.deadline or 2**62))
    yield dict.fromkeys((c.name for c in sources), 0)
    if not sources:
        while True:
            yield {}
    work = _works(system)
    yield _staggered(sources, work)
    while True:
        first = rng.choice(sources)
        yield {c.name: int(c is not first) for c in sources}
        yield _at_random(sources, rng)
        yield _staggered(rng.sample(sources, len(sources)), work)
        yield _at_random(sources, rng)
        # Just before or after the others have begun, or are done.
        times = [0, 1, *(t + more for t in work.values() for more in (-1, 0, 1) if t)]
        yield {c.name: rng.choice(times) % (c.period or 1) for c in sources}


def _at_random(sources: Iterable[Callback], rng: random.Random) -> dict[str, int]:
    return {c.name: rng.randrange(c.period or 1) for c in sources}


def _staggered(sources: Iterable[Callback], work: dict[str, int]) -> dict[str, int]:
    """Return phases with which each comes when the work of those before it is done."""
    found, done = {}, 0
    for callback in sources:
        found[callback.name] = done % (callback.period or 1)
        done += work[callback.name]
    return found


def _works(system: System) -> dict[str, int]:
    """Return the work of a job of each callback, with all that it sets off, ns."""
    readers: dict[str, list[str]] = {}
    for callback in system.callbacks:
        for topic in callback.triggers:
            readers.setdefault(topic, []).append(callback.name)
    work: dict[str, int] = {}
    for name in reversed(system.topological):
        callback = system.callback_of[name]
        after = sum(work[reader] for t in callback.publishes for reader in readers.get(t, ()))
        work[name] = callback.wcet + min(after, 2**40)
    return work


@dataclass
class Seen:
    """The longest that some runs showed, ns.

    callbacks, chains: By name, as their bounds count; what never ran to its end is not in it.
    skipped: By name of the callback, see `Run`.
    phases, jobs: How many runs, each with phases of its own, and the jobs of all of them.
    """

    callbacks: dict[str, int] = field(default_factory=dict)
    chains: dict[str, int] = field(default_factory=dict)
    skipped: dict[str, int] = field(default_factory=dict)
    phases: int = 0
    jobs: int = 0

    def add(self, run: Run) -> None:
        """Take in a run."""
        self.phases += 1
        self.jobs += len(run.jobs)
        for name, (response, from_grid) in run.worst().items():
            timer = run.system.callback_of[name].kind is Kind.TIMER
            seen = from_grid if timer else response
            self.callbacks[name] = max(self.callbacks.get(name, 0), seen)
        for callback, skipped in zip(run.system.callbacks, run.skipped, strict=True):
            self.skipped[callback.name] = max(self.skipped.get(callback.name, 0), skipped)
        running = run.running if run.system.chains else 0
        for chain in run.system.chains:
            times = chain_times(run, chain, running)
            if times:
                self.chains[chain.name] = max(self.chains.get(chain.name, 0), *times)


def search(
    system: System,
    seed: int = 0,
    random_work: bool = False,
    queue_all: bool = False,
    *,
    longest: int | None = None,
    jobs: int = JOBS,
    fewest: int = 4,
    seen: Seen | None = None,
) -> Seen:
    """Return the longest times of runs with many phases; the same ones for the same seed.

    longest: No run is longer, ns.
    jobs, fewest: How many are simulated, roughly; but so many phases are tried.
    seen: What is known already.

    Raises SimulationError: See `simulate`.
    """
    seen = seen or Seen()
    span = LENGTH * max((c.period or 0 for c in system.callbacks), default=0)
    span = min(span, longest) if longest else span
    whole = prepare(system)
    each = sum(rates(system).values()) * span + 1
    tries = int(min(MOST, max(fewest, jobs / each)))
    for i, offsets in zip(range(tries), phasings(system, seed), strict=False):
        options = Options(seed + i, random_work, offsets, queue_all)
        seen.add(run_once(whole, span, options))
    return seen
