# Copyright 2026 The rclrt Authors
# SPDX-License-Identifier: Apache-2.0
"""Random small systems, hard for bounds: short periods, high utilization, jitter, overheads."""

import random
from collections.abc import Callable
from dataclasses import replace

from rclrt_analysis.bounds.activation import urgencies
from rclrt_analysis.model import (
    Budget,
    Callback,
    Chain,
    Executor,
    ExecutorKind,
    Kind,
    Link,
    Overheads,
    Policy,
    Release,
    Reservation,
    System,
)
from rclrt_analysis.model.links import with_links

WAIT_SETS = (
    ExecutorKind.WAIT_SET_SINGLE,
    ExecutorKind.WAIT_SET_MULTI,
    ExecutorKind.MICRO_ROS,
)
PERIODS = (20, 24, 30, 36, 40, 50, 60, 70, 84, 100)  # ns; the unit does not matter


def timers(
    rng: random.Random, executor: str, count: int, utilization: float, prefix: str = "t"
) -> list[Callback]:
    """Return timers that share a utilization, a few of them without work."""
    shares = [rng.random() + 0.1 for _ in range(count)]
    made = []
    for i, share in enumerate(shares):
        period = rng.choice(PERIODS)
        wcet = min(period, max(1, int(utilization * share / sum(shares) * period)))
        wcet *= rng.random() > 0.05
        made.append(
            Callback(
                f"{prefix}{i}",
                Kind.TIMER,
                executor,
                wcet,
                bcet=rng.randint(0, wcet),
                period=period,
                deadline=period,
                priority=rng.randint(1, count),
                publishes=(f"{prefix}{i}",),
            )
        )
    return made


def timers_only(
    rng: random.Random,
    kind: ExecutorKind,
    policy: Policy = Policy.FIXED_PRIORITY,
    release: Release = Release.RELEASE_ONLY,
) -> System:
    count = rng.randint(2, 6)
    callbacks = timers(rng, "e", count, rng.uniform(0.4, 1.0))
    if policy is not Policy.FIXED_PRIORITY:
        callbacks = [replace(callback, priority=None) for callback in callbacks]
    callbacks = [
        replace(c, reads=(rng.choice([o.name for o in callbacks if o is not c]),))
        for c in callbacks
    ]
    cost = rng.choice([0, 0, 1]) if kind is not ExecutorKind.WAIT_SET_SINGLE else 0
    system = System(
        "random",
        (Executor("e", kind, policy, release),),
        tuple(callbacks),
        overheads=Overheads(release=cost),
    )
    return replace(system, chains=tuple(chains(rng, system)))


def sharing(rng: random.Random, system: System) -> System:
    """Let some callbacks publish a topic of another besides, where that closes no circle."""
    topics = [topic for callback in system.callbacks for topic in callback.publishes]
    for _ in range(rng.choice([0, 0, 1, 2])):
        chosen, topic = rng.choice(system.callbacks), rng.choice(topics)
        if topic in chosen.publishes:
            continue
        changed = system.but(chosen.name, publishes=(*chosen.publishes, topic))
        if len(changed.topological) == len(system.callbacks):
            system = changed
    return system


def by_stamps(rng: random.Random, system: System) -> System:
    """Have what waits for several inputs pair them by stamps."""
    joins = [c for c in system.callbacks if c.wants_all]
    if not joins:
        chosen = [c for c in system.callbacks if len(c.triggers) > 1]
        joins = chosen or [system.callbacks[-1]]
    made = []
    for callback in system.callbacks:
        topics = callback.triggers
        others = [c.publishes[0] for c in system.callbacks if c.kind is Kind.TIMER]
        if callback in joins and len(topics) < 2 and callback.kind is not Kind.TIMER:
            topics = tuple(dict.fromkeys((*topics, *others)))[:2]
        if callback in joins and len(topics) > 1:
            pairs = rng.choice(["exact", "approximate", "approximate"])
            callback = replace(
                callback, triggers=topics, wants_all=True, pairs=pairs, queue=rng.choice([2, 9, 40])
            )
        made.append(callback)
    changed = replace(system, callbacks=tuple(made))
    return changed if len(changed.topological) == len(made) else system


def migrating(rng: random.Random, policy: Policy, dags: bool) -> System:
    """Return timers, or a DAG for each, whose threads use two or three cores."""
    cores = rng.choice([2, 2, 3])
    callbacks = timers(
        rng,
        "e",
        rng.randint(2, 6),
        rng.uniform(0.2, 0.5) * cores if dags else rng.uniform(0.3, 0.8) * cores,
    )
    if policy is not Policy.FIXED_PRIORITY:
        callbacks = [replace(callback, priority=None) for callback in callbacks]
    for root in list(callbacks) if dags else []:
        nodes = [root]
        for i in range(rng.randint(0, 4)):
            parents = rng.sample(nodes, min(len(nodes), rng.choice([1, 1, 2])))
            wcet = rng.randint(0, 4)
            nodes.append(
                Callback(
                    f"{root.name}s{i}",
                    Kind.SUBSCRIPTION,
                    "e",
                    wcet,
                    bcet=rng.randint(0, wcet),
                    triggers=tuple(parent.publishes[0] for parent in parents),
                    wants_all=len(parents) > 1,
                    publishes=(f"{root.name}s{i}",),
                )
            )
        callbacks += nodes[1:]
    executor = Executor("e", ExecutorKind.ISOLATED, policy, cores=tuple(range(cores)))
    system = sharing(rng, System("random", (executor,), tuple(callbacks)))
    return replace(system, chains=tuple(chains(rng, system)))


def with_subscriptions(
    rng: random.Random,
    kinds: tuple[ExecutorKind, ...],
    transport: int = 0,
    *,
    policy: Policy = Policy.FIXED_PRIORITY,
    reserved: bool = False,
    distro: str = "rolling",
    cores: int = 99,
) -> System:
    """Return timers, and subscriptions that are released by one topic, by several, or by all."""
    executors = tuple(executor(rng, f"e{i}", kind, 10 * (i % cores), policy, reserved)
                      for i, kind in enumerate(kinds))  # fmt: skip
    # A wait set looks at its timers itself: they have no jitter of release.
    late = [e.name for e in executors if e.kind not in WAIT_SETS]
    count = rng.randint(2, 4)
    # Where responses and jitter grow each other nothing has a bound, and nothing is tested.
    load = rng.uniform(0.2, 0.6) * (0.5 if reserved else 1) * (0.7 if policy is Policy.EDF else 1)
    load *= 0.3 if reserved and kinds == (ExecutorKind.ISOLATED,) else 1
    if kinds == (ExecutorKind.WAIT_SET_MULTI,):
        load *= rng.uniform(0.7, 0.7 * len(executors[0].cores))
    callbacks = timers(rng, "e0", count, load)
    for i in range(rng.randint(1, 5)):
        topics = rng.sample(
            [c.publishes[0] for c in callbacks], min(len(callbacks), rng.choice([1, 1, 1, 2]))
        )
        wcet = rng.choice([0, 1, 2, 3, 4])
        callbacks.append(
            Callback(
                f"s{i}",
                Kind.SUBSCRIPTION,
                rng.choice(executors).name,
                wcet,
                bcet=rng.randint(0, wcet),
                priority=rng.choice([None, None, rng.randint(1, count)]),
                triggers=tuple(topics),
                wants_all=len(topics) > 1 and rng.random() < 0.7,
                publishes=(f"s{i}",),
            )
        )  # fmt: skip
    callbacks = [
        replace(
            c,
            executor=rng.choice(executors).name,
            group=rng.choice(["", "", "", "g", "g", "h"]),
            reads=tuple(rng.sample([o.publishes[0] for o in callbacks if o is not c], 1))
            if rng.random() < 0.5
            else (),
        )
        for c in callbacks
    ]
    callbacks = [
        replace(c, jitter=rng.randint(0, c.period))
        if c.period and c.executor in late and rng.random() < 0.15
        else c
        for c in callbacks
    ]
    if reserved and kinds == (ExecutorKind.ISOLATED,):
        executors = (fitting(executors[0], callbacks),)
    if policy is Policy.EDF:
        # Messages from outside; if some have no deadline, what they set off has none either.
        outside, free = rng.random() < 0.5, rng.random() < 0.5
        callbacks = [
            replace(
                c, kind=Kind.SUBSCRIPTION, gap=c.period + c.jitter,
                deadline=None if free else c.deadline,
            )
            if outside and c.period and rng.random() < 0.7
            else c
            for c in callbacks
        ]  # fmt: skip
        free &= outside
        callbacks = [
            replace(
                c,
                priority=None,
                deadline=c.deadline
                or rng.choice([None, None, None if free else rng.randint(5, 60)]),
            )
            for c in callbacks
        ]
    overheads = Overheads(
        release=0 if reserved else rng.choice([0, 0, 1]),
        dispatch=rng.choice([0, 0, 1]),
        context_switch=0 if reserved else rng.choice([0, 0, 1]),
        transport=transport,
    )
    system = System("random", executors, tuple(callbacks), overheads=overheads, distro=distro)
    system = sharing(rng, system)
    return replace(system, chains=tuple(chains(rng, system)))


def executor(
    rng: random.Random, name: str, kind: ExecutorKind, core: int, policy: Policy, reserved: bool
) -> Executor:
    """Return an executor, with a reservation, or several threads, if there can be."""
    if kind is ExecutorKind.WAIT_SET_MULTI:
        threads = rng.randint(1, 4)
        return Executor(name, kind, cores=tuple(range(core, core + threads)), threads=threads)
    reservation = None
    if reserved:
        period = rng.randint(2, 25)
        least = -(-period // 2)
        reservation = Reservation(rng.randint(least, max(least, period * 95 // 100)), period)
    return Executor(name, kind, policy, cores=(core,), reservation=reservation)


def fitting(executor: Executor, callbacks: list[Callback]) -> Executor:
    """Return it with a reservation that one core has room for, as many groups as there are."""
    mine = executor.reservation
    assert mine is not None
    threads = len({c.group or f"\0{c.name}" for c in callbacks})
    period = max(mine.period, -(-mine.budget * threads * 20 // 19))
    return replace(executor, reservation=Reservation(mine.budget, period))


def with_a_link(
    rng: random.Random, kind: ExecutorKind, expand: Callable[[System], System] = with_links
) -> System:
    """Return chains of a timer, an answer from elsewhere and its reader, over serial links.

    Readers wait for the answer or sample it, on the microcontroller that asked or on another one;
    some timers have a second message, which a timer elsewhere samples.
    """
    lost = rng.randint(0, 1)
    # 20 ns for a frame without data: the shortest there is.
    link = Link(10_000_000_000, rng.randint(0, 5), bool(lost or rng.random() < 0.5), lost)
    mcus = [Executor(f"mcu{i}", kind, cores=(i,), link=link) for i in range(rng.choice([1, 1, 2]))]
    host = Executor("host", ExecutorKind.ISOLATED, cores=(9,))
    roots = timers(rng, "mcu0", rng.randint(1, 3), rng.uniform(0.1, 0.4) / len(mcus))
    made: list[Callback] = []
    ways: list[tuple[str, ...]] = []
    for root in roots:
        period = (root.period or 1) * 10
        more = (f"x{root.name}",) if rng.random() < 0.3 else ()
        own = replace(
            root, period=period, deadline=period, bytes=rng.randint(1, 30),
            executor=rng.choice(mcus).name, publishes=(root.name, *more),
        )  # fmt: skip
        answer = Callback(
            f"a{root.name}", Kind.SUBSCRIPTION, "host", 1, priority=rng.randint(1, 9),
            triggers=(root.name,), publishes=(f"a{root.name}",), bytes=rng.randint(1, 9),
        )  # fmt: skip
        wcet = rng.randint(1, 20)
        end = Callback(
            f"s{root.name}", Kind.SUBSCRIPTION, rng.choice(mcus).name, wcet,
            bcet=rng.randint(0, wcet), priority=rng.randint(1, 9), triggers=answer.publishes,
        )  # fmt: skip
        if rng.random() < 0.3:
            end = replace(
                end, kind=Kind.TIMER, triggers=(), reads=answer.publishes, period=period,
                deadline=period,
            )  # fmt: skip
        made += [own, answer, end]
        ways += [(own.name, answer.name, end.name)]
        for topic in more:
            reader = Callback(
                f"r{root.name}", Kind.TIMER, "host", 2, period=97, deadline=97,
                priority=rng.randint(1, 9), reads=(topic,),
            )  # fmt: skip
            made += [reader]
            ways += [(own.name, reader.name)]
    every = tuple(
        Chain(f"{way} {semantics}", way, semantics=semantics)
        for way in ways
        for semantics in ("reaction", "latency")
    )
    overheads = Overheads(dispatch=rng.choice([0, 0, 1]), transport=rng.choice([0, 0, 2]))
    return expand(System("random", (*mcus, host), tuple(made), every, overheads))


def derived(rng: random.Random) -> System:
    """Return executors on one core or two whose priorities rm and dm derive, with all that costs.

    Beside fixed priorities, which some callbacks inherit.
    """
    threaded = (ExecutorKind.ISOLATED, ExecutorKind.PREEMPTIVE)
    kinds = (rng.choice(threaded), rng.choice((*threaded, ExecutorKind.PRIORITY_EVENTS)))
    system = finer(with_subscriptions(rng, kinds, cores=rng.choice([1, 2])), 1_000_000)
    policies = (Policy.RM, Policy.DM, rng.choice(list(Policy)[:3]))
    executors = tuple(replace(e, policy=rng.choice(policies)) for e in system.executors)
    callbacks = []
    for c in system.callbacks:
        deadline = c.deadline and rng.randint(c.deadline // 2, c.deadline)
        budget = rng.choice([None, None, None, Budget(4_000_000, rng.choice(PERIODS) * 1_000_000)])
        reads = c.reads or tuple(t for t in ("t0", "t1") if t not in c.publishes)
        callbacks.append(replace(c, deadline=deadline, budget=budget, jitter=0, reads=reads[:1]))
    costs = Overheads(
        release=rng.choice([0, 0, 10_000]), transport=rng.choice([0, 0, 50_000]),
        wake=rng.choice([0, 20_000]), late=rng.choice([0, 30_000]),
        receive=rng.choice([0, 100_000]), publish=rng.choice([0, 0, 40_000]),
        watch=rng.choice([0, 0, 20_000]), stolen=rng.choice([0, 30_000]), window=5_000_000,
    )  # fmt: skip
    overheads = rng.choice([costs, costs, Overheads()])
    system = replace(system, executors=executors, callbacks=tuple(callbacks), overheads=overheads)
    return replace(system, chains=tuple(chains(rng, system)))


def written_out(system: System) -> System:
    """Return the system with the priorities written out that its executors derive or inherit."""
    urgency = urgencies(system)
    executors = tuple(
        e if e.policy is Policy.EDF else replace(e, policy=Policy.FIXED_PRIORITY)
        for e in system.executors
    )
    by_deadline = {e.name for e in system.executors if e.policy is Policy.EDF}
    return replace(system, executors=executors).each(
        lambda c: c if c.executor in by_deadline else replace(c, priority=urgency[c.name])
    )


def finer(system: System, times: int = 1_000) -> System:
    """Return the system with the times of all callbacks so many times as long."""
    names = ("wcet", "bcet", "period", "jitter", "gap", "deadline", "offset")

    def longer(callback: Callback) -> Callback:
        known = {name: getattr(callback, name) for name in names}
        every = {name: None if time is None else time * times for name, time in known.items()}
        return replace(callback, **every)

    return system.each(longer)


def chains(rng: random.Random, system: System) -> list[Chain]:
    """Return some of the ways that data can take."""
    readers: dict[str, list[str]] = {}
    for callback in system.callbacks:
        for topic in (*callback.triggers, *callback.reads):
            readers.setdefault(topic, []).append(callback.name)
    made = []
    for i in range(4):
        way = [rng.choice(system.callbacks).name]
        while len(way) < 5:
            further = [
                name
                for topic in system.callback_of[way[-1]].publishes
                for name in readers.get(topic, ())
                if name not in way
            ]
            if not further:
                break
            way.append(rng.choice(further))
        semantics = rng.choice(["reaction", "age", "latency"])
        join = rng.choice(["wait", "last"]) if semantics == "latency" else "wait"
        made.append(Chain(f"c{i}", tuple(way), semantics=semantics, join=join))
    return made


def talking(
    rng: random.Random, kinds: tuple[ExecutorKind, ...], least: int, counts: tuple[int, ...],
    others: float = 0.0,
) -> System:  # fmt: skip
    """Return timers and subscriptions on two executors of some kinds, at least so many timers.

    Subscriptions take one of these counts of topics; with `others` one of several releases them,
    and with that probability a first callback is released from outside, or a later one is a timer
    that reads what others publish. Else they wait for all of their topics.
    """
    executors = tuple(
        Executor(f"e{i}", rng.choice(kinds) if len(kinds) > 1 else kinds[0], cores=(i,))
        for i in range(2)
    )
    made: list[Callback] = []
    for i in range(rng.randint(least, 3)):
        kind = Kind.SUBSCRIPTION if others and rng.random() < others else Kind.TIMER
        made.append(
            Callback(
                f"t{i}", kind, rng.choice(executors).name, rng.randint(900, 2_000),
                period=rng.randint(6_000, 15_000), publishes=(f"t{i}",),
            )
        )  # fmt: skip
    for i in range(rng.randint(1, 4)):
        count = min(len(made), rng.choice(counts))
        topics = tuple(source.publishes[0] for source in rng.sample(made, count))
        samples = others and rng.random() < others
        made.append(
            Callback(
                f"s{i}", Kind.TIMER if samples else Kind.SUBSCRIPTION, rng.choice(executors).name,
                rng.randint(900, 2_000), period=rng.randint(7_000, 20_000) if samples else None,
                triggers=() if samples else topics, reads=topics if samples else (),
                wants_all=not others and count > 1, publishes=(f"s{i}",),
            )
        )  # fmt: skip
    ranks = rng.sample(range(1, 99), len(made))
    ranked = (replace(c, priority=p) for c, p in zip(made, ranks, strict=True))
    system = System("random", executors, tuple(ranked))
    return replace(system, chains=tuple(chains(rng, system)))
