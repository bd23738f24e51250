# Copyright 2026 The rclrt Authors
# SPDX-License-Identifier: Apache-2.0
"""Which callbacks the bound of a chain depends on."""

from __future__ import annotations

from rclrt_analysis.bounds.analyse import together
from rclrt_analysis.model import Callback, Chain, System


class Dependence:
    """Which callbacks bounds depend on: those that compete, and what releases those."""

    def __init__(self, system: System) -> None:
        self._system = system
        self._unit = {
            executor.name: i
            for i, executors in enumerate(together(system))
            for executor in executors
        }
        self._before: dict[int, set[int]] = {i: set() for i in self._unit.values()}
        for callback in system.callbacks:
            for name in system.triggered_by(callback):
                other = self._unit[system.callback_of[name].executor]
                self._before[self._unit[callback.executor]].add(other)

    def of(self, chain: Chain) -> list[Callback]:
        """Return the callbacks whose times the bound of a chain rests on."""
        callback_of = self._system.callback_of
        waiting = [self._unit[callback_of[name].executor] for name in chain.callbacks]
        seen = set(waiting)
        while waiting:
            new = self._before[waiting.pop()] - seen
            seen |= new
            waiting += new
        return [c for c in self._system.callbacks if self._unit[c.executor] in seen]
