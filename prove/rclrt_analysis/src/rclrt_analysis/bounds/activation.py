# Copyright 2026 The rclrt Authors
# SPDX-License-Identifier: Apache-2.0
"""When callbacks are released, how urgent they are, and what they ask of their cores."""

from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass

from rclrt_analysis.model import Callback, ExecutorKind, Kind, Policy, System


@dataclass(frozen=True)
class Stream:
    """At most ceil((t + jitter) / period) releases in any window of length t > 0; ns."""

    period: int
    jitter: int = 0

    def most(self, window: int) -> int:
        """Return how many releases fall into a half-open window of that length."""
        return -(-(window + self.jitter) // self.period)


ENDLESS = Stream(1)
"""Stands for releases that nothing bounds: a callback with any work then fills its processor."""


@dataclass(frozen=True)
class Activation:
    """How a callback is released, or how messages come.

    streams: Each adds its releases.
    gap: No two consecutive ones are further apart, ns; None if they may be.
    """

    streams: tuple[Stream, ...]
    gap: int | None

    @property
    def rate(self) -> float:
        """Releases per ns in the long run."""
        return sum(1 / stream.period for stream in self.streams)


UNKNOWN = Activation((ENDLESS,), None)

APPROXIMATE = "approximate"
"""A value of `Callback.pairs`: messages of about the same stamp go together."""

GAPS = 3
"""A message that is paired by `approximate` waits for at most so many gaps, one after the other."""

MAX_STREAMS = 2_000
"""A callback with more streams of releases has endless ones: ways that fork double at each join."""


def merged(inputs: Iterable[Activation]) -> Activation:
    """Return the activation by every one of several inputs."""
    every = list(inputs)
    if len(every) == 1:
        return every[0]
    if sum(len(one.streams) for one in every) > MAX_STREAMS:
        return UNKNOWN
    gaps = [one.gap for one in every if one.gap is not None]
    streams = tuple(stream for one in every for stream in one.streams)
    return Activation(streams, min(gaps, default=None))


def joined(inputs: list[Activation], callback: Callback, may_never: bool = False) -> Activation:
    """Return the activation by a new message of each input.

    Between two releases each input brings a message or more, so there are at most as many releases
    as messages of the rarest input, and those that may have been waiting. And the next release
    comes at the latest when each of the inputs has come again; if those go together whose stamps
    agree, see `gap_of_pairs` and `gap_of_sets`.

    may_never: Whether nobody knows that stamps ever agree (`System.may_never_pair`).
    """
    rarest = min(inputs, key=lambda one: one.rate)
    first, *rest = rarest.streams
    gaps = [one.gap for one in inputs if one.gap is not None]
    gap = max(gaps) if len(gaps) == len(inputs) else None
    if callback.pairs != "newest" and gap is not None:
        bound = gap_of_pairs if callback.pairs == APPROXIMATE else gap_of_sets
        streams = [one.streams for one in inputs]
        gap = None if may_never else bound(gaps, streams, callback.queue)
    return Activation(
        (Stream(first.period, first.jitter + callback.queue * first.period), *rest), gap
    )


def gap_of_sets(gaps: Sequence[int], streams: Sequence[Iterable[Stream]], queue: int) -> int | None:
    """Return how far apart the sets are at most that ExactTime makes of inputs with one start, ns.

    Every job that starts the ways has a message on each, so a set. The next one is there when each
    input has come again. None: the queue may be too short, so that data go.
    """
    window = 1 + max(gaps)
    if any(sum(stream.most(window) for stream in mine) > queue for mine in streams):
        return None
    return max(gaps)


def gap_of_pairs(
    gaps: Sequence[int], streams: Sequence[Iterable[Stream]], queue: int
) -> int | None:
    """Return how far apart the sets are at most that ApproximateTime makes of several inputs, ns.

    Of the first message of an input after a set, that or a newer one is in another set as soon as
    `joins` says. That holds for each input. None: the queue may be too short, so that data go.
    """
    window = 1 + GAPS * max(gaps)
    if any(sum(stream.most(window) for stream in mine) > queue for mine in streams):
        return None
    every = range(len(gaps))
    until = [2 * gaps[p] + max(gaps[t] for t in every if t != p) for p in every]
    return min(gaps[k] + max(until[p] for p in every if p != k) for k in every)


LOWEST_DERIVED, HIGHEST_DERIVED = 10, 59
"""The priorities that the engine gives under rm and dm (rclrt_config/configuration.hpp)."""


ENGINES = (ExecutorKind.PRIORITY_EVENTS, ExecutorKind.ISOLATED, ExecutorKind.PREEMPTIVE)


def ranked(keys: Mapping[str, int], lowest: int, highest: int) -> dict[str, int]:
    """Return priorities: the least key gets `highest`, each greater one the next lower.

    Equal keys share one. When there are more keys than priorities, the last share `lowest`. As
    `rclrt_core::assign_priorities()`.
    """
    rank = {key: i for i, key in enumerate(sorted(set(keys.values())))}
    return {name: max(lowest, highest - rank[key]) for name, key in keys.items()}


def _derived(system: System) -> dict[str, int]:
    """Return the priorities of the timers under rm and dm: each engine ranks its own."""
    result: dict[str, int] = {}
    for executor in system.executors:
        if executor.policy in (Policy.RM, Policy.DM):
            by_rate = executor.policy is Policy.RM
            keys = {
                c.name: (c.period if by_rate else c.deadline or c.period) or 0
                for c in system.members(executor.name)
                if c.kind is Kind.TIMER
            }
            result.update(ranked(keys, LOWEST_DERIVED, HIGHEST_DERIVED))
    return result


def heirs(system: System) -> dict[str, list[str]]:
    """Return which callbacks inherit urgency, and from which: the publishers on the same executor.

    That is what an engine does for callbacks without a priority: all of fixed_priority, and all but
    timers under rm and dm. It knows nothing of publishers under another one.
    """
    found = {}
    for callback in system.callbacks:
        executor = system.executor_of[callback.executor]
        policy = executor.policy
        if executor.kind not in ENGINES:
            continue
        derives = policy in (Policy.RM, Policy.DM) and callback.kind is not Kind.TIMER
        if derives or (policy is Policy.FIXED_PRIORITY and callback.priority is None):
            found[callback.name] = [
                name
                for name in system.triggered_by(callback)
                if system.callback_of[name].executor == callback.executor
            ]
    return found


def urgencies(system: System) -> dict[str, int]:
    """Return the priority of every callback, larger is more urgent, as its engine has it.

    As said; derived from the period (rm) or deadline (dm) of timers; else the highest of what
    releases it on the same executor [Teper25 §VIII-C], under rm and dm from the lowest on.
    """
    derived, inherits = _derived(system), heirs(system)
    result: dict[str, int] = {}
    for name in system.topological:
        callback = system.callback_of[name]
        policy = system.executor_of[callback.executor].policy
        own = callback.priority or 0
        if policy in (Policy.RM, Policy.DM):
            own = derived.get(name, LOWEST_DERIVED)
        result[name] = max([own, *(result[p] for p in inherits.get(name, ()))])
    return result


def inherit_late(system: System, urgency: Mapping[str, int]) -> bool:
    """Return whether a callback may run before it has inherited all of its urgency.

    It has it once the most urgent of its publishers has published. Where one alone releases it,
    that is before its first job.
    """
    for name, publishers in heirs(system).items():
        callback = system.callback_of[name]
        others = callback.period is not None or len(publishers) < len(system.triggered_by(callback))
        if publishers and (others or len({urgency[p] for p in publishers}) > 1):
            return True
    return False


def rates(system: System) -> dict[str, float]:
    """Return how often each callback is released in the long run, by name, per ns."""
    rate: dict[str, float] = {}
    for name in system.topological:
        callback = system.callback_of[name]
        inputs = [
            sum(rate[publisher] for publisher in system.publishers[topic])
            for topic in callback.triggers
        ]
        rate[name] = min(inputs) if callback.wants_all else sum(inputs)
        rate[name] += 1 / callback.period if callback.period else 0
    return rate


def loads(system: System) -> dict[str, float]:
    """Return the share of a core that each callback takes, by name."""
    return {name: rate * system.callback_of[name].wcet for name, rate in rates(system).items()}
