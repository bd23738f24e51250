# Copyright 2026 The rclrt Authors
# SPDX-License-Identifier: Apache-2.0
"""When callbacks are released, and how urgent they are."""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import dataclass

from rclrt_analysis.model import Policy, System


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

    Attributes
    ----------
    streams
        Each adds its releases.
    gap
        No two consecutive ones are further apart, ns; None if they may be.
    """

    streams: tuple[Stream, ...]
    gap: int | None

    @property
    def rate(self) -> float:
        """Releases per ns in the long run."""
        return sum(1 / stream.period for stream in self.streams)


UNKNOWN = Activation((ENDLESS,), None)

MAX_STREAMS = 2_000
"""More of one callback count as endless: ways that fork and join again double at each join."""


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


def joined(inputs: list[Activation]) -> Activation:
    """Return the activation by a new message of each input.

    Between two releases each input brings a message or more, so there is at most one release more
    than messages of the rarest input: one may have been waiting. And the next release comes at the
    latest when each of the inputs has come again.
    """
    rarest = min(inputs, key=lambda one: one.rate)
    first, *rest = rarest.streams
    gaps = [one.gap for one in inputs if one.gap is not None]
    return Activation(
        (Stream(first.period, first.jitter + first.period), *rest),
        max(gaps) if len(gaps) == len(inputs) else None,
    )


def urgencies(system: System) -> dict[str, int]:
    """Return the priority of every callback, larger is more urgent.

    As said; derived from the period (rm) or deadline (dm); else the highest of what releases it
    [Teper25 §VIII-C]. Numbers of different policies do not compare.
    """
    fixed: dict[str, int] = {}
    rate: dict[str, int] = {}
    deadline: dict[str, int] = {}
    result: dict[str, int] = {}
    for name in system.topological:
        callback = system.callback_of[name]
        parents = system.triggered_by(callback)
        for table, own in (
            (fixed, callback.priority),
            (rate, None if callback.period is None else -callback.period),
            (deadline, None if callback.deadline is None else -callback.deadline),
        ):
            value = own
            if value is None:
                value = max((table[p] for p in parents if p in table), default=None)
            if value is not None:
                table[name] = value
        policy = system.executor_of[callback.executor].policy
        table = {Policy.RM: rate, Policy.DM: deadline}.get(policy, fixed)
        result[name] = table.get(name, 0)
    return result
