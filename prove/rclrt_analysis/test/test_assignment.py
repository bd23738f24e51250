# Copyright 2026 The rclrt Authors
# SPDX-License-Identifier: Apache-2.0
"""Priorities by search, and by how much times may change."""

from __future__ import annotations

import itertools
import random
from dataclasses import replace
from typing import Any

import pytest
from models import model, shipped
from random_systems import timers_only, with_subscriptions
from rclrt_analysis import sensitivity as module
from rclrt_analysis.assignment import (
    audsley,
    by_chain,
    by_search,
    deadline_monotonic,
    rate_monotonic,
    with_priorities,
)
from rclrt_analysis.bounds import nonpreemptive_fp, preemptive_fp
from rclrt_analysis.bounds.analyse import analyse
from rclrt_analysis.bounds.busy_window import Responses
from rclrt_analysis.bounds.result import Result
from rclrt_analysis.bounds.taskset import TaskSet, make_taskset
from rclrt_analysis.model import Callback, Executor, ExecutorKind, Kind, System


def meets(tasks: TaskSet, priorities: list[int], preemptive: bool) -> bool:
    exact = preemptive_fp.exact if preemptive else nonpreemptive_fp.exact
    ordered = make_taskset(tasks.wcet, tasks.period, tasks.deadline, priorities)
    return bool((exact(ordered).response <= tasks.deadline).all())


@pytest.mark.parametrize("preemptive", [True, False])
def test_audsley_finds_priorities_if_and_only_if_there_are_some(preemptive: bool) -> None:
    rng = random.Random(8)
    found = {True: 0, False: 0}
    for _ in range(120):
        n = 4
        period = [rng.choice([10, 12, 15, 20, 24, 30]) for _ in range(n)]
        wcet = [rng.randint(1, max(1, p // 3)) for p in period]
        deadline = [rng.randint(c, p) for c, p in zip(wcet, period, strict=True)]
        tasks = make_taskset(wcet, period, deadline)
        priorities = audsley(tasks, preemptive)
        exists = any(
            meets(tasks, list(order), preemptive)
            for order in itertools.permutations(range(1, n + 1))
        )
        assert (priorities is not None) == exists
        found[exists] += 1
        if priorities is not None:
            assert sorted(priorities) == list(range(1, n + 1))
            assert meets(tasks, priorities, preemptive)
    assert min(found.values()) > 10, "the sets are of both sorts"


TWO = """
executors: [{name: e, kind: priority_events}]
callbacks:
  - {name: a, kind: timer, executor: e, period_ms: 12, wcet_ms: 2, deadline_ms: 6, priority: 1}
  - {name: b, kind: timer, executor: e, period_ms: 10, wcet_ms: 3, priority: 2}
  - {name: c, kind: timer, executor: e, period_ms: 40, wcet_ms: 3, priority: 3}
"""


def test_rate_monotonic_priorities_can_fail_where_others_do() -> None:
    system = model(TWO)
    assert rate_monotonic(system) == {"b": 3, "a": 2, "c": 1}
    by_rate = analyse(with_priorities(system, rate_monotonic(system)))
    assert {b.name: (b.bound or 0) / 1e6 for b in by_rate.callbacks} == {"a": 8, "b": 6, "c": 8}
    assert not by_rate.met
    assert deadline_monotonic(system) == {"a": 3, "b": 2, "c": 1}
    by_deadline = analyse(with_priorities(system, deadline_monotonic(system)))
    assert {b.name: (b.bound or 0) / 1e6 for b in by_deadline.callbacks} == {"a": 5, "b": 8, "c": 8}
    assert by_deadline.met
    chosen = by_search(system)
    assert chosen is not None
    assert analyse(with_priorities(system, chosen)).met


def test_the_search_counts_what_releases_cost() -> None:
    system = shipped("teper_seven_timers_90")
    assert by_search(system) is not None
    dear = replace(system, overheads=replace(system.overheads, release=3_000_000))
    assert by_search(dear) is None
    with pytest.raises(ValueError, match="timers alone"):
        by_search(shipped("autoware_reference_system"))


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


def test_the_search_tests_a_level_at_once(monkeypatch: pytest.MonkeyPatch) -> None:
    period = [10 * (1 + i % 9) for i in range(60)]
    tasks = make_taskset([1] * 60, [100 * p for p in period], [20 * p for p in period])
    tests: list[TaskSet] = []
    exact = preemptive_fp.exact

    def counted(tried: TaskSet, **more: Any) -> Responses:
        tests.append(tried)
        return exact(tried, **more)

    monkeypatch.setattr(preemptive_fp, "exact", counted)
    assert audsley(tasks, preemptive=True) is not None
    assert len(tests) <= 9, "one for each deadline, not one for each task"


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
