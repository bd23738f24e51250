# Copyright 2026 The rclrt Authors
# SPDX-License-Identifier: Apache-2.0
"""Priorities by search, and by how much times may change."""

from __future__ import annotations

import random
from dataclasses import replace

import pytest
from models import model, shipped
from random_systems import timers_only, with_subscriptions
from rclrt_analysis import sensitivity as module
from rclrt_analysis.assignment import (
    by_chain,
    rate_monotonic,
    with_priorities,
)
from rclrt_analysis.bounds.analyse import analyse
from rclrt_analysis.bounds.result import Result
from rclrt_analysis.model import Callback, Executor, ExecutorKind, Kind, System

TWO = """
executors: [{name: e, kind: priority_events}]
callbacks:
  - {name: a, kind: timer, executor: e, period_ms: 12, wcet_ms: 2, deadline_ms: 6, priority: 1}
  - {name: b, kind: timer, executor: e, period_ms: 10, wcet_ms: 3, priority: 2}
  - {name: c, kind: timer, executor: e, period_ms: 40, wcet_ms: 3, priority: 3}
"""


def test_rate_monotonic_priorities_are_by_period() -> None:
    system = model(TWO)
    assert rate_monotonic(system) == {"b": 3, "a": 2, "c": 1}
    by_rate = analyse(with_priorities(system, rate_monotonic(system)))
    assert {b.name: (b.bound or 0) / 1e6 for b in by_rate.callbacks} == {"a": 8, "b": 6, "c": 8}
    assert not by_rate.met


def test_priorities_of_a_system_with_a_link_are_those_of_its_model() -> None:
    with pytest.raises(ValueError, match="change them there"):
        with_priorities(shipped("pods_tide"), {})


def test_chains_rank_above_each_other_and_later_callbacks_above_earlier() -> None:
    system = shipped("autoware_reference_system")
    ranks = by_chain(system)
    chain = system.chains[0].callbacks
    assert [ranks[name] for name in chain] == sorted(ranks[name] for name in chain)
    others = [ranks[n] for n in ranks if all(n not in c.callbacks for c in system.chains)]
    assert max(others) < min(ranks[name] for c in system.chains for name in c.callbacks)
    assert analyse(with_priorities(system, ranks)).met, "the hot path comes through in time"


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
