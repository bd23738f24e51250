# Copyright 2026 The rclrt Authors
# SPDX-License-Identifier: Apache-2.0
"""What a schema cannot say about a model: names resolve, times agree, triggers form no cycle."""

from collections.abc import Iterator, Sequence

from rclrt_analysis.model.document import Document, Place
from rclrt_analysis.model.system import (
    Budget,
    Callback,
    Executor,
    ExecutorKind,
    Kind,
    Policy,
    Release,
    System,
    in_ms,
)

LEAST_RUNTIME = 100_000
LEAST_PERIOD = 1_000_000
"""ns."""

ENFORCE = (ExecutorKind.PRIORITY_EVENTS, ExecutorKind.ISOLATED, ExecutorKind.PREEMPTIVE)

Problem = tuple[Place, str]


def check_budgets(system: System) -> Iterator[Problem]:
    """Yield what is wrong with the budgets of a model, with its place."""
    for i, executor in enumerate(system.executors):
        groups = {c.group for c in system.members(executor.name) if c.group}
        for group, budget in executor.budgets:
            place: Place = ("executors", i, "budgets", group)
            if group not in groups:
                text = f"'{executor.name}' has no group '{group}'"
                yield place, f"{text}. Use one of {', '.join(sorted(groups)) or 'none: add one'}"
            yield from _budget(executor, budget, place)
    for i, callback in enumerate(system.callbacks):
        of_callback = system.executor_of.get(callback.executor)
        if callback.budget is None or of_callback is None:
            continue
        place = ("callbacks", i, "budget")
        yield from _budget(of_callback, callback.budget, place)
        if callback.group in dict(of_callback.budgets):
            text = f"its group '{callback.group}' has a budget, which all of its callbacks share"
            yield place, f"{text}: remove one of the two"


def _budget(executor: Executor, budget: Budget, place: Place) -> Iterator[Problem]:
    if executor.kind not in ENFORCE:
        names = ", ".join(kind.value for kind in ENFORCE)
        text = f"nobody enforces budgets under {executor.kind.value}"
        yield place, f"{text}. Leave it out, or use one of {names}"
    if executor.reservation is not None:
        yield place, "a reservation is a budget already. Leave one of the two out"
    if budget.runtime < LEAST_RUNTIME:
        text = f"runtime_ms {in_ms(budget.runtime)} is less than {in_ms(LEAST_RUNTIME)}"
        yield (*place, "runtime_ms"), f"{text}, the least that the engine enforces"
    if budget.period < LEAST_PERIOD:
        text = f"period_ms {in_ms(budget.period)} is less than {in_ms(LEAST_PERIOD)}"
        yield (*place, "period_ms"), f"{text}, the least that the engine enforces"
    if budget.runtime > budget.period:
        yield (*place, "runtime_ms"), "runtime_ms exceeds period_ms; swap them"


MAX_LINUX_PRIORITY = 99
HAVE_A_POLICY = (
    ExecutorKind.PRIORITY_EVENTS,
    ExecutorKind.ISOLATED,
    ExecutorKind.PREEMPTIVE,
    ExecutorKind.TIDE,
)
HAVE_THREADS = (ExecutorKind.WAIT_SET_MULTI, ExecutorKind.PREEMPTIVE)
MAY_BE_RESERVED = (
    ExecutorKind.WAIT_SET_SINGLE,
    ExecutorKind.EVENTS_FIFO,
    ExecutorKind.PRIORITY_EVENTS,
    ExecutorKind.ISOLATED,
)
ON_A_MICROCONTROLLER = (ExecutorKind.TIDE, ExecutorKind.MICRO_ROS)
MAX_LINKS = 32
LARGEST_SHARE = 0.95
"""The share of a core that the kernel gives to reservations (sched_rt_runtime_us)."""


def check_system(system: System, document: Document) -> list[str]:
    """Return one line of text per rule that the system breaks, with file and line."""
    found: list[Problem] = []
    found += duplicates("executors", [executor.name for executor in system.executors])
    found += duplicates("callbacks", [callback.name for callback in system.callbacks])
    shares = _shares(system)
    links = 0
    for i, executor in enumerate(system.executors):
        found += _executor(executor, ("executors", i))
        found += _reservation(executor, ("executors", i, "reservation"), shares)
        links += executor.link is not None
        if links <= MAX_LINKS:
            found += _link(system, executor, i)
        else:
            found.append((("executors", i), f"more than {MAX_LINKS} executors with a link"))
    for i, callback in enumerate(system.callbacks):
        found += _callback(system, callback, ("callbacks", i))
    found += check_budgets(system)
    if not found:
        found += _cycle(system)
        found += _priorities(system)
    return [f"{document.where(place)}: {text}" for place, text in found]


def duplicates(kind: str, names: Sequence[str]) -> Iterator[Problem]:
    """Yield the names that stand in a list of the file a second time."""
    seen: set[str] = set()
    for i, name in enumerate(names):
        if name in seen:
            yield (kind, i, "name"), f"'{name}' is the name of another of {kind} already"
        seen.add(name)


def _executor(executor: Executor, place: Place) -> Iterator[Problem]:
    kind = executor.kind.value
    if executor.kind not in HAVE_A_POLICY and executor.policy is not Policy.FIXED_PRIORITY:
        names = ", ".join(item.value for item in HAVE_A_POLICY)
        yield (*place, "policy"), f"{kind} has no policy. Leave it out, or use one of {names}"
    if (
        executor.kind is not ExecutorKind.PRIORITY_EVENTS
        and executor.release is not Release.RELEASE_ONLY
    ):
        yield (*place, "release"), f"{kind} has no such option; only priority_events has"
    if executor.kind not in HAVE_THREADS and executor.threads is not None:
        names = ", ".join(item.value for item in HAVE_THREADS)
        yield (*place, "threads"), f"{kind} has as many threads as it has; only {names} may say"


def _shares(system: System) -> dict[tuple[int, ...], float]:
    groups: dict[str, set[str]] = {}
    for callback in system.callbacks:
        mine = groups.setdefault(callback.executor, set())
        mine.add(callback.group or f"\0{callback.name}")
    shares: dict[tuple[int, ...], float] = {}
    for executor in system.executors:
        given = executor.reservation
        if given is not None:
            threads = 1
            if executor.kind is ExecutorKind.ISOLATED:
                threads = len(groups.get(executor.name, ()))
            share = threads * given.budget / max(1, given.period)
            shares[executor.cores] = shares.get(executor.cores, 0.0) + share
    return shares


def _reservation(
    executor: Executor, place: Place, shares: dict[tuple[int, ...], float]
) -> Iterator[Problem]:
    mine = executor.reservation
    if mine is None:
        return
    if executor.kind not in MAY_BE_RESERVED:
        names = ", ".join(kind.value for kind in MAY_BE_RESERVED)
        yield place, f"{executor.kind.value} cannot have one. Leave it out, or use one of {names}"
    if mine.budget > mine.period:
        yield place, "budget_ms exceeds period_ms; swap them"
    if len(executor.cores) > 1:
        yield place, "threads with reservations do not migrate here. Name one of the cores"
    share = shares[executor.cores]
    if share > LARGEST_SHARE + 1e-9:  # A sum of fractions is not exact.
        text = f"reservations of core {executor.cores[0]} add up to {share:.3f}"
        yield place, f"{text}, the kernel admits {LARGEST_SHARE}. Give less, or use other cores"


def _link(system: System, executor: Executor, i: int) -> Iterator[Problem]:
    wanted = executor.kind in ON_A_MICROCONTROLLER
    if wanted and executor.policy is Policy.EDF:
        yield ("executors", i, "policy"), "tide has fixed priorities: use rm, dm or fixed_priority"
    if wanted and executor.link is None:
        yield ("executors", i), f"{executor.kind.value} needs link: {{baud: 115200}}"
    if executor.link is None:
        return
    place: Place = ("executors", i, "link")
    if not wanted:
        names = ", ".join(kind.value for kind in ON_A_MICROCONTROLLER)
        yield place, f"{executor.kind.value} has no serial link; only {names} have"
    if executor.link.lost and not executor.link.reliable:
        yield (*place, "lost"), "only what is reliable is sent again. Add reliable: true"
    for number, callback in enumerate(system.callbacks):
        for topic in (*callback.triggers, *callback.reads):
            for name in system.publishers.get(topic, ()):
                publisher = system.callback_of[name]
                if executor.name in (callback.executor, publisher.executor) and not publisher.bytes:
                    text = f"'{topic}' of '{name}' goes over the link of '{executor.name}'"
                    yield ("callbacks", number), f"{text}: give '{name}' bytes"


def _callback(system: System, callback: Callback, place: Place) -> Iterator[Problem]:
    if callback.executor not in system.executor_of:
        there = ", ".join(system.executor_of)
        yield (
            (*place, "executor"),
            f"there is no executor '{callback.executor}'. Use one of {there}",
        )
    if callback.bcet > callback.wcet:
        text = f"bcet_ms {in_ms(callback.bcet)} exceeds wcet_ms {in_ms(callback.wcet)}"
        yield (*place, "bcet_ms"), f"{text}; swap them, or leave bcet_ms out"
    if callback.period is not None and callback.wcet > callback.period:
        text = f"wcet_ms {in_ms(callback.wcet)} exceeds period_ms {in_ms(callback.period)}"
        yield (*place, "wcet_ms"), f"{text}: it can never keep up. Lengthen the period"
    yield from _publishes_after(callback, (*place, "publishes_after_ms"))
    timer = callback.kind is Kind.TIMER
    if timer and callback.period is None:
        yield place, f"timer '{callback.name}' needs period_ms"
    if timer and (callback.triggers or callback.wants_all):
        yield (
            (*place, "triggers"),
            "a timer is released by time alone; use reads, or a subscription",
        )
    if not timer and not callback.triggers and callback.period is None:
        text = "needs triggers, or period_ms for releases from outside of the model"
        yield place, f"{callback.kind.value} '{callback.name}' {text}"
    if callback.gap is not None and (timer or callback.period is None):
        text = "only of what comes from outside of the model may be said how rarely it comes"
        yield (*place, "gap_ms"), f"{text}: leave it out" + (", or add period_ms" * (not timer))
    if callback.gap is not None and callback.gap < (callback.period or 0):
        text = f"gap_ms {in_ms(callback.gap)} is less than period_ms {in_ms(callback.period or 0)}"
        yield (*place, "gap_ms"), f"{text}; swap them"
    if not timer and callback.offset is not None:
        yield (*place, "offset_ms"), "only a timer has an offset"
    if callback.wants_all and (len(callback.triggers) < 2 or callback.period is not None):
        yield (*place, "activation"), "'all' needs two triggers or more, and no period_ms"
    yield from _stamps(callback, place)
    by_stamps = callback.pairs != "newest"
    if by_stamps and not callback.wants_all:
        yield (*place, "pairs"), "only what waits for all its topics has pairs. Add activation: all"
    if callback.queue > 1 and not by_stamps:
        text = "the newest of each topic is kept, no queue. Add pairs: exact or approximate"
        yield (*place, "queue"), f"{text}, or leave it out"
    for key, topics in (("triggers", callback.triggers), ("reads", callback.reads)):
        for i, topic in enumerate(topics):
            if topic not in system.publishers:
                yield (
                    (*place, key, i),
                    f"nobody publishes '{topic}'. Add it to the publishes of a callback",
                )


def _stamps(callback: Callback, place: Place) -> Iterator[Problem]:
    """Ask for what a deadline needs that counts from a stamp."""
    if not callback.is_stamped:
        if callback.clock_error is not None:
            text = "deadline_from: release needs no other clock. Leave it out"
            yield (*place, "clock_error_ms"), text
    elif callback.kind is not Kind.SUBSCRIPTION:
        yield (*place, "deadline_from"), "only messages of subscriptions have stamps here"
    elif callback.deadline is None or callback.clock_error is None:
        yield (*place, "deadline_from"), "a stamp needs deadline_ms and clock_error_ms beside it"
    elif callback.clock_error >= callback.deadline:
        text = "is no less than deadline_ms: then stamps order nothing. Synchronise the clocks"
        yield (*place, "clock_error_ms"), f"{in_ms(callback.clock_error)} {text}"


def _publishes_after(callback: Callback, place: Place) -> Iterator[Problem]:
    least, most = callback.publish_least, callback.publish_most
    if (least or most is not None) and not callback.publishes:
        yield place, "it publishes nothing. Leave this out, or add publishes"
    if most is not None and least > most:
        yield place, "least exceeds most; swap them"
    if most is not None and most > callback.wcet:
        text = f"most {in_ms(most)} exceeds wcet_ms {in_ms(callback.wcet)}"
        yield (*place, "most"), f"{text}: by then the job has ended. Leave it out"
    if least > callback.bcet:
        text = f"least {in_ms(least)} exceeds bcet_ms {in_ms(callback.bcet)}"
        yield (*place, "least"), f"{text}: a job may have ended by then. Say a longer bcet_ms"


def _cycle(system: System) -> Iterator[Problem]:
    done = set(system.topological)
    if len(done) == len(system.callbacks):
        return
    left = {c.name: c for c in system.callbacks if c.name not in done}
    # Walking back from any of these stays among these, so it closes a circle.
    path = [next(iter(left))]
    while path[-1] not in path[:-1]:
        path.append(next(p for p in system.triggered_by(left[path[-1]]) if p in left))
    circle = " <- ".join(path[path.index(path[-1]) :])
    index = next(i for i, c in enumerate(system.callbacks) if c.name == path[-1])
    text = f"callbacks release each other in a circle: {circle}"
    yield ("callbacks", index, "triggers"), f"{text}. Read one of the topics from a timer instead"


def _priorities(system: System) -> Iterator[Problem]:
    """Ask for fixed priorities, said or inherited from what triggers the callback.

    An engine knows only of publishers of its own.
    """
    has: set[str] = set()
    index = {callback.name: i for i, callback in enumerate(system.callbacks)}
    for name in system.topological:
        callback = system.callback_of[name]
        executor = system.executor_of[callback.executor]
        place: Place = ("callbacks", index[name])
        inside = [
            p
            for p in system.triggered_by(callback)
            if system.callback_of[p].executor == callback.executor
            and executor.kind is not ExecutorKind.TIDE
        ]
        if callback.priority is not None or any(p in has for p in inside):
            has.add(name)
        if executor.kind not in HAVE_A_POLICY:
            continue
        policy = executor.policy.value
        if executor.policy is not Policy.FIXED_PRIORITY:
            if callback.priority is not None:
                text = f"policy {policy} derives priorities. Leave this out, or use fixed_priority"
                yield (*place, "priority"), text
        elif executor.reservation and executor.kind is ExecutorKind.ISOLATED:
            continue  # Its threads have no priorities.
        elif name not in has:
            text = f"'{name}' needs a priority under policy fixed_priority of '{executor.name}'"
            if inside != system.triggered_by(callback):
                text += ": it inherits only from callbacks of its own executor"
            yield place, f"{text}; or use policy rm or dm"
        elif (
            executor.kind is not ExecutorKind.TIDE and (callback.priority or 0) > MAX_LINUX_PRIORITY
        ):
            text = f"priority {callback.priority}: threads have 1 to {MAX_LINUX_PRIORITY}"
            yield (*place, "priority"), text
