# Copyright 2026 The rclrt Authors
# SPDX-License-Identifier: Apache-2.0
"""Budgets of callbacks and groups (docs/how-to/budgets.md) in the bounds, and what looks at them.

A budget that cannot run out changes nothing. A period of it begins with a job, or at the end of the
one before, and holds no more work than that of jobs which are there in it. Those of a stream with
period T and jitter J that each take up to R from their release are

    ceil((P + R + J) / T)

at most: they were released no earlier than R before the period, and before its end. R may be the
bound of the system without any budgets: until the first one runs out nothing is different.

What may run out is demoted: its own jobs have no bound, nor has what waits for them. To others it
is what its budget allows [docs/how-to/budgets.md]. That needs threads of fixed priority, and a
group in which nothing waits for a demoted callback: else nothing that shares its CPU has a bound.
"""

from collections import Counter
from collections.abc import Callable, Collection, Mapping, Sequence
from dataclasses import dataclass, replace

from rclrt_analysis.bounds.activation import Activation, Stream, merged, urgencies
from rclrt_analysis.bounds.result import Assumption, Local, Result
from rclrt_analysis.bounds.threads import is_threaded
from rclrt_analysis.model import (
    Above,
    Budget,
    Callback,
    Executor,
    ExecutorKind,
    Kind,
    Policy,
    System,
    in_ms,
)

TOGETHER = 4
"""Jobs that the engine looks at in one turn."""

ROUNDS = 30
FULL = Above(1, 0, 1)

SLEEPS = 32
SLEEPS_NS = 50_000
"""It sleeps for one of so many parts of a budget, and for so long, at least."""


def looks(
    system: System, accounts: "Sequence[Account]", released: "Released"
) -> tuple[Above, ...] | None:
    """Return what the looks at these take; None if nothing bounds how many there are.

    It looks at a job with a budget Q when the job begins, and once after it has ended. In between
    it sleeps for what is left of the budget, s = max(Q / 32, 50 us) at least, and looks again: the
    job was preempted. Let the jobs of a period use up to C' of Q. What is left is then Q - C' or
    more. So each further look takes max(Q - C', s) in which the job did not run, but for s in all.
    A job that is preempted for P is looked at 3 + P / max(Q - C', s) times, with P the bound of its
    response less its own execution time.

    All of it is from the release of the job to Q after its end. A look costs `watch`, with up to
    `TOGETHER` jobs that have begun; beside more of them there are more turns in a look. The thread
    is of no CPU in particular, so all looks count on each core, and before all callbacks there.
    """
    cost = system.overheads.watch
    if not cost:
        return ()
    cost *= -(-len({member for one in accounts for member in one.members}) // TOGETHER)
    found = []
    for account in accounts:
        budget = account.budget
        least = max(budget.runtime // SLEEPS, SLEEPS_NS)
        every = [released.needs(system.callback_of[n], budget.period) for n in account.members]
        if any(need is None for need in every):
            return None
        left = budget.runtime - sum(need or 0 for need in every)
        # Jobs that run at the same time divide what is left.
        between = max(least, left if len(account.members) == 1 else 0)
        for name in account.members:
            callback = system.callback_of[name]
            response, waits = released.response(callback), released.preempted(callback)
            if response is None or waits is None:
                return None
            count = 3 + waits // between
            reach = response + budget.runtime
            found += [
                Above(stream.period, stream.jitter + reach, count * cost)
                for stream in released.streams(callback)
            ]
    return tuple(found)


def with_looks(
    system: System,
    accounts: "Sequence[Account]",
    bounds: "Callable[[System], tuple[Result, Released]]",
) -> "tuple[Result, Released]":
    """Return bounds that agree with how often they let the thread look.

    Where nothing bounds that, these looks are taken to fill all cores.
    """
    above: tuple[Above, ...] | None = ()
    for step in range(ROUNDS):
        last = above is None or step == ROUNDS - 1
        more = (FULL,) if last or above is None else above
        found = bounds(replace(system, above=(*system.above, *more)))
        if last:
            break
        above, before = looks(system, accounts, found[1]), above
        if above == before:
            break
    return found


def looks_at_anything(system: System, budgets: Collection[Budget]) -> tuple[Above, ...]:
    """Return what looks take if callbacks with such budgets come and need what they like.

    From one moment for which the thread had set its alarm to the next it takes the shortest sleep.
    In between each of them makes it look once at most: when it begins, and is due earlier.
    """
    cost = system.overheads.watch
    if not cost or not budgets:
        return ()
    least = min(max(one.runtime // SLEEPS, SLEEPS_NS) for one in budgets)
    return (Above(least, 0, (len(budgets) + 1) * -(-len(budgets) // TOGETHER) * cost),)


MARGIN = 32
"""One of so many parts is left over: the engine charges a little that is not the callback's."""

SPENT = "\0spent"
"""The executor of those of which nothing is known; no model has such a name."""
LIMIT = "\0budget of "


class Released:
    """How callbacks are released, and how long they are there, by the bounds of a system.

    late: The system with timers as late as they may be.
    """

    def __init__(self, system: System, late: System, local: Mapping[str, Local]) -> None:
        self._system = system
        self._late = late.callback_of
        self._local = local
        overheads = system.overheads
        self._extra = overheads.dispatch + 2 * overheads.context_switch
        self._wait = overheads.transport + overheads.wake

    def streams(self, callback: Callback) -> tuple[Stream, ...]:
        """Return how it is released, each job counted; nothing if nobody knows."""
        late = self._late[callback.name]
        inputs: list[Activation] = []
        for name in self._system.triggered_by(callback):
            output = self._local[name].output
            if output is None:
                return ()
            inputs.append(output)
        if late.period is not None:
            inputs.append(Activation((Stream(late.period, late.jitter),), None))
        return merged(inputs).streams if inputs else ()

    def response(self, callback: Callback) -> int | None:
        """Return how long a job is there, from when it was released by a message that left."""
        local = self._local[callback.name].response
        return None if local is None else local + self._wait

    def preempted(self, callback: Callback) -> int | None:
        """Return for how long a job is there and does not run, at most, ns."""
        local = self._local[callback.name]
        return None if local.response is None else local.response - local.own

    def refusal(self, name: str) -> str:
        """Return why a callback has no bound."""
        return self._local[name].reason

    def needs(self, callback: Callback, period: int) -> int | None:
        """Return the CPU time that its jobs use at most within a period of its budget, ns."""
        streams, response = self.streams(callback), self.response(callback)
        if response is None or not streams:
            return None
        jobs = sum(stream.most(period + response) for stream in streams)
        work = jobs * (callback.wcet + callback.waits + self._extra)
        return work + work // MARGIN


@dataclass(frozen=True)
class Account:
    """A budget, and the callbacks that are charged to it: one, or those of a group."""

    name: str
    budget: Budget
    members: tuple[str, ...]


def accounts(system: System) -> list[Account]:
    """Return the budgets of a system."""
    found = [Account(c.name, c.budget, (c.name,)) for c in system.callbacks if c.budget]
    for executor in system.executors:
        mine = system.members(executor.name) if executor.budgets else []
        for group, budget in executor.budgets:
            members = tuple(c.name for c in mine if c.group == group)
            found += [Account(f"group {group}", budget, members)] * bool(members)
    return found


Analyse = Callable[[System, Mapping[str, int], Mapping[str, str]], Result]
"""Bounds of a system, with these urgencies; and of whom nothing is known, with the reasons."""


def with_budgets(system: System, late: Callable[[System], System], analyse: Analyse) -> Result:
    """Return the bounds of a system whose callbacks have budgets."""
    urgency = urgencies(system)
    spent: dict[str, str] = {}
    limits: list[Callback] = []
    left = accounts(system)
    run_out: list[str] = []
    while True:
        others = _without(system, spent, limits)
        more = {limit.name: limit.priority or 0 for limit in limits}

        def bounds(
            part: System, known: Mapping[str, int] = {**urgency, **more, _FILLER.name: 0}
        ) -> tuple[Result, Released]:
            found = analyse(part, known, spent)
            local = {one.name: one.local for one in found.callbacks}
            return found, Released(part, late(part), local)

        result, released = with_looks(others, left, bounds)
        short = [(one, _shortage(one, others, released)) for one in left]
        short = [(one, text) for one, text in short if text]
        if not short:
            return _of(system, result, run_out)
        for one, text in short:
            left.remove(one)
            run_out.append(text)
            if any(name in spent for name in one.members):
                continue
            limit = _limit(system, one, urgency)
            if limit is not None:
                limits.append(limit)
                spent.update(dict.fromkeys(one.members, text))
                continue
            why = f"{text} (shares a CPU with it, and it is no thread that can be demoted alone)"
            beside = _beside(system, one)
            if system.overheads.watch:  # It may look at any time, on any core.
                beside = [callback.name for callback in system.callbacks]
            spent.update({name: why for name in beside if name not in spent})


def short_of(system: System, result: Result) -> list[tuple[tuple[str | int, ...], str]]:
    """Return the budgets of a model that may run out: where in its file they stand, and why."""
    places: dict[str, tuple[str | int, ...]] = {}
    for i, callback in enumerate(system.callbacks):
        places[f"'{callback.name}',"] = ("callbacks", i, "budget")
    for i, executor in enumerate(system.executors):
        for group, _ in executor.budgets:
            places[f"'group {group}',"] = ("executors", i, "budgets", group)
    return [
        (place, text)
        for text in result.run_out
        for said, place in places.items()
        if f"the budget of {said}" in text
    ]


def _shortage(account: Account, system: System, released: Released) -> str:
    """Return why a budget may run out; nothing if it cannot."""
    budget = account.budget
    needs = [released.needs(system.callback_of[n], budget.period) for n in account.members]
    said = f"the budget of '{account.name}', {in_ms(budget.runtime)} in {in_ms(budget.period)} ms,"
    if any(need is None for need in needs):
        why = " ".join(dict.fromkeys(released.refusal(name) for name in account.members))
        return f"{said} may run out: nothing bounds how much it needs. {why}".rstrip(". ")
    total = sum(need or 0 for need in needs)
    if total <= budget.runtime:
        return ""
    return f"{said} may run out: it may need {in_ms(total)} in that time. Give it as much"


def _limit(system: System, account: Account, urgency: Mapping[str, int]) -> Callback | None:
    """Return what takes from others as much as they do at most; None if nobody knows."""
    members = [system.callback_of[name] for name in account.members]
    executor = system.executor_of[members[0].executor]
    group = members[0].group
    sharing = Counter(c.group for c in system.members(executor.name) if c.group)
    whole = not group or sharing[group] == len(members)
    fixed = executor.policy is not Policy.EDF
    if not (is_threaded(executor.kind) and whole and fixed and account.budget.demotes):
        return None
    if len(executor.cores) > 1:
        return None
    overheads = system.overheads
    if overheads.receive or overheads.release or overheads.publish or overheads.watch:
        return None  # What its messages, timers and looks cost would be left out.
    budget = account.budget
    return Callback(
        f"{LIMIT}{account.name} of {executor.name}", Kind.SUBSCRIPTION, executor.name,
        budget.taken, period=budget.period, jitter=max(0, budget.period - budget.taken),
        priority=max(urgency[name] for name in account.members),
    )  # fmt: skip


def _beside(system: System, account: Account) -> list[str]:
    """Return all callbacks that share a CPU with a budget's, or with such as share one."""
    mine = system.executor_of[system.callback_of[account.members[0]].executor]
    cores = set(mine.cores)
    while True:
        more = [set(e.cores) for e in system.executors if cores & set(e.cores)]
        wider = cores.union(*more)
        if wider == cores:
            break
        cores = wider
    return [c.name for c in system.callbacks if cores & set(system.executor_of[c.executor].cores)]


_FILLER = Callback("\0nothing bounds this", Kind.SUBSCRIPTION, SPENT, 2, period=1)


def _without(system: System, spent: Mapping[str, str], limits: Sequence[Callback]) -> System:
    """Return the system in which nothing is known of some, and their budgets are in their place."""
    if not spent:
        return system
    core = max(core for executor in system.executors for core in executor.cores) + 1
    elsewhere = Executor(SPENT, ExecutorKind.EVENTS_FIFO, cores=(core,))
    callbacks = [
        replace(c, executor=SPENT, group="", budget=None) if c.name in spent else c
        for c in system.callbacks
    ]
    return replace(
        system,
        executors=(*system.executors, elsewhere),
        callbacks=(*callbacks, _FILLER, *limits),
    )


def _of(system: System, result: Result, run_out: Sequence[str]) -> Result:
    """Return it without what was put in, under the executors of the system."""
    callbacks = tuple(
        replace(one, executor=system.callback_of[one.name].executor)
        for one in result.callbacks
        if one.name in system.callback_of
    )
    assumptions = (*result.assumptions, Assumption.BUDGETS)
    return replace(result, callbacks=callbacks, assumptions=assumptions, run_out=tuple(run_out))
