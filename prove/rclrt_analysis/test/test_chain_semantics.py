# Copyright 2026 The rclrt Authors
# SPDX-License-Identifier: Apache-2.0
"""What reaction, age and latency are, held against the literal reading of their definitions."""

from __future__ import annotations

import os
import random
from dataclasses import replace

import pytest
from models import model
from random_systems import chains, with_subscriptions
from rclrt_analysis.bounds.analyse import analyse
from rclrt_analysis.model import Callback, Chain, Executor, ExecutorKind, Kind, System
from rclrt_analysis.simulation import Run, chain_ages, chain_latencies, chain_times, simulate
from tick_by_tick import Ticks

EFFORT = float(os.environ.get("RCLRT_EFFORT", "1"))
SYSTEMS = int(1_000 * EFFORT)
MS = 1_000_000


def random_system(rng: random.Random) -> System:
    """Return a system of two cores that talk, some of it released from outside."""
    kinds = (ExecutorKind.ISOLATED, ExecutorKind.PRIORITY_EVENTS)
    executors = tuple(Executor(f"e{i}", rng.choice(kinds), cores=(i,)) for i in range(2))
    made: list[Callback] = []
    for i in range(rng.randint(1, 3)):
        period = rng.choice((6, 8, 10, 12, 15))
        outside = rng.random() < 0.3
        jitter = rng.choice((0, 0, 3)) if outside else 0
        made.append(
            Callback(
                f"t{i}",
                Kind.SUBSCRIPTION if outside else Kind.TIMER,
                rng.choice(executors).name,
                rng.choice((1, 1, 2)),
                period=period,
                jitter=jitter,
                gap=period + jitter if outside else None,
                publishes=(f"t{i}",),
            )
        )
    for i in range(rng.randint(1, 4)):
        sources = rng.sample(made, min(len(made), rng.choice((1, 1, 2))))
        topics = tuple(source.publishes[0] for source in sources)
        wants_all = len(topics) > 1 and rng.random() < 0.8
        sampler = rng.random() < 0.3
        period = rng.choice((7, 9, 14, 20)) if sampler else None
        made.append(
            Callback(
                f"s{i}",
                Kind.TIMER if sampler else Kind.SUBSCRIPTION,
                rng.choice(executors).name,
                rng.choice((1, 1, 2)),
                period=period,
                triggers=() if sampler else topics,
                wants_all=wants_all and not sampler,
                reads=topics if sampler else (),
                publishes=(f"s{i}",),
            )
        )
    ranks = rng.sample(range(1, 99), len(made))
    system = System(
        "random", executors, tuple(replace(c, priority=p) for c, p in zip(made, ranks, strict=True))
    )
    chain = max(chains(rng, system), key=lambda one: len(one.callbacks))
    return replace(system, chains=(chain,))


def test_a_second_simulator_exceeds_no_bound_of_reaction_age_and_latency() -> None:
    rng = random.Random(14)
    counts = dict.fromkeys(("reaction", "age", "latency", "last"), 0)
    tightest = dict.fromkeys(counts, 0.0)
    for _ in range(SYSTEMS):
        system = random_system(rng)
        chain = system.chains[0]
        seen = Ticks(system, chain, rng).go(250)
        for name in counts:
            join = "last" if name == "last" else "wait"
            semantics = "latency" if name == "last" else name
            asked = replace(chain, semantics=semantics, join=join)
            if name == "last" and not any(
                system.callback_of[n].wants_all for n in chain.callbacks[1:]
            ):
                continue
            bound = analyse(replace(system, chains=(asked,))).chains[0]
            values = {
                "reaction": seen.reactions,
                "age": seen.ages,
                "latency": seen.latencies,
                "last": lambda: seen.latencies(last_to_come=True),  # noqa: B023
            }[name]()
            first = system.callback_of[chain.callbacks[0]]
            if name == "reaction" and first.kind is not Kind.TIMER:
                values = seen.latencies()
            if bound.bound is None or not values:
                continue
            assert max(values) <= bound.bound, f"{name}: {max(values)} > {bound}, {system}"
            counts[name] += 1
            tightest[name] = max(tightest[name], max(values) / bound.bound)
    print(f"\n{SYSTEMS} systems, bounds held against: {counts}, tightest: {tightest}")
    assert min(counts.values()) > SYSTEMS / 40
    assert min(tightest.values()) > 0.8, "it comes near the bounds"


Stamp = tuple[int, int]
"""When the first callback had the data, and the number of its job: jobs may begin at once."""


def literally(run: Run, chain: Chain) -> tuple[list[tuple[Stamp, int]], list[tuple[int, Stamp]]]:
    """Return (had, release) of each job of the first callback, (end, newest had) of the last's."""
    number = {c.name: i for i, c in enumerate(run.system.callbacks)}
    timer = run.system.callback_of[chain.callbacks[0]].kind is Kind.TIMER
    stamp: dict[int, Stamp] = {}
    inputs = []
    firsts = [job for job in run.jobs if job.callback == number[chain.callbacks[0]]]
    for i, job in enumerate(sorted(firsts, key=lambda job: job.start)):
        stamp[id(job)] = (job.start if timer else job.release, i)
        inputs.append((stamp[id(job)], job.release))
    for before, name in zip(chain.callbacks, chain.callbacks[1:], strict=False):
        further: dict[int, Stamp] = {}
        for job in run.jobs:
            if job.callback == number[name]:
                used = [s for s in job.sources if s.callback == number[before] and id(s) in stamp]
                if used:
                    further[id(job)] = max(stamp[id(s)] for s in used)
        stamp = further
    return inputs, sorted((job.end, stamp[id(job)]) for job in run.jobs if id(job) in stamp)


@pytest.mark.parametrize("kind", [ExecutorKind.PRIORITY_EVENTS, ExecutorKind.WAIT_SET_SINGLE])
def test_the_simulator_measures_what_the_definitions_say(kind: ExecutorKind) -> None:
    rng = random.Random(kind.value)
    compared = 0
    for _ in range(150):
        system = with_subscriptions(rng, (kind,), 2)
        run = simulate(system, 1_500, rng.randrange(1 << 30), random_work=True)
        for chain in system.chains:
            inputs, ends = literally(run, chain)
            if len(ends) < 3:
                continue
            last = max(had for _, had in ends)
            measured = chain_latencies(run, replace(chain, semantics="latency", join="wait"))
            assert max(measured) == max(
                min(end for end, had in ends if had >= mine) - release
                for mine, release in inputs
                if mine <= last
            )
            # An event at each instant comes out with the first data that were got after it.
            if system.callback_of[chain.callbacks[0]].kind is Kind.TIMER:
                measured = chain_latencies(run, replace(chain, semantics="reaction", join="wait"))
                assert max(measured, default=0) == max(
                    (
                        min(end for end, had in ends if had[0] > event) - event
                        for event in range(inputs[0][0][0], last[0])
                    ),
                    default=0,
                )
            # Data that came out are used until newer ones do.
            measured = chain_ages(run, chain)
            newest = [max(h for e, h in ends if e <= end) for end, _ in ends]
            changes = [
                ends[i + 1][0] - newest[i][0]
                for i in range(len(ends) - 1)
                if newest[i + 1] > newest[i]
            ]
            assert max(measured, default=0) == max(changes, default=0)
            compared += 1
    assert compared > 100


def test_what_a_chain_is_held_against_is_what_its_semantics_say() -> None:
    # The other input comes between 30 and 50 ms apart: data get older than they take to come out.
    text = HOP.replace("WAY", "in").replace("JOIN", "wait").replace("GAP", ", gap_ms: 50")
    made = {name: model(text.replace("SEMANTICS", name)) for name in ("age", "latency")}
    worst = {
        name: max(chain_times(simulate(system, 2_000 * MS, 3), system.chains[0]))
        for name, system in made.items()
    }
    assert worst["age"] >= worst["latency"] + 20 * MS


HOP = (
    "executors: [{name: e, kind: priority_events, policy: rm}]\ncallbacks:\n"
    "  - {name: a, kind: timer, executor: e, period_ms: 20, wcet_ms: 1, publishes: [x]}\n"
    "  - {name: in, kind: subscription, executor: e, period_ms: 30, wcet_ms: 2, publishes: [y]"
    "GAP}\n  - {name: b, kind: subscription, executor: e, wcet_ms: 2, triggers: [x, y], "
    "activation: all}\n"
    "chains: [{name: k, callbacks: [WAY, b], semantics: SEMANTICS, join: JOIN}]\n"
)


def bound(way: str, semantics: str, join: str = "wait", gap: str = ", gap_ms: 50") -> float | None:
    text = HOP.replace("WAY", way).replace("SEMANTICS", semantics).replace("JOIN", join)
    found = analyse(model(text.replace("GAP", gap))).chains[0]
    return None if found.bound is None else found.bound / MS


def test_a_reaction_to_a_message_begins_with_it_and_its_age_with_the_gap_to_the_next() -> None:
    latency = bound("in", "latency")
    assert latency is not None
    assert bound("in", "reaction") == latency
    assert bound("in", "age") == latency + 50
    assert bound("a", "age") == bound("a", "reaction") == (bound("a", "latency") or 0) + 20


def test_what_may_never_come_again_has_no_age() -> None:
    assert bound("in", "age", gap="") is None
    assert bound("in", "latency", gap="") is not None


def test_with_join_last_the_wait_for_other_inputs_does_not_count() -> None:
    waits, last = bound("a", "latency"), bound("a", "latency", "last")
    assert waits is not None and last is not None
    assert waits - last == 50
