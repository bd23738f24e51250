# Copyright 2026 The rclrt Authors
# SPDX-License-Identifier: Apache-2.0
"""Margins meet every deadline, a little more does not, and few analyses find them."""

from __future__ import annotations

import random
from dataclasses import replace

import pytest
from random_systems import timers_only, with_subscriptions
from rclrt_analysis import sensitivity as module
from rclrt_analysis.bounds.analyse import analyse
from rclrt_analysis.bounds.result import Result
from rclrt_analysis.model import Callback, Executor, ExecutorKind, Kind, System

UNIT = 1_000_000


def longer(system: System, name: str, wcet: int) -> System:
    callbacks = tuple(replace(c, wcet=wcet) if c.name == name else c for c in system.callbacks)
    return replace(system, callbacks=callbacks)


def in_ms(system: System) -> System:
    """Return the system with times that are not as coarse as the steps of a search."""
    return replace(
        system,
        callbacks=tuple(
            replace(
                c, wcet=c.wcet * UNIT, bcet=0, jitter=c.jitter * UNIT,
                period=c.period and c.period * UNIT, deadline=c.deadline and c.deadline * UNIT,
            )
            for c in system.callbacks
        ),
    )  # fmt: skip


@pytest.mark.parametrize("kind", [ExecutorKind.PRIORITY_EVENTS, ExecutorKind.ISOLATED])
def test_margins_are_met_and_a_little_more_is_not(kind: ExecutorKind) -> None:
    rng = random.Random(4)
    looked_at = 0
    for i in range(60):
        made = timers_only(rng, kind) if i % 2 else with_subscriptions(rng, (kind,))
        system = in_ms(made)
        if not analyse(system).met:
            continue
        margins = module.sensitivity(system)
        exact = max(c.period or 0 for c in system.callbacks) >> (module.STEPS - 2)
        for name, wcet in margins.wcet.items():
            assert wcet is not None
            assert analyse(longer(system, name, wcet)).met
            assert not analyse(longer(system, name, wcet + exact)).met
            looked_at += 1
    assert looked_at > 20


def test_margins_take_fewer_analyses_than_by_bisection(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    made = [
        Callback(
            f"t{i}", Kind.TIMER, "e", 100_000 + 7_000 * i, period=10_000_000 * (1 + i % 4),
            deadline=5_000_000, priority=90 - i % 4,
        )
        for i in range(12)
    ]  # fmt: skip
    analyses: list[System] = []

    def counted(system: System, method: str) -> Result:
        analyses.append(system)
        return analyse(system, method)

    monkeypatch.setattr(module, "analyse", counted)
    module.sensitivity(System("margins", (Executor("e", ExecutorKind.ISOLATED),), tuple(made)))
    searches = 1 + 2 * len(made)
    assert len(analyses) < 13 * searches, "20 by bisection"
