# Copyright 2026 The rclrt Authors
# SPDX-License-Identifier: Apache-2.0
"""No simulated response exceeds its bound, in 100,000 jobs for each bound.

`IN_BATCHES` have them in two places.

RCLRT_EFFORT=20 looks twenty times as long.
"""

import os
import random
from collections.abc import Callable
from copy import copy
from dataclasses import dataclass, field, replace
from typing import Any

import pytest
from random_systems import (
    by_stamps,
    finer,
    migrating,
    timers_only,
    with_a_link,
    with_subscriptions,
)
from rclrt_analysis.bounds import fifo, graph
from rclrt_analysis.bounds.activation import Activation, Stream
from rclrt_analysis.bounds.analyse import analyse
from rclrt_analysis.bounds.effort import limited
from rclrt_analysis.bounds.result import Local
from rclrt_analysis.bounds.unit import Arrivals, Unit
from rclrt_analysis.model import (
    Callback,
    Chain,
    Executor,
    ExecutorKind,
    Kind,
    Overheads,
    Policy,
    Release,
    System,
)
from rclrt_analysis.simulation import chain_ages, chain_latencies, chain_times, phasings, simulate

EFFORT = float(os.environ.get("RCLRT_EFFORT", "1"))
EVENTS, FIFO = ExecutorKind.PRIORITY_EVENTS, ExecutorKind.EVENTS_FIFO
WAIT_SET, ISOLATED = ExecutorKind.WAIT_SET_SINGLE, ExecutorKind.ISOLATED
MULTI, TIDE, MICRO_ROS = ExecutorKind.WAIT_SET_MULTI, ExecutorKind.TIDE, ExecutorKind.MICRO_ROS
RE = Release.RELEASE_AND_EXECUTE
FIXED = (Policy.FIXED_PRIORITY, Policy.FIXED_PRIORITY, Policy.RM, Policy.DM)


def apart(system: System) -> System:
    """Return the system without groups, and without a cost of releases."""
    system = replace(system, overheads=replace(system.overheads, release=0))
    return system.each(lambda c: replace(c, group=""))


def late_publishers(rng: random.Random) -> System:
    """Return a system in which messages leave after a part of the job."""
    kinds = rng.choice([(EVENTS,), (ISOLATED,), (ISOLATED, EVENTS), (FIFO,)])
    return leaving_early(rng, with_subscriptions(rng, kinds, rng.choice([0, 0, 3])))


def leaving_early(rng: random.Random, system: System) -> System:
    """Return the system with messages that leave after a part of the job."""

    def late(c: Callback) -> Callback:
        least = rng.randint(0, c.bcet)
        most = rng.choice([None, rng.randint(least, c.wcet)])
        return replace(c, publish_least=least, publish_most=most)

    return system.each(late)


def disturbed(rng: random.Random, system: System) -> System:
    """Return the system, now and then with something that takes the core, and later deadlines."""
    stolen = rng.choice([0, 0, 1])
    overheads = replace(system.overheads, stolen=stolen, window=rng.choice([15, 20, 40]))
    later = rng.choice([1, 1, 2])
    system = replace(system, overheads=overheads)
    return system.each(lambda c: replace(c, deadline=c.deadline and c.deadline * later))


def bursts(rng: random.Random) -> System:
    """Return executors of one thread each that send each other messages, which also wait."""
    kinds = rng.choice([(WAIT_SET, FIFO), (WAIT_SET, WAIT_SET), (FIFO,), (WAIT_SET,), (EVENTS,)])
    policy = Policy.EDF if EVENTS in kinds else Policy.FIXED_PRIORITY
    distro = rng.choice(["dashing", "foxy", "rolling"])
    system = with_subscriptions(rng, kinds, policy=policy, distro=distro)
    if rng.random() < 0.3:
        system = by_stamps(rng, system)
    return leaving_early(rng, system)


def by_deadline(rng: random.Random, dags: bool) -> System:
    """Return a system under EDF on several cores; some messages have deadlines."""

    def due(c: Callback) -> Callback:
        if c.period is None:
            return replace(c, deadline=rng.choice([None, None, 30]))
        return replace(
            c, deadline=rng.randint(c.period * 2 // 3, c.period * rng.choice([1, 1, 1 + dags]))
        )

    system = migrating(rng, Policy.EDF, dags).each(due)
    return replace(system, overheads=Overheads(late=rng.choice([0, 0, 1, 4])))


PAPER = ("theorem_1", "theorem_1_re", "theorem_2", "theorem_2_re")
"""Cases of the method of the paper; the others are exact."""

CASES: dict[str, Callable[[random.Random], System]] = {
    "theorem_1": lambda rng: timers_only(rng, EVENTS),
    "theorem_1_re": lambda rng: timers_only(rng, EVENTS, release=RE),
    "theorem_2": lambda rng: timers_only(rng, EVENTS, Policy.EDF),
    "nonpreemptive_fp": lambda rng: timers_only(rng, EVENTS),
    "nonpreemptive_fp_re": lambda rng: timers_only(rng, EVENTS, release=RE),
    "nonpreemptive_edf": lambda rng: timers_only(rng, EVENTS, Policy.EDF),
    "nonpreemptive_edf_re": lambda rng: timers_only(rng, EVENTS, Policy.EDF, RE),
    "theorem_2_re": lambda rng: timers_only(rng, EVENTS, Policy.EDF, RE),
    "fifo": lambda rng: timers_only(rng, FIFO),
    "wait_set": lambda rng: timers_only(rng, WAIT_SET),
    "wait_set_registered": lambda rng: replace(timers_only(rng, WAIT_SET), distro="foxy"),
    "preemptive_fp": lambda rng: timers_only(rng, ISOLATED, rng.choice(FIXED)),
    "preemptive_edf": lambda rng: timers_only(rng, ISOLATED, Policy.EDF),
    "global_fp": lambda rng: migrating(rng, Policy.FIXED_PRIORITY, dags=False),
    "global_fp_dags": lambda rng: migrating(rng, Policy.FIXED_PRIORITY, dags=True),
    "global_edf": lambda rng: by_deadline(rng, dags=rng.random() < 0.5),
    "nonpreemptive_fp_graph": (
        lambda rng: with_subscriptions(rng, (EVENTS,), policy=rng.choice(FIXED))
    ),
    "nonpreemptive_fp_jitter": lambda rng: with_subscriptions(rng, (EVENTS,), 3),
    "preemptive_fp_graph": (
        lambda rng: with_subscriptions(
            rng, (rng.choice([ISOLATED, ExecutorKind.PREEMPTIVE]),), policy=rng.choice(FIXED)
        )
    ),
    "preemptive_fp_jitter": (
        lambda rng: with_subscriptions(
            rng, (rng.choice([ISOLATED, ExecutorKind.PREEMPTIVE]),), rng.choice([1, 3, 9])
        )
    ),
    "global_fp_late_messages": (
        lambda rng: replace(
            migrating(rng, Policy.FIXED_PRIORITY, dags=True),
            overheads=Overheads(transport=rng.choice([1, 3, 9])),
        )
    ),
    "global_fp_overheads": (
        lambda rng: replace(
            migrating(rng, Policy.FIXED_PRIORITY, dags=rng.random() < 0.5),
            overheads=Overheads(
                wake=rng.choice([0, 0, 1]),
                late=rng.choice([0, 1, 2]),
                stolen=rng.choice([0, 0, 1]),
                window=rng.choice([15, 20, 40]),
            ),
        )
    ),
    "wait_set_graph": (
        lambda rng: with_subscriptions(
            rng, (WAIT_SET,), distro=rng.choice(["foxy", "humble", "dashing"])
        )
    ),
    "fifo_graph": lambda rng: with_subscriptions(rng, (FIFO,)),
    "edf_graph": (
        lambda rng: with_subscriptions(
            rng, (EVENTS,), rng.choice([0, 3]), policy=Policy.EDF, reserved=rng.random() < 0.4
        )
    ),
    "late_publishers": late_publishers,
    "joins_by_stamps": (
        lambda rng: by_stamps(rng, with_subscriptions(rng, (rng.choice([EVENTS, ISOLATED]),)))
    ),
    "preemptive_edf_graph": (
        lambda rng: disturbed(
            rng, with_subscriptions(rng, (ISOLATED,), rng.choice([0, 0, 3]), policy=Policy.EDF)
        )
    ),
    "preemptive_edf_parts": (
        lambda rng: apart(with_subscriptions(rng, (ISOLATED, ISOLATED), policy=Policy.EDF))
    ),
    "edf_parts": lambda rng: with_subscriptions(rng, (EVENTS, EVENTS), policy=Policy.EDF),
    "wait_set_multi": (
        lambda rng: with_subscriptions(
            rng, (MULTI,), distro=rng.choice(["rolling", "humble", "foxy", "dashing"])
        )
    ),
    "bursts": bursts,
    "reserved_wait_set": (
        lambda rng: with_subscriptions(
            rng, (WAIT_SET,), reserved=True, distro=rng.choice(["crystal", "jazzy"])
        )
    ),
    "reserved_fp": lambda rng: with_subscriptions(rng, (EVENTS,), reserved=True),
    "reserved_fifo": lambda rng: with_subscriptions(rng, (FIFO,), reserved=True),
    "reserved_threads": lambda rng: with_subscriptions(rng, (ISOLATED,), reserved=True),
    "tide": lambda rng: with_a_link(rng, TIDE),
    "micro_ros": lambda rng: with_a_link(rng, MICRO_ROS),
    "overheads": (
        lambda rng: replace(
            with_subscriptions(
                rng,
                (ISOLATED, ExecutorKind.PREEMPTIVE)[: rng.choice([1, 2])],
                policy=rng.choice(FIXED),
                cores=rng.choice([1, 2]),
            ),
            overheads=Overheads(
                receive=rng.choice([0, 1]),
                release=rng.choice([0, 1]),
                transport=rng.choice([0, 0, 2]),
                wake=rng.choice([0, 1, 5]),
                late=rng.choice([0, 2]),
                stolen=rng.choice([0, 1, 2]),
                window=rng.choice([15, 20, 40]),
            ),
        )
    ),
    # No sum of other times: else a job that has nothing left to do but to end would be released
    # together with a more urgent one.
    "wake": (
        lambda rng: replace(
            finer(with_subscriptions(rng, (ISOLATED, rng.choice([ISOLATED, WAIT_SET, MULTI])))),
            overheads=Overheads(wake=rng.choice([3_007, 9_013, 20_011])),
        )
    ),
    "several": lambda rng: with_subscriptions(rng, (EVENTS, ISOLATED, WAIT_SET), 2),
}


def method_of(case: str) -> str:
    return "paper" if case in PAPER else "exact"


@dataclass
class Tally:
    """What a campaign saw; `loose`: each bound beside the worst that its system showed."""

    systems: int = 0
    task_runs: int = 0
    chain_runs: int = 0
    unbounded: int = 0
    loose: list[float] = field(default_factory=list)
    violations: list[str] = field(default_factory=list)


def check(system: System, method: str, rng: random.Random, runs: int, tally: Tally) -> None:
    result = analyse(system, method)
    bounds = {bound.name: bound.bound for bound in result.callbacks}
    tally.unbounded += sum(bound is None for bound in bounds.values())
    bounded = [bounds[c.name] is not None for c in system.callbacks]
    if 3 * sum(bounded) < len(bounded):
        return  # Most of its jobs would not be held against anything.
    horizon = 8 * max(callback.period or 0 for callback in system.callbacks)
    phases = phasings(system, rng.randrange(1 << 30))
    worst: dict[str, int] = {}
    for _ in range(runs):
        seed = rng.randrange(1 << 30)
        run = simulate(
            system, horizon, seed, rng.random() < 0.5, next(phases), queue_all=seed % 2 == 1
        )
        tally.task_runs += sum(bounded[job.callback] for job in run.jobs)
        for name, (response, from_grid) in run.worst().items():
            bound = bounds[name]
            if bound is None:
                continue
            seen = from_grid if system.callback_of[name].kind.value == "timer" else response
            worst[name] = max(seen, worst.get(name, 0))
            if seen > bound:
                tally.violations.append(f"{name}: {seen} > {bound}, seed {seed}, {system}")
        running = run.running
        for chain, chain_bound in zip(system.chains, result.chains, strict=True):
            latencies = chain_times(run, chain, running)
            if chain_bound.bound is None or not latencies:
                continue
            tally.chain_runs += 1
            if max(latencies) > chain_bound.bound:
                text = f"{chain}: {max(latencies)} > {chain_bound.bound}, {chain_bound.hops}"
                tally.violations.append(f"{text}, seed {seed}, {system}")
    tally.loose += [(bounds[name] or 0) / seen for name, seen in worst.items() if seen]


def test_data_get_as_old_as_reactions_take() -> None:
    rng = random.Random(3)
    compared = 0
    for _ in range(60):
        system = with_subscriptions(rng, (EVENTS, WAIT_SET), 2)
        seed = rng.randrange(1 << 30)
        run = simulate(system, 4_000, seed, random_work=True, queue_all=seed % 2 == 1)
        for chain in system.chains:
            reactions = chain_latencies(run, replace(chain, semantics="reaction", join="wait"))
            ages = chain_ages(run, chain)
            if system.callback_of[chain.callbacks[0]].period is None or len(ages) < 10:
                continue
            assert max(ages) == max(reactions)
            compared += 1
    assert compared > 50


@pytest.mark.parametrize("case", CASES)
def test_no_simulated_response_exceeds_its_bound(case: str) -> None:
    make, method = CASES[case], method_of(case)
    rng = random.Random(case)
    tally = Tally()
    wanted = EFFORT * 30_000
    while tally.task_runs < wanted and tally.systems < 1_000 * EFFORT:
        check(make(rng), method, rng, 8, tally)
        tally.systems += 1
    assert not tally.violations, tally.violations[0]
    assert tally.task_runs >= wanted, "most of the systems have bounds"
    loose = sorted(tally.loose)
    median, p90 = (loose[len(loose) * tenths // 10] for tenths in (5, 9))
    none = tally.unbounded / (tally.unbounded + len(loose))
    print(
        f"\n{case}: {tally.systems} systems, {tally.task_runs} jobs, {tally.chain_runs} chains, "
        f"bound / worst seen: median {median:.2f}, p90 {p90:.2f}, none {none:.0%}"
    )


def changed(rng: random.Random, system: System) -> System:
    """Return the system with another value in one place."""
    c = rng.choice([c for c in system.callbacks if not c.repeats])
    topics = [topic for other in system.callbacks for topic in other.triggers]
    of_callbacks: list[dict[str, Any]] = [
        {"wcet": 1 + c.wcet // 2},
        {"period": None if c.period is None else c.period * rng.choice([2, 3])},
        {"jitter": c.jitter + 1},
        {"deadline": c.deadline and c.deadline + 1},
        {"priority": rng.randint(1, 9)},
        {"publish_least": 0, "publish_most": c.wcet},
        {"publishes": c.publishes if c.triggers else (*c.publishes, *topics[-1:])},
    ]
    costs = {rng.choice(["late", "transport", "wake", "stolen"]): rng.choice([1, 2])}
    executor = system.executor_of[c.executor]
    others: list[dict[str, Any]] = [
        {"policy": rng.choice(list(Policy))},
        {"release": RE if executor.release is not RE else Release.RELEASE_ONLY},
        {"threads": rng.choice([1, 2])},
    ]
    of_executors = [
        tuple(replace(executor, **other) if e == executor else e for e in system.executors)
        for other in others
    ]
    return rng.choice(
        [
            *(system.but(c.name, **fields) for fields in of_callbacks),
            *(replace(system, executors=executors) for executors in of_executors),
            replace(system, overheads=replace(system.overheads, window=50, **costs)),
            replace(system, distro=rng.choice(["foxy", "humble", "rolling"])),
        ]
    )


@pytest.mark.parametrize("case", CASES)
def test_what_was_found_of_one_system_is_not_taken_for_that_of_another(case: str) -> None:
    method, rng = method_of(case), random.Random(f"{case} changed")
    for _ in range(int(EFFORT)):
        systems = [CASES[case](rng)]
        for _ in range(6):
            systems.append(changed(rng, systems[rng.randrange(len(systems))]))
        with limited():
            together = [analyse(system, method) for system in systems]
        assert together == [analyse(system, method) for system in systems]


def without(condition: str, monkeypatch: pytest.MonkeyPatch) -> None:
    if condition == "messages take no time":
        monkeypatch.setattr(fifo, "is_covered", lambda unit: True)
    elif condition == "messages from elsewhere jitter":

        def apart(unit: Unit, arrivals: Arrivals, *rest: Any, **more: Any) -> dict[str, Local]:
            sooner = {
                topic: Activation(tuple(Stream(s.period) for s in one.streams), one.gap)
                for topic, one in arrivals.items()
            }
            return graph.analyse_graph(unit, sooner, *rest, **more)

        monkeypatch.setattr(fifo, "analyse_graph", apart)
    else:
        levels = graph._levels

        def less(of: graph.Graph, *rest: Any, **more: Any) -> dict[int, graph.Level]:
            if condition == "each way counts":
                of.shape = copy(of.shape)  # It is kept for other analyses.
                of.shape.children = [sorted(set(mine)) for mine in of.shape.children]
                return levels(of, *rest, **more)
            return {
                urgency: replace(level, stored=0)
                for urgency, level in levels(of, *rest, **more).items()
            }

        monkeypatch.setattr(graph, "_levels", less)


@pytest.mark.parametrize(
    ("condition", "first"),
    [
        ("messages take no time", 1),
        ("messages from elsewhere jitter", 1531),
        ("each way counts", 5778),
        ("inputs of joins were stored", 266),
    ],
)
def test_a_burst_without_one_of_its_conditions_is_unsound(
    condition: str, first: int, monkeypatch: pytest.MonkeyPatch
) -> None:
    """The first of 2,000 random systems that shows it; the search begins just before it."""
    without(condition, monkeypatch)
    tally = Tally()
    for number in range(first, first + 2_000):
        rng = random.Random(number)
        system = bursts(rng)
        if condition == "messages take no time":
            system = replace(system, overheads=Overheads(transport=9))
        check(system, "exact", rng, 8, tally)
        if tally.violations:
            print(f"\n{condition}: system {number}")
            return
    raise AssertionError("no system needs it")


def test_a_job_with_nothing_left_ends_before_what_is_released_just_then() -> None:
    """It publishes with its last step, and waits for what that has released; so does no work."""
    executor = Executor("e", ExecutorKind.PREEMPTIVE)
    low = Callback("low", Kind.TIMER, "e", 14, 14, period=60, priority=1, publishes=("x",))
    high = Callback("high", Kind.TIMER, "e", 4, 4, period=20, priority=3, publishes=("x",))
    reader = Callback("r", Kind.SUBSCRIPTION, "e", 1, 1, priority=2, triggers=("x",))
    empty = Callback("z", Kind.SUBSCRIPTION, "e", 0, 0, priority=0, triggers=("x",))
    system = System("x", (executor,), (low, high, reader, empty))
    run = simulate(system, 60, offsets={"low": 0, "high": 0})
    seen = {name: response for name, (response, _) in run.worst().items()}
    bounds = {one.name: one.bound for one in analyse(system).callbacks}
    assert seen["low"] == bounds["low"] == 20
    assert seen["z"] <= (bounds["z"] or 0)


@pytest.mark.parametrize(
    ("kind", "timers", "release", "bound"),
    [
        # At 40 the work of 36 and four releases are done; there are two more just then.
        (FIFO, [("a", 84, 33, 1), ("b", 20, 3, 1), ("c", 40, 0, 1)], 1, 42),
        # At 36 the next job of "a" comes, before the message of the first one has its turn.
        (EVENTS, [("a", 36, 3, 2), ("b", 70, 33, 2), ("c", None, 0, 1)], 0, 39),
        (EVENTS, [("a", 36, 3, 2), ("b", 70, 33, 2), ("c", 99, 0, 1)], 0, 39),
    ],
)
def test_a_job_without_work_waits_for_what_comes_just_then(
    kind: ExecutorKind, timers: list[tuple[str, int | None, int, int]], release: int, bound: int
) -> None:
    callbacks = tuple(
        Callback(
            name, Kind.TIMER if period else Kind.SUBSCRIPTION, "e", work, work, period=period,
            deadline=period, priority=priority, triggers=() if period else ("a",),
            publishes=("a",) * (name == "a"), publish_most=0 if name == "a" else None,
        )
        for name, period, work, priority in timers
    )  # fmt: skip
    system = System("x", (Executor("e", kind),), callbacks, overheads=Overheads(release=release))
    run = simulate(system, 80, offsets=dict.fromkeys("abc", 0))
    assert run.worst()["c"][0] == bound
    methods = ("exact", "paper") if kind is EVENTS and timers[2][1] else ("exact",)
    for method in methods:
        assert {one.name: one.bound for one in analyse(system, method).callbacks}["c"] == bound


def test_a_message_from_elsewhere_may_complete_one_that_was_stored_long_ago() -> None:
    """It comes while the next job of "a" runs, before that publishes after 5 of its 6."""
    executors = (Executor("e", EVENTS), Executor("f", ISOLATED, cores=(1,)))
    callbacks = (
        Callback("a", Kind.TIMER, "e", 6, 6, period=30, deadline=30, priority=2,
                 publishes=("a",), publish_least=5),
        Callback("b", Kind.SUBSCRIPTION, "f", 26, 26, priority=1, triggers=("a",),
                 publishes=("b",)),
        Callback("c", Kind.SUBSCRIPTION, "e", 1, 1, priority=1, triggers=("a", "b"),
                 wants_all=True),
    )  # fmt: skip
    system = System("x", executors, callbacks)
    seen = simulate(system, 300, offsets={"a": 0}).worst()["c"][0]
    assert seen == 5
    assert ({one.name: one.bound for one in analyse(system).callbacks}["c"] or 0) >= seen


def test_jobs_of_a_callback_do_not_overtake_each_other_on_the_way_to_their_core() -> None:
    executors = tuple(Executor(f"e{i}", ISOLATED, cores=(i,)) for i in range(2))
    source = Callback("t", Kind.TIMER, "e0", 1, 1, period=5, priority=1, publishes=("x",))
    reader = Callback("s", Kind.SUBSCRIPTION, "e1", 0, priority=1, triggers=("x",))
    system = System("x", executors, (source, reader), overheads=Overheads(wake=50))
    run = simulate(system, 5_000, queue_all=True)
    begun = [job.sources[0].sequence for job in run.of("s")]
    assert begun == sorted(begun)
    assert len(begun) > 900


@pytest.mark.parametrize("kind", [EVENTS, ISOLATED])
def test_a_release_that_replaces_a_job_keeps_its_place_among_equals(kind: ExecutorKind) -> None:
    """So by priorities a bound longer than the period says how rarely jobs end, too."""
    executor = Executor("e", kind)
    times = {"long": (100, 25, 0), "often": (10, 1, 1), "other": (100, 1, 5)}
    callbacks = tuple(
        Callback(name, Kind.TIMER, "e", work, work, period=period, deadline=period, priority=1)
        for name, (period, work, _) in times.items()
    )
    chain = Chain("c", ("often",), semantics="reaction")
    system = System("x", (executor,), callbacks, (chain,))
    run = simulate(system, 90, offsets={name: first for name, (*_, first) in times.items()})
    assert [(job.release, job.start) for job in run.of("often")][:1] == [(21, 25)]
    assert [job.start for job in run.of("other")] == [26]
    assert run.skipped == [0, 2, 0]
    found = analyse(system)
    assert (found.callbacks[1].bound or 0) > 10
    assert max(chain_latencies(run, chain)) <= (found.chains[0].bound or 0)
    later = replace(executor, kind=EVENTS, policy=Policy.EDF)
    assert analyse(replace(system, executors=(later,))).chains[0].bound is None


def test_bounds_do_not_grow_as_work_vanishes() -> None:
    rng = random.Random(4)
    names = [case for case in CASES if case not in ("tide", "micro_ros", "global_fp_overheads")]
    compared = 0
    for _ in range(50):
        case = rng.choice(names)
        system = finer(CASES[case](rng))
        chosen, found = rng.choice(system.callbacks), []
        for work in (0, 1):
            fields = {"wcet": work, "bcet": 0, "publish_least": 0, "publish_most": None}
            result = analyse(system.but(chosen.name, **fields), method_of(case))
            found.append([one.bound for one in (*result.callbacks, *result.chains)])
        for none, some in zip(*found, strict=True):
            assert none is None or some is None or none <= some, (chosen.name, system)
            compared += none is not None
    assert compared > 100
