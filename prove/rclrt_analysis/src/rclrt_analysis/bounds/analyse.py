# Copyright 2026 The rclrt Authors
# SPDX-License-Identifier: Apache-2.0
"""A whole system: every executor by its own bound, messages handed on between them, then chains."""

import math
from collections.abc import Hashable, Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field, replace

from rclrt_analysis.bounds.activation import Activation, Stream, inherit_late, merged, urgencies
from rclrt_analysis.bounds.demotion import accounts, with_budgets
from rclrt_analysis.bounds.effort import EACH, EffortError, Memory, limited
from rclrt_analysis.bounds.end_to_end import chain_bound
from rclrt_analysis.bounds.events import analyse_events
from rclrt_analysis.bounds.inherited import inherited_deadlines, inherits
from rclrt_analysis.bounds.migrating import analyse_migrating
from rclrt_analysis.bounds.result import (
    Assumption,
    CallbackBound,
    ChainBound,
    Local,
    Method,
    RefusedError,
    Result,
)
from rclrt_analysis.bounds.taskset import Supply, longest_busy
from rclrt_analysis.bounds.threads import (
    analyse_core,
    analyse_reserved,
    is_receiver,
    is_threaded,
    with_receivers,
)
from rclrt_analysis.bounds.unit import MAX_GROWTH, Arrivals, Unit, overloads
from rclrt_analysis.bounds.wait_set import (
    analyse_micro_ros,
    analyse_multi_threaded,
    analyse_wait_set,
)
from rclrt_analysis.model import (
    Callback,
    Chain,
    Executor,
    ExecutorKind,
    Kind,
    Policy,
    Release,
    System,
)
from rclrt_analysis.model.links import FIRST_CORE

MAX_ROUNDS = 50
"""How often executors that send to each other are analysed before what still grows has no bound."""

NONE = Method("none", "", ())
Found = tuple[dict[str, Local], Method]


def analyse(system: System, method: str = "exact") -> Result:
    """Return the bounds of every callback and chain of a system.

    method: "exact": the tightest bound there is. "paper": for priority events executors Theorems 1
        and 2 of [Teper25].

    Thread-safe. Executors that send to each other are repeated until nothing changes. Ends within
    the effort of `bounds.effort`; what is not settled by then has no bound.
    """
    if system.no_verdict:
        return _without_verdict(system)

    def bounds(part: System, urgency: Mapping[str, int], spent: Mapping[str, str]) -> Result:
        return _analyse(part, method, urgency, spent)

    with limited(1 + EACH * len(system.callbacks)):
        if accounts(system):
            return with_budgets(system, with_late_timers, bounds)
        return _analyse(system, method)


def _without_verdict(system: System) -> Result:
    reason = "; ".join(system.no_verdict)
    none = Local(None, reason=reason)
    callbacks = (
        CallbackBound(c.name, c.executor, none, NONE, c.period, c.deadline)
        for c in system.callbacks
    )
    chains = (ChainBound(c.name, c.semantics, None, c.deadline, (), reason) for c in system.chains)
    return Result(system.name, tuple(callbacks), tuple(chains), no_verdict=system.no_verdict)


def _analyse(
    system: System,
    method: str,
    given: Mapping[str, int] | None = None,
    spent: Mapping[str, str] | None = None,
) -> Result:
    system = with_late_timers(system)
    if system.overheads.receive:
        system = with_receivers(system)
    if any(callback.waits for callback in system.callbacks):
        system = system.each(lambda c: replace(c, wcet=c.wcet + c.waits, waits=0))
    urgency = urgencies(system) if given is None else {**urgencies(system), **given}
    units, refused = _units(system, urgency)
    responses = {name: Local(None, reason=reason) for name, reason in refused.items()}
    methods = dict.fromkeys([*refused, *(c.name for unit in units for c in unit.callbacks)], NONE)
    waiting = len(system.callbacks) - len(responses)
    for part in in_turn(units):
        waiting -= sum(len(unit.callbacks) for unit in part)
        with limited(math.inf, EACH * waiting) as effort:
            _settle(part, responses, methods, method, effort.memory)
    if given is None:
        analysed = (u for u in units if methods[u.callbacks[0].name] is not NONE)
        _tell_overloads(system, analysed, responses)
    responses.update({name: Local(None, reason=text) for name, text in (spent or {}).items()})
    return _result(system, responses, methods, urgency)


def _tell_overloads(system: System, units: Iterable[Unit], responses: dict[str, Local]) -> None:
    """Say of which callbacks there is no bound at all."""
    late = {name for name, local in responses.items() if local.response is None}
    if not late:
        return
    rate: dict[str, float] = {}  # For callbacks with a bound that pair no messages.
    for callback in (system.callback_of[name] for name in system.topological):
        if callback.name not in late and not callback.wants_all:
            senders = system.triggered_by(callback)
            rate[callback.name] = sum(rate.get(name, 0.0) for name in senders)
            rate[callback.name] += 1 / callback.period if callback.period else 0
    for unit in units:
        if not late.isdisjoint(unit.names) and max(unit.executors[0].cores) <= FIRST_CORE:
            for name, text in overloads(unit, responses, rate).items():
                responses[name] = Local(None, reason=text)


def _settle(
    units: list[Unit],
    responses: dict[str, Local],
    methods: dict[str, Method],
    method: str,
    memory: Memory,
) -> None:
    """Add the bounds of units that send each other messages, and of nothing that follows them."""
    system = units[0].system
    limit = MAX_GROWTH * system.longest_period
    given_up: set[int] = set()
    rounds = 0

    def newest(i: int) -> dict[str, Activation]:
        # At first every message comes as soon as it can; jitter only grows from there.
        found = _arrivals(system, units[i], responses, optimistic=not rounds)
        _cut(found, 0 if i in given_up else limit)
        return found

    arrivals: list[dict[str, Activation]] = [{} for _ in units]
    last = [memory.setdefault((_depends_on(unit), method), Step()) for unit in units]
    changed = list(range(len(units)))
    while changed:
        for i in changed:
            arrivals[i] = newest(i)
            last[i] = _next(last[i], units[i], arrivals[i], method, memory)
            found, used = last[i].found
            responses.update(found)
            methods.update(dict.fromkeys(found, used))
        rounds += 1
        changed = [i for i in range(len(units)) if newest(i) != arrivals[i]]
        if rounds >= MAX_ROUNDS:
            # Nothing is known of what still changes. Each time there is less of it.
            given_up.update(changed)


def _depends_on(unit: Unit) -> Hashable:
    """Return all that bounds of a unit depend on, but for how messages come."""
    system = unit.system
    topics = dict.fromkeys(topic for c in unit.callbacks for topic in c.triggers)
    by_deadline = any(executor.policy is Policy.EDF for executor in unit.executors)
    return (
        unit.executors,
        unit.callbacks,
        tuple((c.name, unit.urgency[c.name]) for c in unit.in_order),
        unit.extra,
        tuple(system.publishers.get(topic) for topic in topics),
        unit.names & system.may_never_pair,
        system.longest_period,
        system.overheads,
        system.distro,
        system.above,
        tuple(inherited_deadlines(unit).items()) if by_deadline else (),
    )


@dataclass
class Step:
    """What was found of a unit as its messages came in some way, and before that in others.

    grown: `Unit.found` then.
    following: What was found next, by how messages came then.
    """

    found: Found = ({}, NONE)
    grown: Mapping[str, Local] = field(default_factory=dict)
    following: "dict[tuple[tuple[str, Activation], ...], Step]" = field(default_factory=dict)


def _next(last: Step, unit: Unit, arrivals: Arrivals, method: str, memory: Memory) -> Step:
    """Return the bounds of a unit after those found last, as computed before if they were."""
    key = tuple(arrivals.items())
    known = last.following.get(key)
    if known is None:
        try:
            known = Step(_bounds(unit, arrivals, method), dict(unit.found))
        except EffortError as reason:  # That does not depend on the unit alone.
            memory.cut = True
            return Step(({c.name: Local(None, reason=str(reason)) for c in unit.callbacks}, NONE))
        memory.count(len(unit.callbacks))
        last.following[key] = known
    unit.found.update(known.grown)
    return known


def with_late_timers(system: System) -> System:
    """Return the system with timers that are released as late as its overheads say.

    The thread that releases timers may be on another core than the callback: two wake-ups, `late`
    and `wake`. A thread that covers its timer needs one. But a release is not covered while all
    threads that might cover it work, nor if a thread that ran a message would have to change its
    priority for it, nor on another clock than CLOCK_MONOTONIC, nor by a pool's or a group's thread
    before its first job. No model says which timers are never like that.

    The thread that releases timers has SCHED_FIFO, as those of the middleware: so with reservations
    it waits until these leave it the core. Messages from outside wait for the middleware likewise,
    so they come closer and further apart.
    """
    several = len({core for e in system.executors if is_ours(e.kind) for core in e.cores}) > 1
    late = system.overheads.late + system.overheads.wake * several
    held = _held_by_reservations(system)
    if not (late or held):
        return system

    def later(c: Callback) -> Callback:
        more = held.get(c.executor, 0) if c.period is not None else 0
        if c.kind is Kind.TIMER and is_ours(system.executor_of[c.executor].kind):
            more += late
        # One message from outside may come at once, and the next one late.
        gap = None if c.gap is None else c.gap + more
        return replace(c, jitter=c.jitter + more, gap=gap) if more else c

    return system.each(later)


def _held_by_reservations(system: System) -> dict[str, int]:
    """Return for how long reservations hold up releases, of executors of ours that have one, ns."""
    held = {
        executor.cores: longest_busy(_reserved_threads(system, executor.cores))
        for executor in system.executors
        if executor.reservation is not None
    }
    return {
        e.name: held[e.cores] or 0
        for e in system.executors
        if e.reservation is not None and is_ours(e.kind)
    }


def _reserved_threads(system: System, cores: tuple[int, ...]) -> list[Supply]:
    """Return what each thread is given that has a reservation there."""
    threads: list[Supply] = []
    for executor in system.executors:
        mine = executor.reservation
        if mine is not None and executor.cores == cores:
            members = system.members(executor.name)
            groups = {c.group or f"\0{c.name}" for c in members}
            count = len(groups) if is_threaded(executor.kind) else min(1, len(members))
            threads += [Supply(mine.budget, mine.period)] * count
    return threads


def is_ours(kind: ExecutorKind) -> bool:
    """Return whether it is an executor whose overheads the model has."""
    return is_threaded(kind) or kind is ExecutorKind.PRIORITY_EVENTS


def _cut(arrivals: dict[str, Activation], limit: int) -> None:
    """Forget what grows without end: jitter above the limit, all of it if that is 0."""
    for topic, activation in list(arrivals.items()):
        late = (s for s in activation.streams if s.period < _NEVER.streams[0].period)
        if not limit or any(stream.jitter > limit for stream in late):
            del arrivals[topic]


def _arrivals(
    system: System, unit: Unit, responses: Mapping[str, Local], optimistic: bool = False
) -> dict[str, Activation]:
    """Return how messages come from other units; without those that nothing bounds."""
    found: dict[str, Activation] = {}
    transport = system.overheads.transport + system.overheads.wake
    for topic in unit.outside_topics:
        every: list[Activation] = []
        for name in unit.outside(topic):
            local = responses.get(name)
            if local is None and optimistic:
                continue
            if local is None or local.output is None:
                every = []
                break
            streams = (Stream(s.period, s.jitter + transport) for s in local.output.streams)
            gap = local.output.gap
            every.append(Activation(tuple(streams), None if gap is None else gap + transport))
        if every:
            found[topic] = merged(every)
        elif optimistic and all(name not in responses for name in unit.outside(topic)):
            found[topic] = _NEVER
    return found


_NEVER = Activation((Stream(2**50),), None)


def _result(
    system: System,
    responses: dict[str, Local],
    methods: Mapping[str, Method],
    urgency: Mapping[str, int],
) -> Result:
    for name, local in responses.items():
        publishers = system.triggered_by(system.callback_of[name])
        outputs = [responses[publisher].output for publisher in publishers]
        if local.response is not None and outputs:
            streams = merged(output for output in outputs if output is not None).streams
            waiting = sum(stream.most(local.response) for stream in streams)
            responses[name] = replace(local, depth_needed=max(1, waiting))
    callbacks = tuple(
        CallbackBound(
            callback.name,
            callback.executor,
            responses[callback.name],
            methods[callback.name],
            callback.period,
            callback.deadline,
        )
        for callback in system.callbacks
        if not is_receiver(callback)
    )
    chains = tuple(chain_bound(system, chain, responses, urgency) for chain in system.chains)
    assumptions = [a for method in methods.values() for a in method.assumptions]
    if any(max(executor.cores) > FIRST_CORE for executor in system.executors):
        assumptions.append(Assumption.LINK)
    if inherit_late(system, urgency):
        assumptions.append(Assumption.INHERITED)
    if any(
        system.executor_of[c.executor].policy is Policy.EDF
        and inherits(c)
        and any(system.callback_of[p].executor != c.executor for p in system.triggered_by(c))
        for c in system.callbacks
    ):
        assumptions.append(Assumption.ONE_PROGRAM)
    joins = {callback.pairs == "newest" for callback in system.callbacks if callback.wants_all}
    assumptions += [Assumption.NEWEST] * (True in joins) + [Assumption.STAMPS] * (False in joins)
    if system.chains:
        assumptions += [
            Assumption.IMPLICIT_COMMUNICATION,
            Assumption.NO_LOSS,
            Assumption.RUNNING,
        ]
    return Result(system.name, callbacks, chains, tuple(dict.fromkeys(assumptions)))


def _bounds(unit: Unit, arrivals: Arrivals, method: str) -> Found:
    kind = unit.executors[0].kind
    reserved = unit.executors[0].reservation is not None
    try:
        _check_costs(unit, method)
        if is_threaded(kind) and reserved:
            return analyse_reserved(unit, arrivals)
        if is_threaded(kind):
            several = len(unit.executors[0].cores) > 1
            edf = all(executor.policy is Policy.EDF for executor in unit.executors)
            return (analyse_migrating if several or edf else analyse_core)(unit, arrivals)
        if kind is ExecutorKind.WAIT_SET_SINGLE:
            return analyse_wait_set(unit, arrivals)
        if kind is ExecutorKind.WAIT_SET_MULTI:
            return analyse_multi_threaded(unit, arrivals)
        if kind is ExecutorKind.MICRO_ROS:
            return analyse_micro_ros(unit, arrivals)
        if kind in (ExecutorKind.PRIORITY_EVENTS, ExecutorKind.EVENTS_FIFO, ExecutorKind.TIDE):
            return analyse_events(unit, arrivals, method == "paper")
        raise RefusedError(f"no analysis knows executors of kind {kind.value}")
    except RefusedError as reason:
        return {c.name: Local(None, reason=str(reason)) for c in unit.callbacks}, NONE


def _check_costs(unit: Unit, method: str) -> None:
    """Refuse overheads that no bound of this unit covers."""
    kind = unit.executors[0].kind
    reserved = unit.executors[0].reservation is not None
    if reserved and unit.system.overheads.release and unit.timers:
        raise RefusedError(
            "the timer thread has no reservation, so release_ms is not bounded beside one. "
            "Leave it out, and add what releases cost to the execution times"
        )
    if unit.system.overheads.context_switch and unit.supply.share < 1:
        raise RefusedError(
            "every period of a reservation may bring more switches, so context_switch_ms does "
            "not bound what they cost. Leave it out, and take two of them off budget_ms"
        )
    one_core = is_threaded(kind) and len(unit.executors[0].cores) == 1
    if unit.system.overheads.receive and _hears(unit) and (reserved or not one_core):
        raise RefusedError(
            "what messages from other executors cost is bounded only for isolated and "
            "preemptive on one core. Leave receive_ms out, and add it to the execution times"
        )
    several = is_threaded(kind) and (len(unit.executors[0].cores) > 1 or not _by_priority(unit))
    if unit.system.overheads.publish and several and any(c.publishes for c in unit.callbacks):
        raise RefusedError(
            "publications that hold up others are bounded on one core under fixed priorities. "
            "Leave publish_ms out, or give each executor a core"
        )
    executes = unit.executors[0].release is Release.RELEASE_AND_EXECUTE
    known = not reserved and (_by_priority(unit) or one_core) and not executes and method != "paper"
    if unit.system.overheads.stolen and not known:
        raise RefusedError(
            "what is stolen from a core is bounded only where priorities are fixed, under "
            "release_only and by --method exact. Leave stolen_ms out, and add it to the "
            "execution times"
        )

    if unit.system.above and (not known or several):
        raise RefusedError(
            "the thread that enforces budgets is bounded on one core, under fixed priorities or by "
            "deadlines of threads, and by --method exact. Leave watch_ms out, or the budgets"
        )


def _hears(unit: Unit) -> bool:
    """Return whether messages come from other executors, or from outside of the model."""
    outside = any(c.kind is not Kind.TIMER and c.period is not None for c in unit.callbacks)
    return bool(unit.outside_topics) or outside


def _by_priority(unit: Unit) -> bool:
    return all(
        is_ours(executor.kind) and executor.policy is not Policy.EDF for executor in unit.executors
    )


def _units(system: System, urgency: Mapping[str, int]) -> tuple[list[Unit], dict[str, str]]:
    """Return what competes for one thread or core; for callbacks in none of these, why."""
    refused: dict[str, str] = {}
    units = []
    for executors in together(system):
        names = {executor.name for executor in executors}
        callbacks = tuple(c for c in system.callbacks if c.executor in names)
        reason = _why_not(system, executors)
        if reason:
            refused.update((callback.name, reason) for callback in callbacks)
        elif callbacks:
            switches = 2 if is_threaded(executors[0].kind) else 0
            extra = system.overheads.dispatch + switches * system.overheads.context_switch
            units += [
                Unit(system, executors, members, urgency, extra)
                for members in _by_thread(executors[0], callbacks)
            ]
    return units, refused


def in_turn(units: Sequence[Unit]) -> list[list[Unit]]:
    """Return the units, each after all that send it messages; those in a circle together.

    Of those in a circle in an order in which few messages go backwards.
    """
    number = {c.name: i for i, unit in enumerate(units) for c in unit.callbacks}
    before: list[list[int]] = []
    after: list[list[int]] = [[] for _ in units]
    for i, unit in enumerate(units):
        senders = (name for topic in unit.outside_topics for name in unit.outside(topic))
        before.append(list({number[name]: None for name in senders if name in number}))
        for sender in before[i]:
            after[sender].append(i)
    order = [i for part in _reached(reversed(range(len(units))), after) for i in part][::-1]
    place = {i: at for at, i in enumerate(order)}
    parts = _reached(order, before)
    return [[units[i] for i in sorted(part, key=place.__getitem__)] for part in parts]


def _reached(starts: Iterable[int], leads_to: Sequence[Sequence[int]]) -> Iterator[list[int]]:
    """Yield what each start leads to that none before it did, each after what it leads to."""
    seen: set[int] = set()
    for start in starts:
        found: list[int] = []
        stack = [(start, iter(leads_to[start]))] if start not in seen else []
        seen.add(start)
        while stack:
            following = next((i for i in stack[-1][1] if i not in seen), None)
            if following is None:
                found.append(stack.pop()[0])
            else:
                seen.add(following)
                stack.append((following, iter(leads_to[following])))
        if found:
            yield found


def _by_thread(
    executor: Executor, callbacks: tuple[Callback, ...]
) -> Iterator[tuple[Callback, ...]]:
    """Return the callbacks of each thread if threads are independent of each other, else all."""
    if executor.reservation is None or not is_threaded(executor.kind):
        yield callbacks
        return
    groups: dict[str, list[Callback]] = {}
    for callback in callbacks:
        groups.setdefault(callback.group or f"\0{callback.name}", []).append(callback)
    for members in groups.values():
        yield tuple(members)


def together(system: System) -> Iterator[tuple[Executor, ...]]:
    """Yield the executors that compete with each other."""
    by_core: dict[tuple[int, ...], list[Executor]] = {}
    for executor in system.executors:
        if is_threaded(executor.kind) and executor.reservation is None:
            by_core.setdefault(tuple(sorted(executor.cores)), []).append(executor)
        else:
            yield (executor,)
    for executors in by_core.values():
        yield tuple(executors)


def _why_not(system: System, executors: tuple[Executor, ...]) -> str:
    names = {executor.name for executor in executors}
    cores = set(executors[0].cores)
    reserved = executors[0].reservation is not None and is_ours(executors[0].kind)
    if reserved and longest_busy(_reserved_threads(system, executors[0].cores)) is None:
        return "reservations fill the core: what releases their callbacks never runs"
    for other in system.executors:
        if executors[0].reservation is not None and other.reservation is not None:
            continue  # The model is not accepted if they exceed the core.
        if other.name in names or cores.isdisjoint(other.cores):
            continue
        if system.members(other.name):
            return (
                f"executors '{executors[0].name}' and '{other.name}' share core "
                f"{min(cores & set(other.cores))} in a way that no bound covers. Give them cores "
                "of their own"
            )
    return ""


class Dependence:
    """Which callbacks bounds depend on: those that compete, and what releases those."""

    def __init__(self, system: System) -> None:
        self._system = system
        self._unit = {
            executor.name: i
            for i, executors in enumerate(together(system))
            for executor in executors
        }
        self._before: dict[int, set[int]] = {i: set() for i in self._unit.values()}
        for callback in system.callbacks:
            for name in system.triggered_by(callback):
                other = self._unit[system.callback_of[name].executor]
                self._before[self._unit[callback.executor]].add(other)

    def of(self, chain: Chain) -> list[Callback]:
        """Return the callbacks whose times the bound of a chain rests on."""
        callback_of = self._system.callback_of
        waiting = [self._unit[callback_of[name].executor] for name in chain.callbacks]
        seen = set(waiting)
        while waiting:
            new = self._before[waiting.pop()] - seen
            seen |= new
            waiting += new
        return [c for c in self._system.callbacks if self._unit[c.executor] in seen]
