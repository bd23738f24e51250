# Copyright 2026 The rclrt Authors
# SPDX-License-Identifier: Apache-2.0
"""Priorities by search, and urgency in the model, which is that of the engine."""

import random
import re
from dataclasses import replace

import pytest
from models import ROOT, model, shipped
from random_systems import derived, finer, timers_only, with_a_link, with_subscriptions, written_out
from rclrt_analysis import sensitivity as module
from rclrt_analysis.assignment import (
    by_chain,
    rate_monotonic,
    with_priorities,
)
from rclrt_analysis.bounds.activation import HIGHEST_DERIVED, LOWEST_DERIVED, urgencies
from rclrt_analysis.bounds.analyse import analyse
from rclrt_analysis.bounds.result import Assumption, Result
from rclrt_analysis.model import (
    Callback,
    Chain,
    Executor,
    ExecutorKind,
    Kind,
    ModelError,
    Policy,
    System,
)
from rclrt_analysis.model.links import with_links

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


@pytest.mark.parametrize("kind", [ExecutorKind.PRIORITY_EVENTS, ExecutorKind.ISOLATED])
def test_margins_are_met_and_a_little_more_is_not(kind: ExecutorKind) -> None:
    rng = random.Random(4)
    looked_at = 0
    for i in range(24):
        made = timers_only(rng, kind) if i % 2 else with_subscriptions(rng, (kind,))
        # With times that are not as coarse as the steps of a search.
        system = finer(made, UNIT).each(lambda c: replace(c, bcet=0))
        if not analyse(system).met:
            continue
        margins = module.sensitivity(system)
        exact = max(c.period or 0 for c in system.callbacks) >> (module.STEPS - 2)
        for name, wcet in margins.wcet.items():
            assert wcet is not None
            assert analyse(system.but(name, wcet=wcet)).met
            assert not analyse(system.but(name, wcet=wcet + exact)).met
            looked_at += 1
    assert looked_at > 20, looked_at


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
    assert len(analyses) < 4 * searches, "20 by bisection"


BOTH = """
executors:
  - {name: e, kind: preemptive, policy: POLICY, cores: [0]}
  - {name: f, kind: preemptive, policy: POLICY, cores: [1]}
callbacks:
  - {name: t, kind: timer, executor: e, period_ms: 20, wcet_ms: 1, publishes: [x], priority: 40}
  - {name: s, kind: subscription, executor: f, wcet_ms: 2, triggers: [x], publishes: [y]}
  - {name: u, kind: subscription, executor: f, wcet_ms: 1, triggers: [y]}
  - {name: b, kind: timer, executor: f, period_ms: 100, wcet_ms: 15, priority: 30}
"""


def two(policy: str) -> System:
    text = BOTH.replace("POLICY", policy)
    return model(text if policy == "fixed_priority" else re.sub(r", priority: \d+", "", text))


def many(count: int) -> System:
    made = [
        Callback(f"t{i}", Kind.TIMER, "e", 1, period=1_000 + i, deadline=1_000 + i, priority=1)
        for i in range(count)
    ]
    chain = Chain("c", tuple(callback.name for callback in made[:2]))
    return System("many", (Executor("e", ExecutorKind.ISOLATED),), tuple(made), (chain,))


def test_the_levels_are_those_of_the_engine() -> None:
    path = ROOT / "ros/rclrt_config" / "include" / "rclrt_config" / "configuration.hpp"
    text = path.read_text(encoding="utf-8")
    found = [re.search(rf"k{word}Derived = (\d+)", text) for word in ("Lowest", "Highest")]
    assert [int(m.group(1)) for m in found if m] == [LOWEST_DERIVED, HIGHEST_DERIVED]


@pytest.mark.parametrize("policy", ["rm", "dm"])
def test_urgency_is_not_inherited_from_another_executor(policy: str) -> None:
    system = two(policy)
    assert urgencies(system) == {"t": 59, "s": 10, "u": 10, "b": 59}
    bounds = {bound.name: (bound.bound or 0) / 1e6 for bound in analyse(system).callbacks}
    assert bounds["s"] == 18, "it waits for b, whose thread may then begin with u"


def test_a_fixed_priority_is_asked_for_where_only_others_publish() -> None:
    with pytest.raises(ModelError, match=r"'s' needs a priority .* only from callbacks of its own"):
        two("fixed_priority")


def test_what_a_policy_derives_bounds_as_the_same_priorities_written_out() -> None:
    rng = random.Random(7)
    bounded = 0
    for i in range(48):
        system, explicit = derived(rng), None
        if i % 4 == 0:  # A link's parts are made from priorities, too.
            policy = rng.choice((Policy.RM, Policy.DM))
            plain = with_a_link(rng, ExecutorKind.TIDE, lambda one: one)
            ours = tuple(replace(e, policy=policy) for e in plain.executors)
            plain = replace(plain, executors=ours)
            system, explicit = with_links(plain), with_links(written_out(plain))
        found, wanted = (analyse(one) for one in (system, explicit or written_out(system)))
        bounds, same = ([(c.name, c.local) for c in one.callbacks] for one in (found, wanted))
        assert bounds == same, system
        assert found.chains == wanted.chains, system
        bounded += sum(local.bound is not None for _, local in bounds)
    assert bounded > 120


def test_a_chain_is_as_short_where_two_policies_order_its_timers() -> None:
    text = """executors:
  - {name: a, kind: preemptive, policy: rm, cores: [0]}
  - {name: b, kind: isolated, policy: dm, cores: [0]}
callbacks:
  - {name: writer, kind: timer, executor: a, period_ms: 5, wcet_ms: 1, publishes: [x]}
  - {name: faster, kind: timer, executor: b, period_ms: 2, wcet_ms: 0.1}
  - {name: reader, kind: timer, executor: b, period_ms: 10, wcet_ms: 1, reads: [x]}
chains: [{name: c, callbacks: [writer, reader]}]
"""
    (chain,) = analyse(model(text)).chains
    assert (chain,) == analyse(written_out(model(text))).chains
    assert chain.hops[0].response == 0  # The writer ends before the reader may start.


def test_timers_beyond_the_levels_share_the_lowest_one() -> None:
    system = many(60)
    executors = tuple(replace(e, policy=Policy.RM) for e in system.executors)
    system = replace(system, executors=executors).each(lambda c: replace(c, priority=None))
    urgency = urgencies(system)
    assert [urgency[f"t{i}"] for i in (0, 1, 49, 50, 59)] == [59, 58, 10, 10, 10]


def test_only_timers_are_ranked_by_period_or_deadline() -> None:
    text = """
executors: [{name: e, kind: preemptive, policy: dm}]
callbacks:
  - {name: t, kind: timer, executor: e, period_ms: 20, wcet_ms: 1}
  - {name: s, kind: subscription, executor: e, period_ms: 5, deadline_ms: 5, wcet_ms: 1}
"""
    assert urgencies(model(text)) == {"t": 59, "s": 10}


def test_a_result_says_when_urgency_is_inherited_late() -> None:
    text = """
executors: [{name: e, kind: preemptive}]
callbacks:
  - {name: a, kind: timer, executor: e, period_ms: 20, wcet_ms: 1, priority: 20, publishes: [x]}
  - {name: b, kind: timer, executor: e, period_ms: 20, wcet_ms: 1, priority: PB, publishes: [x]}
  - {name: s, kind: subscription, executor: e, wcet_ms: 1, triggers: [x]}
"""
    listed = {
        priority: Assumption.INHERITED
        in analyse(model(text.replace("PB", str(priority)))).assumptions
        for priority in (20, 50)
    }
    assert listed == {20: False, 50: True}


@pytest.mark.parametrize("count", [98, 300])
def test_only_priorities_that_exist_are_handed_out(count: int) -> None:
    system = many(count)
    for assign in (rate_monotonic, by_chain):
        given = assign(system)
        assert (min(given.values()), max(given.values()) <= 99) == (1, True), assign.__name__
        assert len(given) == count
        with_priorities(system, given)
    with pytest.raises(ValueError, match="'t0' has priority 2000: there are 1 to 99"):
        with_priorities(system, {"t0": 2_000})


def test_what_others_release_is_given_the_priority_it_would_inherit() -> None:
    system = with_priorities(two("rm"), {"t": 7, "b": 3})
    assert urgencies(system) == {"t": 7, "s": 7, "u": 7, "b": 3}
    assert system.callback_of["s"].priority == 7
    assert system.callback_of["u"].priority is None, "the engine sees to that"
