# Copyright 2026 The rclrt Authors
# SPDX-License-Identifier: Apache-2.0
"""Chains: what reaction, age and latency are; names, topics, misses, where times come from."""

import json
import os
import random
from dataclasses import replace

import pytest
from models import model
from random_systems import chains, with_subscriptions
from rclrt_analysis.bounds.analyse import analyse
from rclrt_analysis.model import Callback, Chain, Executor, ExecutorKind, Kind, ModelError, System
from rclrt_analysis.report import to_json, to_text
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
        joined = any(system.callback_of[n].wants_all for n in chain.callbacks[1:])
        asked = [replace(chain, name=n, semantics=n, join="wait") for n in counts if n != "last"]
        if joined:
            asked.append(replace(chain, name="last", semantics="latency", join="last"))
        for bound in analyse(replace(system, chains=tuple(asked))).chains:
            name = bound.name
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


def test_data_that_came_through_but_were_not_the_last_do_not_count_when_they_come_again() -> None:
    """The camera's data are read again and again; whichever message of `s` is the last to come."""
    executor = Executor("e", ExecutorKind.ISOLATED, cores=(0,))
    camera, c, e = (
        Callback(name, Kind.TIMER, "e", 1, 1, period=period, priority=priority, publishes=(topic,))
        for name, period, priority, topic in (
            ("d", 84, 9, "d"),
            ("c", 24, 8, "c"),
            ("e", 40, 7, "c"),
        )
    )
    s = Callback(
        "s",
        Kind.SUBSCRIPTION,
        "e",
        3,
        3,
        priority=2,
        triggers=("c",),
        reads=("d",),
        publishes=("s",),
    )
    joined = Callback(
        "j", Kind.SUBSCRIPTION, "e", 1, 1, priority=1, triggers=("c", "s"), wants_all=True
    )
    chain = Chain("x", ("d", "s", "j"), semantics="latency", join="last")
    system = System("x", (executor,), (camera, c, e, s, joined), chains=(chain,))
    bound = analyse(system).chains[0].bound
    for seed in range(4):
        seen = chain_times(simulate(system, 20_000, seed, queue_all=seed % 2 == 1), chain)
        assert len(seen) > 20
        assert bound is not None and max(seen) <= bound


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
        seed = rng.randrange(1 << 30)
        run = simulate(system, 1_500, seed, random_work=True, queue_all=seed % 2 == 1)
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


SYSTEM = """executors:
  - {name: one, kind: priority_events, policy: rm}
  - {name: two, kind: isolated, policy: rm, cores: [1]}
callbacks:
  - {name: /lidar/timer/100ms, kind: timer, executor: one, period_ms: 100, wcet_ms: 1, publishes: [/scan]}
  - {name: /filter/subscription/scan, kind: subscription, executor: one, wcet_ms: 2, triggers: [/scan], publishes: [/points]}
  - {name: /left/subscription/points, kind: subscription, executor: two, wcet_ms: 2, triggers: [/points], publishes: [/left, /objects]}
  - {name: /right/subscription/points, kind: subscription, executor: two, wcet_ms: 2, triggers: [/points], publishes: [/right]}
  - {name: /fuse/subscription/both, kind: subscription, executor: two, wcet_ms: 2, triggers: [/left, /right], activation: all, publishes: [/fused]}
  - {name: /steer/timer/20ms, kind: timer, executor: two, period_ms: 20, wcet_ms: 1, reads: [/fused], publishes: [/cmd]}
  - {name: /radio/subscription/remote, kind: subscription, executor: two, period_ms: 50, wcet_ms: 1, publishes: [/stop]}
"""  # noqa: E501
LIDAR, FILTER = "/lidar/timer/100ms", "/filter/subscription/scan"
LEFT, FUSE, STEER = "/left/subscription/points", "/fuse/subscription/both", "/steer/timer/20ms"


def with_chain(fields: str) -> System:
    return model(SYSTEM + f"chains:\n  - {{name: k, {fields}}}\n")


def chain(fields: str) -> Chain:
    return with_chain(fields).chains[0]


def problem(fields: str) -> str:
    with pytest.raises(ModelError) as caught:
        with_chain(fields)
    return str(caught.value)


def test_an_input_of_a_join_stands_for_the_join() -> None:
    """Whether a recording shows the join is a matter of chance; the names of the inputs are not."""
    text = """
executors: [{name: e, kind: isolated, cores: [0]}]
callbacks:
  - {name: a, kind: timer, executor: e, period_ms: 20, wcet_ms: 1, priority: 3, publishes: [x]}
  - {name: b, kind: timer, executor: e, period_ms: 20, wcet_ms: 1, priority: 3, publishes: [y]}
  - {name: /f, kind: subscription, executor: e, wcet_ms: 1, priority: 2, triggers: [x, y],
     activation: all}
chains: [{name: c, callbacks: [a, /f/subscription/left], semantics: latency}]
"""
    assert model(text).chains[0].callbacks == ("a", "/f")
    with pytest.raises(ModelError, match="there is no callback '/f/subscription/left'"):
        model(text.replace("activation: all", "depth: 5"))


def test_topics_name_the_callbacks_between_them_across_executors() -> None:
    assert chain("topics: [/scan, /points]").callbacks == (LIDAR, FILTER)
    by_left = (LIDAR, FILTER, LEFT, FUSE, STEER)
    assert chain("topics: [/scan, /left, /cmd]").callbacks == by_left
    assert chain("topics: [/scan, /left, /fused, /cmd]").callbacks == by_left
    assert chain("topics: [/scan, /left, /objects]").callbacks == (LIDAR, FILTER, LEFT)


def test_a_topic_from_outside_stands_for_the_callback_that_takes_it() -> None:
    assert chain("topics: [/remote, /stop]").callbacks == ("/radio/subscription/remote",)


@pytest.mark.parametrize(
    ("fields", "expected"),
    [
        ("topics: [/scan, /cmd]", "test.yaml:15: several ways lead to '/cmd', among them by"),
        ("topics: [/scan, /cmds]", "nobody publishes '/cmds'. Did you mean '/cmd'?"),
        ("topics: [/cmd, /scan]", "no way leads from '/cmd' to '/scan'"),
        ("topics: [/scan, /scan]", "'/scan' stands in this chain twice"),
        ("topics: ['/sc*']", "'/sc*' is a pattern. Name the topic"),
        ("callbacks: ['/lidar/**']", "a chain passes through callbacks, so patterns do not name"),
        ("callbacks: [/lidar/timer/10ms]", "Did you mean '/lidar/timer/100ms'?"),
        (f"callbacks: [{LIDAR}, {FILTER}, {LIDAR}]", "a chain that comes back has no end"),
        (f"callbacks: [{LIDAR}], topics: [/scan]", "say callbacks or topics, and only one of them"),
        ("deadline_ms: 3", "test.yaml:15: say callbacks or topics"),
        ("topics: [/scan], join: last", "join: last leaves out data, so there is no reaction"),
        ("topics: [/scan], on_miss: {warn_after: 2}", "nothing is a miss without deadline_ms"),
        (
            "topics: [/scan], deadline_ms: 9, on_miss: {warn_after: 2, error_after: 1}",
            "warn_after exceeds error_after; swap them",
        ),
        ("topics: [/scan], silent_after_ms: 100", "the chain would be silent all the time"),
        ("topics: [/scan], measure: age", "unknown field 'measure'. There are: name, callbacks"),
    ],
)
def test_a_chain_that_cannot_be_meant_is_refused_with_its_line(fields: str, expected: str) -> None:
    assert expected in problem(fields)


def test_a_tangle_of_topics_is_refused_in_time() -> None:
    lines = ["executors: [{name: e, kind: isolated, policy: rm}]", "callbacks:"]
    timer = "kind: timer, executor: e, period_ms: 10, wcet_ms: 0"
    for i in range(40):  # Each reads all others: ways without number.
        reads = ", ".join(f"t{j}" for j in range(40) if j != i)
        lines.append(f"  - {{name: c{i}, {timer}, reads: [{reads}], publishes: [t{i}]}}")
    lines.append("  - {name: z, " + timer + ", publishes: [z]}")
    lines.append("chains: [{name: k, topics: [t0, z]}, {name: l, topics: [t0, t1]}]")
    with pytest.raises(ModelError) as caught:
        model("\n".join(lines) + "\n")
    assert "no way leads from 't0' to 'z'" in str(caught.value)
    assert "several ways lead to 't1'" in str(caught.value)


def test_what_a_miss_is_can_be_said() -> None:
    found = chain(
        "topics: [/scan, /points], semantics: age, deadline_ms: 150, silent_after_ms: 400, "
        "on_miss: {warn_after: 1, error_after: 3}"
    )
    assert (found.semantics, found.deadline, found.silent_after) == ("age", 150 * MS, 400 * MS)
    assert (found.warn_after, found.error_after) == (1, 3)


def test_a_model_newer_than_the_program_says_so() -> None:
    from models import SCHEMA
    from rclrt_analysis.model.document import parse_document
    from rclrt_analysis.model.read import build_system

    with pytest.raises(ModelError, match=r"of schema 2, this program reads schema 1"):
        build_system(parse_document("schema: 2\nname: x\n" + SYSTEM, "new.yaml"), SCHEMA)


MEASURED = "assumptions: {wcet_ms: {origin: measured, safety_factor: 1.5}}"
OUTSIDE = (
    "executors: [{name: e, kind: priority_events}]\n"
    "callbacks: [{name: a, kind: subscription, executor: e, priority: 1, period_ms: 12, "
    "jitter_ms: 2, gap_ms: 20, wcet_ms: 2, bcet_ms: 1.5, %s}]\n"
)


def test_safety_factors_make_measured_times_safer() -> None:
    said = ", ".join(
        f"{field}: {{origin: measured, safety_factor: 1.5}}"
        for field in ("wcet_ms", "period_ms", "jitter_ms", "gap_ms")
    )
    made = model(OUTSIDE % f"assumptions: {{{said}}}").callbacks[0]
    assert (made.wcet, made.bcet, made.jitter) == (3 * MS, 1 * MS, 3 * MS)
    assert (made.period, made.gap) == (8 * MS, 30 * MS)


def test_what_a_callback_says_of_its_times_comes_before_what_the_model_says() -> None:
    own = "assumptions: {wcet_ms: {origin: analysed}}"
    made = model(MEASURED + "\n" + OUTSIDE % own).callbacks[0]
    assert made.wcet == 2 * MS
    assert dict(made.assumptions)["wcet_ms"].word == "analysed"
    assert model(MEASURED + "\n" + OUTSIDE % "depth: 1").callbacks[0].wcet == 3 * MS


@pytest.mark.parametrize(
    ("said", "expected"),
    [
        ("{wcet_ms: {origin: stated, safety_factor: 2}}", "a safety factor is for measured times"),
        ("{wcet_ms: {origin: guessed}}", "'guessed' is not one of ['measured', 'stated'"),
        ("{wcet_ms: {origin: measured, safety_factor: 0.9}}", "0.9 must be 1 or more"),
        ("{wcet: {origin: measured}}", "unknown field 'wcet'. There are: wcet_ms, period_ms"),
    ],
)
def test_assumptions_that_make_no_sense_are_refused(said: str, expected: str) -> None:
    with pytest.raises(ModelError) as caught:
        model(OUTSIDE % f"assumptions: {said}")
    assert expected in str(caught.value)


def test_the_period_of_a_timer_needs_no_safety_factor() -> None:
    timer = SYSTEM.replace(
        "publishes: [/scan]",
        "publishes: [/scan], assumptions: {period_ms: {origin: measured, safety_factor: 2}}",
    )
    with pytest.raises(ModelError, match=r"test\.yaml:7: a program sets the period of a timer"):
        model(timer)


def test_what_a_model_says_of_all_periods_leaves_those_of_timers_alone() -> None:
    text = SYSTEM.replace("executors:", "assumptions: {period_ms: {origin: measured, "
                          "safety_factor: 2}}\nexecutors:", 1)  # fmt: skip
    period = {callback.name: callback.period for callback in model(text).callbacks}
    assert period[LIDAR] == 100 * MS
    assert period["/radio/subscription/remote"] == 25 * MS


def test_a_proof_names_what_it_rests_on_and_whence() -> None:
    system = model(
        MEASURED
        + "\n"
        + SYSTEM.replace("wcet_ms: 1, reads", "wcet_ms: 1, assumptions: "
                         "{wcet_ms: {origin: analysed}}, reads")
        + "chains: [{name: k, topics: [/scan, /points]}, {name: l, topics: [/remote, /stop]}]\n"
    )  # fmt: skip
    result = analyse(system)
    text = to_text(system, result)
    assert "  wcet_ms analysed: /steer/timer/20ms\n" in text
    assert "  wcet_ms measured, x 1.5: /lidar/timer/100ms, " in text
    assert "  period_ms of unknown origin: " in text
    rests = {one["name"]: one["rests_on"] for one in json.loads(to_json(system, result))["chains"]}
    # The first begins and ends on the executor that nobody else sends to.
    counts = [(one["field"], one["origin"], one["callbacks"]) for one in rests["k"]]
    assert counts == [("wcet_ms", "measured", 2), ("period_ms", "unknown", 1)]
    counts = [(one["field"], one["origin"], one["callbacks"]) for one in rests["l"]]
    assert counts[:2] == [("wcet_ms", "analysed", 1), ("wcet_ms", "measured", 6)]
