# Copyright 2026 The rclrt Authors
# SPDX-License-Identifier: Apache-2.0
"""How much work callbacks ask of their cores in the long run."""

from __future__ import annotations

from rclrt_analysis.model import System


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
