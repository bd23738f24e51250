# Copyright 2026 The rclrt Authors
# SPDX-License-Identifier: Apache-2.0
"""The engine on real threads of SCHED_FIFO keeps the bounds of the same graph.

RCLRT_EFFORT=20 runs twenty times as many graphs.
"""

import os
import random
from collections.abc import Callable
from dataclasses import replace
from pathlib import Path

import numpy as np
import pytest
from engine_runs import (
    MS,
    OVERHEADS,
    RUN_MS,
    Seen,
    graph,
    judge,
    released_at,
    run_on_engine,
    seen_at_least,
)  # fmt: skip
from rclrt_analysis.bounds import analyse as analyse_module
from rclrt_analysis.bounds import graph as graph_bounds
from rclrt_analysis.bounds import inherited
from rclrt_analysis.bounds.analyse import analyse
from rclrt_analysis.model import Callback, Executor, ExecutorKind, Kind, Policy, System

EFFORT = float(os.environ.get("RCLRT_EFFORT", "1"))
GRAPHS = 6
ENOUGH = 50
"""Jobs; with fewer that nothing disturbed the machine is too busy to say anything."""

POOL, ISOLATED = ExecutorKind.PREEMPTIVE, ExecutorKind.ISOLATED
EVENTS = ExecutorKind.PRIORITY_EVENTS
PERIODS = (20, 25, 40, 50, 80, 100, 160, 200)


def timers(rng: random.Random, executors: list[str], share: float) -> list[Callback]:
    """Return timers that use that share of a CPU together."""
    count = rng.randint(1, 4)
    parts = [rng.random() + 0.2 for _ in range(count)]
    made = []
    for i, part in enumerate(parts):
        period = rng.choice(PERIODS) * MS
        wcet = max(MS // 2, int(period * share * part / sum(parts)))
        made.append(
            Callback(
                f"t{i}", Kind.TIMER, rng.choice(executors), wcet, wcet, period=period,
                deadline=period, priority=rng.randint(10, 40), publishes=(f"t{i}",),
            )
        )  # fmt: skip
    return made


def one_cpu(rng: random.Random, kind: ExecutorKind) -> System:
    return with_subscriptions(rng, [Executor("e", kind)], groups=True)


def late_publishers(rng: random.Random, kind: ExecutorKind) -> System:
    """Return a system whose messages leave after a known part of the job at the earliest."""
    return one_cpu(rng, kind).each(
        lambda c: replace(c, publish_least=int(rng.uniform(0.5, 1) * c.wcet))
    )


def by_deadline(rng: random.Random) -> System:
    """Return one thread that goes by deadlines; those of messages are inherited."""
    system = with_subscriptions(rng, [Executor("e", EVENTS, Policy.EDF)], groups=True)
    for callback in system.callbacks:
        if rng.random() < 0.4:
            deadline = callback.deadline or rng.choice(PERIODS) * MS
            system = system.but(callback.name, deadline=deadline)
    return system


def two_parts(rng: random.Random) -> System:
    """Return two executors that send to each other, each on a CPU of its own."""
    kinds = [rng.choice([POOL, ISOLATED, EVENTS]) for _ in range(2)]
    executors = [Executor(f"e{i}", kind, cores=(i,)) for i, kind in enumerate(kinds)]
    return with_subscriptions(rng, executors, groups=False)


def with_subscriptions(rng: random.Random, executors: list[Executor], groups: bool) -> System:
    names = [executor.name for executor in executors]
    made = timers(rng, names, 0.3 * len(names))
    roots = len(made)
    for i in range(rng.randint(1, 5)):
        parents = rng.sample(made, min(len(made), rng.choice([1, 1, 1, 2])))
        wcet = int(rng.uniform(0.5, 8) * MS)
        made.append(
            Callback(
                f"s{i}", Kind.SUBSCRIPTION, rng.choice(names), wcet, wcet,
                priority=rng.randint(10, 40), publishes=(f"s{i}",),
                triggers=tuple(parent.name for parent in parents),
            )
        )  # fmt: skip
    if groups:
        made = [replace(c, group=f"g{rng.randrange(roots + 2)}") for c in made]
    return System("random", tuple(executors), tuple(made), overheads=OVERHEADS)


def two_cpus(rng: random.Random) -> System:
    """Return threads that migrate: what a timer sets off has its priority."""
    made = []
    for timer in timers(rng, ["e"], 0.4):
        members = [timer]
        for i in range(rng.randint(0, 3)):
            parent = rng.choice(members)
            wcet = int(rng.uniform(0.02, 0.15) * (timer.period or 1))
            members.append(
                Callback(
                    f"s{i}{timer.name}", Kind.SUBSCRIPTION, "e", wcet, wcet,
                    priority=timer.priority, publishes=(f"s{i}{timer.name}",),
                    triggers=(parent.name,),
                )
            )  # fmt: skip
        made += members
    return System("random", (Executor("e", POOL, cores=(0, 1)),), tuple(made), overheads=OVERHEADS)


def inheriting(rng: random.Random) -> System:
    """Return subscriptions that inherit from publishers of their executor, and timers by rate."""
    kinds = [rng.choice([POOL, ISOLATED, EVENTS]) for _ in range(2)]
    executors = [Executor(f"e{i}", kind, Policy.RM, cores=(i,)) for i, kind in enumerate(kinds)]
    # What several release has inherited all of its urgency only in the end.
    return with_subscriptions(rng, executors, groups=False).each(
        lambda c: replace(c, priority=None, triggers=c.triggers[:1])
    )


CASES: dict[str, Callable[[random.Random], System]] = {
    "pool": lambda rng: one_cpu(rng, POOL),
    "isolated": lambda rng: one_cpu(rng, ISOLATED),
    "events": lambda rng: one_cpu(rng, EVENTS),
    "late_publishers": lambda rng: late_publishers(rng, rng.choice([POOL, ISOLATED])),
    "events_by_deadline": by_deadline,
    "two_parts": two_parts,
    "inheriting": inheriting,
    "two_cpus": two_cpus,
}


def bounds_of(system: System) -> dict[str, int | None]:
    return {bound.name: bound.bound for bound in analyse(system).callbacks}


def too_late(system: System, seen: Seen) -> list[str]:
    bounds = bounds_of(system)
    return [
        f"{name}: seen {max(times) / MS} ms, bound {bound / MS} ms"
        for name, times in seen.responses.items()
        if (bound := bounds[name]) is not None and max(times) > bound
    ]


@pytest.mark.parametrize("case", CASES)
def test_no_response_of_the_engine_exceeds_its_bound(case: str, tmp_path: Path) -> None:
    rng = random.Random(case)
    total, judged, tightness = Seen(), 0, [0.0]
    ran = 0
    while ran < GRAPHS * EFFORT:
        system = CASES[case](rng)
        bounds = bounds_of(system)
        if any(bound is None or bound > RUN_MS * MS // 2 for bound in bounds.values()):
            continue  # Overloaded, or out of the reach of a bound.
        text = graph(system, rng)
        seen = run_on_engine(system, text, tmp_path)
        assert not too_late(system, seen), (too_late(system, seen), text)
        ran += 1
        total.add(seen)
        judged += sum(len(times) for times in seen.responses.values())
        tightness += [max(t) / (bounds[n] or 1) for n, t in seen.responses.items()]
    print(
        f"\n{case}: {ran} graphs, {total.jobs} jobs, {total.discarded} of them discarded since the "
        f"machine had disturbed them; seen / bound: mean {sum(tightness) / len(tightness):.2f}, "
        f"most {max(tightness):.2f}"
    )
    if judged < ENOUGH:
        pytest.skip(f"only {judged} of {total.jobs} jobs undisturbed")


PUBLISHER = Callback(
    "t", Kind.TIMER, "e", 10 * MS, period=100 * MS, deadline=20 * MS, priority=50, publishes=("x",)
)


def more_urgent_than_its_publisher(kind: ExecutorKind) -> System:
    reader = Callback("s", Kind.SUBSCRIPTION, "e", 20 * MS, priority=60, triggers=("x",))
    return System("urgent", (Executor("e", kind),), (PUBLISHER, reader), overheads=OVERHEADS)


@pytest.mark.parametrize("kind", [POOL, ISOLATED])
def test_what_a_job_sets_off_preempts_it(
    kind: ExecutorKind, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    system = more_urgent_than_its_publisher(kind)
    seen = seen_at_least(
        3, "t", system, graph(system, random.Random(1), publishes_at=1.0), tmp_path
    )
    assert min(seen.responses["t"]) >= 30 * MS
    assert not too_late(system, seen)
    assert not analyse(system).met
    # A model whose messages leave when a job has ended is caught.
    monkeypatch.setattr(graph_bounds, "_inside", lambda graph: np.zeros(len(graph.wcet), np.int64))
    assert analyse(system).met
    assert len(too_late(system, seen)) == 1


def test_a_publication_holds_up_what_is_less_urgent_than_what_it_releases(tmp_path: Path) -> None:
    low = Callback(
        "low", Kind.TIMER, "e", 12 * MS, 12 * MS, period=100 * MS, deadline=100 * MS, priority=10,
        publishes=("x",),
    )  # fmt: skip
    reader = Callback("s", Kind.SUBSCRIPTION, "e", MS, MS, priority=60, triggers=("x",))
    middle = Callback(
        "m", Kind.TIMER, "e", 2 * MS, 2 * MS, period=100 * MS, deadline=100 * MS, priority=50
    )
    callbacks = (low, reader, middle)
    system = System("held", (Executor("e", ISOLATED),), callbacks, overheads=OVERHEADS)
    text = graph(system, random.Random(1), publishes_at=1 / 6)
    text = text.replace("release s\nburn 10000000", f"hold s {8 * MS}\nburn {2 * MS}")
    assert "hold" in text
    text = released_at(text, 1, 5)  # m comes in the middle of the publication.
    seen = seen_at_least(3, "m", system, text, tmp_path)
    assert too_late(system, seen), "if publications take no time"
    overheads = replace(OVERHEADS, publish=8 * MS)
    assert not too_late(replace(system, overheads=overheads), seen)


@pytest.mark.parametrize("kind", [POOL, ISOLATED])
def test_what_a_job_sets_off_overtakes_it_on_the_thread_of_something_more_urgent(
    kind: ExecutorKind, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """That thread lowers its priority and so goes to the head of its new level."""
    equal = Callback(
        "s", Kind.SUBSCRIPTION, "e", 8 * MS, priority=50, triggers=("x",), group="g"
    )  # fmt: skip
    above = Callback(
        "u", Kind.TIMER, "e", 5 * MS, period=100 * MS, deadline=100 * MS, priority=60, group="g"
    )  # fmt: skip
    system = System("equal", (Executor("e", kind),), (PUBLISHER, equal, above), overheads=OVERHEADS)
    text = graph(system, random.Random(1), publishes_at=0.2)
    text = released_at(text, 1, 6)  # u comes when t has published.
    seen = seen_at_least(3, "t", system, text, tmp_path)
    assert max(seen.responses["t"]) >= 23 * MS
    assert not too_late(system, seen)
    assert not analyse(system).met
    # A model in which what is as urgent waits is caught.
    never = np.zeros(len(system.callbacks), dtype=np.bool_)
    monkeypatch.setattr(graph_bounds, "_overtaking", lambda unit, urgency: never)
    assert analyse(system).met
    assert len(too_late(system, seen)) == 1


def test_a_group_hands_on_the_earliest_deadline_that_it_has_taken(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """What "right" publishes is due by what "left" has taken, and so before "t"."""

    def subscription(name: str, wcet: int, topic: str, group: str = "") -> Callback:
        return Callback(
            name, Kind.SUBSCRIPTION, "e", wcet, wcet, triggers=(topic,), group=group,
            publishes=() if name == "left" else (name,),
        )  # fmt: skip

    def timer(name: str, period: int, deadline: int) -> Callback:
        return Callback(
            name, Kind.TIMER, "e", MS, MS, period=period * MS, deadline=deadline * MS,
            publishes=(name,),
        )  # fmt: skip

    callbacks = (
        timer("a", 20, 20), subscription("left", MS, "a", "f"), timer("b", 100, 100),
        subscription("right", MS, "b", "f"), subscription("x", 8 * MS, "right"),
        subscription("y", 8 * MS, "right"), timer("t", 100, 17),
    )  # fmt: skip
    system = System("f", (Executor("e", EVENTS, Policy.EDF),), callbacks, overheads=OVERHEADS)
    text = graph(system, random.Random(1), publishes_at=1.0)
    text = released_at(text, 100, 110, 113)
    seen = seen_at_least(3, "t", system, text, tmp_path)
    assert min(seen.responses["t"]) > 15 * MS
    assert not too_late(system, seen)
    assert not analyse(system).met
    # A model in which "right" hands on what itself has taken is caught.
    monkeypatch.setattr(inherited, "_brings", lambda unit, name: False)
    assert analyse(system).met
    assert len(too_late(system, seen)) == 1


def test_what_is_less_urgent_does_not_get_into_a_group_in_between(tmp_path: Path) -> None:
    """Neither by a thread that was urgent before, nor lent the urgency of what comes later."""
    t0 = Callback(
        "t0", Kind.TIMER, "e", 12 * MS, 12 * MS, period=40 * MS, deadline=40 * MS, priority=18,
        publishes=("t0",), group="g2",
    )  # fmt: skip
    s0 = Callback(
        "s0", Kind.SUBSCRIPTION, "e", 5 * MS, 5 * MS, priority=15, triggers=("t0",),
        publishes=("s0",), group="g0",
    )  # fmt: skip
    s1 = Callback(
        "s1", Kind.SUBSCRIPTION, "e", 6 * MS, 6 * MS, priority=22, triggers=("s0",),
        publishes=("s1",), group="g2",
    )  # fmt: skip
    s2 = Callback(
        "s2", Kind.SUBSCRIPTION, "e", 5 * MS, 5 * MS, priority=38, triggers=("t0", "s1"), group="g0"
    )  # fmt: skip
    system = System("groups", (Executor("e", ISOLATED),), (t0, s0, s1, s2), overheads=OVERHEADS)
    seen = seen_at_least(
        3, "s1", system, graph(system, random.Random(1), publishes_at=0.5), tmp_path
    )
    assert not too_late(system, seen)
    assert min(seen.responses["s1"]) > 10 * MS, "s2 comes in between"


def test_urgency_is_not_inherited_from_another_executor(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    timer = Callback(
        "t", Kind.TIMER, "e", MS, period=20 * MS, deadline=20 * MS, publishes=("x",)
    )  # fmt: skip
    reader = Callback("s", Kind.SUBSCRIPTION, "f", 2 * MS, triggers=("x",))
    other = Callback("b", Kind.TIMER, "f", 30 * MS, period=100 * MS, deadline=100 * MS)
    executors = tuple(
        Executor(name, POOL, Policy.RM, cores=(core,)) for core, name in enumerate("ef")
    )
    system = System("two", executors, (timer, reader, other), overheads=OVERHEADS)
    seen = seen_at_least(5, "s", system, graph(system, random.Random(1)), tmp_path)
    assert not too_late(system, seen)
    if max(seen.responses["s"]) < 10 * MS:
        pytest.skip(
            f"no undisturbed job of s met one of b: {seen.discarded} of {seen.jobs} were not"
        )
    # A model that inherits all the same is caught.
    inherited = {"t": 59, "s": 59, "b": 58}
    monkeypatch.setattr(analyse_module, "urgencies", lambda system: inherited)
    assert len(too_late(system, seen)) == 1


def test_jobs_are_judged_unless_something_else_kept_the_cpu_busy() -> None:
    wcet = {"a": 10 * MS}
    jobs = [("a", 0, 10 * MS), ("a", 100 * MS, 113 * MS), ("a", 200 * MS, 213 * MS)]
    gaps = [(0, 10 * MS), (100 * MS, 113 * MS), (203 * MS, 213 * MS)]
    seen = judge(jobs, gaps, wcet)
    assert (seen.jobs, seen.discarded) == (3, 1)
    assert seen.responses == {"a": [10 * MS, 13 * MS]}, "what waits at an idle CPU is judged"


def test_what_has_a_budget_disturbs_nothing_and_hides_nothing() -> None:
    jobs = [("a", 0, 13 * MS), ("a", 40 * MS, 53 * MS)]
    gaps = [(0, 13 * MS), (40 * MS, 53 * MS)]
    # In the second busy time 3 ms went neither to the job nor to what has a budget.
    limited = [(2 * MS, 5 * MS), (38 * MS, 40 * MS), (60 * MS, 70 * MS)]
    seen = judge(jobs, gaps, {"a": 10 * MS}, limited)
    assert (seen.responses, seen.discarded) == ({"a": [13 * MS]}, 1)


def test_a_disturbance_before_a_job_tells_on_it() -> None:
    wcet = {"a": 10 * MS}
    jobs = [("a", 0, 14 * MS), ("a", 12 * MS, 24 * MS), ("a", 40 * MS, 50 * MS)]
    seen = judge(jobs, [(0, 24 * MS), (40 * MS, 50 * MS)], wcet)
    assert seen.responses == {"a": [10 * MS]}
