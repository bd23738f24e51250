# Copyright 2026 The rclrt Authors
# SPDX-License-Identifier: Apache-2.0
"""Why a chain has the bound that it has: each hop's share, what it waits for, what would help.

Nothing is estimated: the system is analysed again without each callback's work, and with each
change that might help. So all numbers are differences of bounds.
"""

import json
import time
from collections.abc import Iterator
from dataclasses import dataclass, field, replace
from typing import Any

from rclrt_analysis.bounds.activation import loads, urgencies
from rclrt_analysis.bounds.analyse import Dependence, analyse
from rclrt_analysis.bounds.result import CallbackBound, ChainBound, Hop, Local, Result
from rclrt_analysis.model import NS_PER_MS, Callback, Chain, ExecutorKind, Kind, Policy, System
from rclrt_analysis.report import ms

ASKED = 40
"""Callbacks of which it is asked what the bound would be without them: those with the most work."""

THREADED = (ExecutorKind.ISOLATED, ExecutorKind.PREEMPTIVE)
TOLD = 10
"""What it waits for, and what would help: so many lines of each at most."""

TOP = 90
"""Above all that a plan gives."""


@dataclass(frozen=True)
class HopPart:
    """One hop: what it adds, and what that is made of, ns."""

    hop: Hop
    callback: Callback
    share: float
    waits_for: str
    local: Local

    @property
    def interference(self) -> int:
        """Other work of the same or higher urgency."""
        local = self.local
        return max(0, (local.bound or 0) - local.own - local.blocking - local.overhead)


@dataclass(frozen=True)
class Rival:
    """A callback whose work the chain waits for: how much shorter it is without that, and why."""

    callback: str
    less: int
    why: str


@dataclass(frozen=True)
class Help:
    """A change, the bound with it, and how many deadlines are missed then."""

    text: str
    bound: int
    late: int
    system: System


@dataclass
class Explanation:
    """Everything about one chain.

    late: How many deadlines of the system are missed as it is.
    complete: Whether there was time for all questions.
    """

    chain: Chain
    bound: ChainBound
    late: int = 0
    complete: bool = True
    hops: list[HopPart] = field(default_factory=list)
    rivals: list[Rival] = field(default_factory=list)
    helps: list[Help] = field(default_factory=list)


def explain(system: System, name: str, seconds: float = 20.0) -> Explanation:
    """Return the explanation of a chain by its name.

    seconds: After so long no further question is asked; `complete` says so.

    Raises KeyError: There is no such chain.
    """
    chain = next((chain for chain in system.chains if chain.name == name), None)
    if chain is None:
        raise KeyError(name)
    result = analyse(system)
    explained = Explanation(chain, _of(result, name), _late(result))
    if explained.bound.bound is None:
        return explained
    explained.hops = list(hop_parts(system, chain, result, explained.bound))
    explained.rivals = _rivals(system, explained, time.monotonic() + seconds / 2)
    end = time.monotonic() + seconds / 2
    for text, changed in _ideas(system, explained):
        if changed == system:
            continue
        if time.monotonic() > end:
            explained.complete = False
            break
        one = _help(system, chain, text, changed)
        if one is not None and one.bound < explained.bound.bound:
            explained.helps.append(one)
    explained.helps.sort(key=lambda one: (one.late > 0, one.bound))
    return explained


def _of(result: Result, name: str) -> ChainBound:
    return next(chain for chain in result.chains if chain.name == name)


def hop_parts(system: System, chain: Chain, result: Result, bound: ChainBound) -> Iterator[HopPart]:
    """Yield the hops of a chain that has a bound."""
    local = {one.name: one.local for one in result.callbacks}
    for hop in bound.hops:
        callback = system.callback_of[hop.callback]
        share = (hop.waiting + hop.response) / max(1, bound.bound or 1)
        waits_for = _waits_for(system, chain, hop, callback) if hop.waiting else ""
        yield HopPart(hop, callback, share, waits_for, local[hop.callback])


def _waits_for(system: System, chain: Chain, hop: Hop, callback: Callback) -> str:
    if hop.kind == "first":
        if chain.semantics == "age":
            return "the next data, one period later" if callback.period else "the next data"
        return "its next job: the event comes just after it has looked, a period before"
    if hop.kind == "sampled":
        return "its next release: nothing wakes it when the message comes"
    if hop.kind == "joined":
        before = chain.callbacks[chain.callbacks.index(callback.name) - 1]
        own = set(system.callback_of[before].publishes)
        others = [topic for topic in callback.triggers if topic not in own]
        text = f"a message on {', '.join(others)}"
        by_stamps = callback.pairs == "approximate"
        return text + ", and later ones that show which is the nearest" * by_stamps
    return "the way of the message"


def _without(system: System, name: str) -> System:
    return system.but(name, wcet=0, bcet=0)


def _rivals(system: System, explained: Explanation, end: float) -> list[Rival]:
    """Return what the chain waits for, the most first."""
    chain, bound = explained.chain, explained.bound.bound or 0
    load, urgency = loads(system), urgencies(system)
    others = [c for c in Dependence(system).of(chain) if c.name not in chain.callbacks and c.wcet]
    # What is rare and long blocks as much as what is frequent.
    by_load = sorted(others, key=lambda c: -load[c.name])[:ASKED]
    longest = sorted(others, key=lambda c: -c.wcet)[: ASKED // 2]
    found = []
    for callback in dict.fromkeys([*by_load, *longest]):
        if time.monotonic() > end:
            explained.complete = False
            break
        without = _of(analyse(_without(system, callback.name)), chain.name).bound
        if without is not None and without < bound:
            why = _why(system, chain, callback, urgency)
            found.append(Rival(callback.name, bound - without, why))
    return sorted(found, key=lambda rival: -rival.less)


def _why(system: System, chain: Chain, rival: Callback, urgency: dict[str, int]) -> str:
    mine = [system.callback_of[name] for name in chain.callbacks]
    executor = system.executor_of[rival.executor]
    beside = [c for c in mine if c.executor == rival.executor]
    group = next((c for c in beside if c.group and c.group == rival.group), None)
    if group is not None:
        return f"in the group of '{group.name}': one at a time"
    there = [
        c for c in mine
        if c.executor == rival.executor
        or (executor.kind in THREADED and system.executor_of[c.executor].cores == executor.cores)
    ]  # fmt: skip
    if not there:
        return "sends to what competes with the chain, or holds up an input"
    cpu = ", ".join(str(core) for core in executor.cores)
    if executor.policy is Policy.EDF:
        return f"on CPU {cpu}, due earlier or begun before"
    if executor.kind not in (*THREADED, ExecutorKind.PRIORITY_EVENTS):
        return f"in the same executor, which goes by no priority ({executor.kind.value})"
    least = min(urgency[c.name] for c in there)
    rank = urgency[rival.name]
    if rank > least:
        return f"on CPU {cpu}, more urgent: {rank}, the chain {least}"
    if rank == least:
        return f"on CPU {cpu}, as urgent: {rank}"
    if executor.kind is ExecutorKind.PRIORITY_EVENTS:
        return "less urgent, but what has begun is not preempted"
    return "less urgent, but publishes to what is more urgent, or holds up an input"


def _help(system: System, chain: Chain, text: str, changed: System) -> Help | None:
    result = analyse(changed)
    bound = _of(result, chain.name).bound
    if bound is None:
        return None
    return Help(text, bound, _late(result), changed)


def _late(result: Result) -> int:
    items: tuple[CallbackBound | ChainBound, ...] = (*result.callbacks, *result.chains)
    return sum(item.met is False for item in items)


def _ideas(system: System, explained: Explanation) -> Iterator[tuple[str, System]]:
    chain = explained.chain
    yield from _more_urgent(system, chain)
    yield from _own_cpu(system, chain)
    for hop in explained.hops:
        callback = hop.callback
        if hop.hop.kind == "sampled" and callback.kind is Kind.TIMER:
            yield from _released_by_message(system, chain, callback)
        if hop.hop.waiting:
            for name in _waited_for(system, chain, hop):
                yield f"release '{name}' twice as often", _twice(system, name)
        members = [c for c in system.callbacks if c.group and c.group == callback.group]
        if sum(c.executor == callback.executor for c in members) > 1:
            own = system.but(callback.name, group="")
            yield f"give '{callback.name}' a callback group of its own", own
    names = [rival.callback for rival in explained.rivals[:3]]
    longest = max(explained.hops, key=lambda hop: hop.callback.wcet).callback.name
    for name in dict.fromkeys([*names, longest]):
        one = system.callback_of[name]
        changed = system.but(name, wcet=one.wcet // 2, bcet=one.bcet // 2)
        yield f"halve the execution time of '{name}'", changed
        yield f"release '{name}' on time: jitter_ms {ms(one.jitter)}", system.but(name, jitter=0)
    for hop in explained.hops[:-1]:
        name, end = hop.callback.name, hop.callback.wcet
        said = system.but(name, bcet=end, publish_least=end, publish_most=end)
        yield f"say publishes_after_ms and bcet_ms of '{name}': at best, all at its end", said
    for name in ("late", "wake", "transport", "receive", "publish", "stolen"):
        cost = getattr(system.overheads, name)
        known = replace(system, overheads=replace(system.overheads, **{name: cost // 2}))
        yield f"halve {name}_ms, {ms(cost)} in the model: is it so on this machine?", known


def _waited_for(system: System, chain: Chain, part: HopPart) -> list[str]:
    """Return the timers whose period a hop waits for."""
    if part.callback.kind is Kind.TIMER:
        return [part.callback.name]
    before = chain.callbacks[max(0, chain.callbacks.index(part.callback.name) - 1)]
    own = set(system.callback_of[before].publishes)
    waiting = [
        name
        for topic in part.callback.triggers
        if topic not in own
        for name in system.publishers.get(topic, ())
    ]
    seen = set(waiting)
    for name in waiting:  # It grows.
        new = [n for n in system.triggered_by(system.callback_of[name]) if n not in seen]
        seen.update(new)
        waiting += new
    return [name for name in waiting if system.callback_of[name].kind is Kind.TIMER]


def _twice(system: System, name: str) -> System:
    callback = system.callback_of[name]
    period = max(callback.wcet, (callback.period or 1) // 2)
    due = None if callback.deadline is None else min(callback.deadline, period)
    return system.but(name, period=period, deadline=due)


def _more_urgent(system: System, chain: Chain) -> Iterator[tuple[str, System]]:
    fixed = Policy.FIXED_PRIORITY
    mine = [
        name for name in chain.callbacks
        if (executor := system.executor_of[system.callback_of[name].executor]).policy is fixed
        and executor.kind in (*THREADED, ExecutorKind.PRIORITY_EVENTS)
        and executor.reservation is None
    ]  # fmt: skip
    if not mine:
        return
    urgency = urgencies(system)

    # A callback that inherits from the chain keeps what it has.
    def change(c: Callback) -> Callback:
        if c.name in mine:
            return replace(c, priority=TOP)
        if system.executor_of[c.executor].policy is fixed:
            return replace(c, priority=c.priority or urgency[c.name] or None)
        return c

    yield "make the chain more urgent than all else", system.each(change)


def _own_cpu(system: System, chain: Chain) -> Iterator[tuple[str, System]]:
    """Yield the system with the chain's threads on a CPU that nobody has."""
    used = {core for executor in system.executors for core in executor.cores}
    free = next(core for core in range(1025) if core not in used)
    urgency = urgencies(system)
    executors, moved = list(system.executors), {}
    groups = {
        (c.executor, c.group) for c in system.callbacks if c.name in chain.callbacks and c.group
    }
    for executor in system.executors:
        threaded = executor.kind in THREADED and executor.reservation is None
        names = [
            c.name
            for c in system.members(executor.name)
            if c.name in chain.callbacks or (c.executor, c.group) in groups
        ]
        if threaded and executor.policy is Policy.FIXED_PRIORITY and names:
            new = f"{executor.name} for {chain.name}"
            executors.append(replace(executor, name=new, cores=(free,)))
            moved.update(dict.fromkeys(names, new))
    if not moved:
        return

    def change(c: Callback) -> Callback:
        if system.executor_of[c.executor].policy is not Policy.FIXED_PRIORITY:
            return c
        priority = c.priority or urgency[c.name] or None
        return replace(c, executor=moved.get(c.name, c.executor), priority=priority)

    changed = replace(system.each(change), executors=tuple(executors))
    yield "give the chain's threads a CPU of their own", changed


def _released_by_message(
    system: System, chain: Chain, callback: Callback
) -> Iterator[tuple[str, System]]:
    before = chain.callbacks[chain.callbacks.index(callback.name) - 1]
    topics = [t for t in system.callback_of[before].publishes if t in callback.reads]
    priority = callback.priority or urgencies(system)[callback.name] or None
    if system.executor_of[callback.executor].policy is not Policy.FIXED_PRIORITY:
        priority = None  # It is derived.
    changed = system.but(
        callback.name, kind=Kind.SUBSCRIPTION, period=None, offset=None, jitter=0, deadline=None,
        triggers=tuple(topics[:1]), reads=tuple(t for t in callback.reads if t not in topics),
        priority=priority,
    )  # fmt: skip
    if len(changed.topological) == len(system.callbacks):
        yield f"let the message on {topics[0]} release '{callback.name}', not a timer", changed


def to_text(explained: Explanation) -> str:
    """Return the explanation, without a line feed at its end."""
    chain, bound = explained.chain, explained.bound
    due = "" if chain.deadline is None else f" of {ms(chain.deadline)}"
    if bound.bound is None:
        return f"{chain.name}: {chain.semantics} has no bound: {bound.reason}"
    verdict = {None: "", True: ": met", False: ": not met"}[bound.met]
    lines = [f"{chain.name}: {chain.semantics} {ms(bound.bound)}{due} ms{verdict}", ""]
    for part in explained.hops:
        lines += _hop(part)
    lines += ["", "it waits for (ms less if that took no time):"]
    for rival in explained.rivals[:TOLD]:
        lines.append(f"  {ms(rival.less):>10}  {rival.callback}: {rival.why}")
    if len(explained.rivals) > TOLD:
        lines.append(f"  and {len(explained.rivals) - TOLD} more")
    if not explained.rivals:
        lines.append("  nothing else")
    lines += ["", "what would help (ms then):"]
    for one in explained.helps[:TOLD]:
        late = f"; deadlines missed: {one.late} instead of {explained.late}" if one.late else ""
        lines.append(f"  {ms(one.bound):>10}  {one.text}{late}")
    if not explained.helps:
        lines.append("  none of what was tried")
    if not explained.complete:
        lines += ["", "time ran out: there may be more to wait for, and to help"]
    return "\n".join(lines)


def _hop(part: HopPart) -> list[str]:
    hop = part.hop
    total = hop.waiting + hop.response
    lines = [f"{ms(total):>10} {100 * part.share:4.0f} %  {hop.callback} ({hop.kind})"]
    if hop.waiting:
        lines.append(f"{ms(hop.waiting):>20}  until {part.waits_for}")
    local = part.local
    parts = [
        ("its own work", local.own),
        ("begun or set off by less urgent callbacks", local.blocking),
        ("other work", part.interference),
        ("releases of timers", local.overhead),
    ]
    told = ", ".join(f"{text} {ms(value)}" for text, value in parts if value)
    whole = local.bound or 0
    if hop.response == whole:
        lines.append(f"{ms(hop.response):>20}  {told or 'nothing'}")
    else:
        text = f"of its response of {ms(whole)} ({told}); the hops before contain the rest"
        lines.append(f"{ms(hop.response):>20}  {text}")
    return lines


def to_json(explained: Explanation) -> str:
    """Return the explanation as JSON, schema 1; times in ms."""
    chain, bound = explained.chain, explained.bound
    content: dict[str, Any] = {
        "schema": 1,
        "chain": chain.name,
        "semantics": chain.semantics,
        "bound_ms": _ms(bound.bound),
        "deadline_ms": _ms(chain.deadline),
        "met": bound.met,
        "complete": explained.complete,
        "reason": bound.reason or None,
        "hops": [
            {
                "callback": part.hop.callback,
                "kind": part.hop.kind,
                "share": round(part.share, 6),
                "waiting_ms": _ms(part.hop.waiting),
                "waits_for": part.waits_for or None,
                "response_ms": _ms(part.hop.response),
                "parts_ms": {
                    "own": _ms(part.local.own),
                    "blocking": _ms(part.local.blocking),
                    "interference": _ms(part.interference),
                    "overhead": _ms(part.local.overhead),
                },
            }
            for part in explained.hops
        ],
        "waits_for": [
            {"callback": rival.callback, "less_ms": _ms(rival.less), "why": rival.why}
            for rival in explained.rivals
        ],
        "would_help": [
            {"change": one.text, "bound_ms": _ms(one.bound), "late": one.late}
            for one in explained.helps
        ],
    }
    return json.dumps(content, indent=1) + "\n"


def _ms(ns: int | None) -> float | None:
    return None if ns is None else ns / NS_PER_MS
