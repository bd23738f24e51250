# Copyright 2026 The rclrt Authors
# SPDX-License-Identifier: Apache-2.0
"""What is analysed together: callbacks that compete for the same thread or the same core."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field
from functools import cached_property

import numpy as np

from rclrt_analysis.bounds.activation import Activation
from rclrt_analysis.bounds.releaser import as_interference
from rclrt_analysis.bounds.result import Local
from rclrt_analysis.bounds.supply import DEDICATED, Supply
from rclrt_analysis.bounds.taskset import Interference
from rclrt_analysis.model import Callback, Executor, Kind, System


@dataclass(frozen=True)
class Unit:
    """Callbacks that are analysed together, in the order of the model.

    Attributes
    ----------
    extra
        What every execution time grows by, ns.
    found
        The bounds found last: where to go on when more jitter comes in.
    """

    system: System
    executors: tuple[Executor, ...]
    callbacks: tuple[Callback, ...]
    urgency: Mapping[str, int]
    extra: int
    found: dict[str, Local] = field(default_factory=dict, compare=False)

    @cached_property
    def names(self) -> frozenset[str]:
        """Names of the callbacks."""
        return frozenset(callback.name for callback in self.callbacks)

    @cached_property
    def in_order(self) -> tuple[Callback, ...]:
        """The callbacks, each after those that release it."""
        system = self.system
        return tuple(system.callback_of[name] for name in system.topological if name in self.names)

    @cached_property
    def outside_topics(self) -> tuple[str, ...]:
        """Topics that release callbacks of this unit and that others publish."""
        topics = (topic for callback in self.callbacks for topic in callback.triggers)
        return tuple(dict.fromkeys(topic for topic in topics if self.outside(topic)))

    @property
    def supply(self) -> Supply:
        """What the thread is given: the processor, or a reservation."""
        mine = self.executors[0].reservation
        return DEDICATED if mine is None else Supply(mine.budget, mine.period)

    @cached_property
    def _publishers(self) -> dict[str, tuple[list[str], list[str]]]:
        """The publishers of each topic that releases callbacks here, inside and outside."""
        found = {}
        for topic in dict.fromkeys(t for c in self.callbacks for t in c.triggers):
            every = self.system.publishers.get(topic, ())
            found[topic] = (
                [name for name in every if name in self.names],
                [name for name in every if name not in self.names],
            )
        return found

    def inside(self, topic: str) -> list[str]:
        """Return the callbacks of this unit that publish a topic which releases one of it."""
        return self._publishers[topic][0]

    def outside(self, topic: str) -> list[str]:
        """Return the callbacks of other units that publish such a topic."""
        return self._publishers[topic][1]

    @property
    def timers(self) -> list[Callback]:
        """Those that a timers thread releases."""
        return [callback for callback in self.callbacks if callback.kind is Kind.TIMER]

    @property
    def independent(self) -> bool:
        """Whether nothing but timers without jitter, and nothing else, releases callbacks."""
        return all(c.kind is Kind.TIMER and not c.jitter for c in self.callbacks)

    def wake(self, callback: Callback) -> int:
        """Return how long a job may wait for its core to turn to it: another core releases it."""
        return self.system.overheads.wake if any(map(self.outside, callback.triggers)) else 0

    def releases(self, rows: int) -> Interference | None:
        """Return what comes before all of `rows` tasks: releases, what is stolen, and the like."""
        overheads = self.system.overheads
        found = []
        if overheads.release and self.timers:
            period = np.array([callback.period or 1 for callback in self.timers], dtype=np.int64)
            jitter = np.array([callback.jitter for callback in self.timers], dtype=np.int64)
            found.append(as_interference(period, jitter, overheads.release, rows))
        if self.system.above:
            period, jitter, cost = (
                np.array([getattr(one, name) for one in self.system.above], dtype=np.int64)
                for name in ("period", "jitter", "cost")
            )
            found.append(Interference(period, jitter, np.tile(cost, (rows, 1))))
        if overheads.stolen:
            every = np.array([overheads.window], dtype=np.int64)
            found.append(as_interference(every, np.zeros(1, np.int64), overheads.stolen, rows))
        if len(found) < 2:
            return found[0] if found else None
        return Interference(
            np.concatenate([one.period for one in found]),
            np.concatenate([one.jitter for one in found]),
            np.concatenate([one.cost for one in found], axis=1),
        )


def held_by_publisher(unit: Unit, urgency: int) -> int:
    """Return for how long a publication may hold up callbacks of that urgency, ns.

    Its thread is as urgent as what it releases until it has told all readers. One at most may have
    begun when they are released: another one of less urgent callbacks does not begin meanwhile. And
    what it releases, also elsewhere, is woken when it ends.
    """
    less = any(c.publishes and unit.urgency[c.name] < urgency for c in unit.callbacks)
    return unit.system.overheads.publish if less or unit.outside_topics else 0


Arrivals = Mapping[str, Activation]
"""How messages come on a unit's outside topics; those that nothing bounds are absent."""
