# Copyright 2026 The rclrt Authors
# SPDX-License-Identifier: Apache-2.0
"""If no plan is proved: the smallest change to the system with which one is, best first.

And a plan for a terminal.
"""

import time
from collections import Counter
from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass, fields, replace

from rclrt_analysis.bounds.activation import loads
from rclrt_analysis.bounds.analyse import analyse
from rclrt_analysis.bounds.result import Result
from rclrt_analysis.model import Callback, ExecutorKind, Overheads, System
from rclrt_analysis.plan.levels import Item, unmet
from rclrt_analysis.plan.parameters import CLASSES
from rclrt_analysis.plan.placement import NAME
from rclrt_analysis.plan.search import Plan, Search
from rclrt_analysis.report import WIDTH, ms, slack, verdict

TRIED = 12
"""Callbacks of which it is asked whether they alone could make the difference."""

STEPS = 8
SHOWN = 8
CPU_SECONDS = 3.0
"""How long a plan with one CPU more is looked for."""


@dataclass(frozen=True)
class Change:
    """A change with which everything is proved.

    size: What share of a time changes; 0 for what costs no time.
    system: The system with the change.
    """

    size: float
    text: str
    system: System


def changes(plan: Plan, seconds: float = 10.0) -> list[Change]:
    """Return changes with each of which the plan is proved, the smallest first."""
    end = time.monotonic() + seconds
    found: list[Change] = []
    for change in _all(plan):
        if change is not None:
            found.append(change)
        if time.monotonic() > end:
            break
    return sorted(found, key=lambda change: change.size)[:SHOWN]


def _all(plan: Plan) -> Iterator[Change | None]:
    """Try changes, the cheap ones to try first; None for what does not help."""
    system = plan.system
    yield _deadlines(plan)
    is_enough = False
    for callback in _grouped(system):
        change = _own_groups(system, [callback])
        is_enough = is_enough or change is not None
        yield change
    heavy = _heaviest(system, plan.result)
    for callback in heavy:
        changes_of_one = [_shorter(system, [callback])]
        if callback.period is not None:
            changes_of_one.append(_rarer(system, callback))
        is_enough = is_enough or any(changes_of_one)
        yield from changes_of_one
    if not is_enough:
        yield _own_groups(system, _needed(_grouped(system), lambda some: _apart(system, some)))
        yield _shorter(system, _needed(heavy, lambda some: _scaled(system, some, 0)))
    yield _faster(system)
    yield _cheaper(system)
    yield _another_cpu(plan)


def _grouped(system: System) -> list[Callback]:
    count = Counter((c.executor, c.group) for c in system.callbacks if c.group)
    return [c for c in system.callbacks if count[c.executor, c.group] > 1]


def _needed(some: list[Callback], change: Callable[[list[Callback]], System]) -> list[Callback]:
    """Return as few of these as are found, with a change to all of which everything is met.

    None, if a change to all of them is not enough.
    """
    if not some or not analyse(change(some)).met:
        return []
    least = next(n for n in range(1, len(some) + 1) if analyse(change(some[:n])).met)
    kept = some[:least]
    for one in kept[:-1]:
        fewer = [c for c in kept if c is not one]
        if analyse(change(fewer)).met:
            kept = fewer
    return kept


def _deadlines(plan: Plan) -> Change | None:
    """Return by how much deadlines must grow, if there are bounds."""
    late = unmet(plan.result)
    if any(item.bound is None or not item.deadline for item in late):
        return None
    texts = [f"{i.name} from {ms(i.deadline)} to {ms(i.bound)} ms" for i in late]
    size = max((i.bound or 0) / (i.deadline or 1) - 1 for i in late)
    more = f" and {len(texts) - 4} more" if len(texts) > 4 else ""
    bound = {i.name: i.bound for i in late}
    chains = tuple(replace(c, deadline=bound.get(c.name, c.deadline)) for c in plan.system.chains)
    longer = plan.system.each(lambda c: replace(c, deadline=bound.get(c.name, c.deadline)))
    longer = replace(longer, chains=chains)
    if not analyse(longer).met:  # EDF has other bounds with other deadlines.
        return None
    return Change(size, f"lengthen the deadline of {', '.join(texts[:4])}{more}", longer)


def _own_groups(system: System, some: list[Callback]) -> Change | None:
    tried = _apart(system, some)
    if not some or not analyse(tried).met:
        return None
    if len(some) == 1:
        (one,) = some
        text = f"give '{one.name}' a callback group of its own, apart from '{one.group}'"
    else:
        names = _listed([f"'{c.name}'" for c in some])
        text = f"give callback groups of their own to {names}"
    return Change(0.0, text, tried)


def _apart(system: System, some: list[Callback]) -> System:
    return _with(system, some, lambda c: replace(c, group=""))


def _heaviest(system: System, result: Result) -> list[Callback]:
    """Return callbacks that compete with what is late, those with the most work first."""
    load = loads(system)
    late = {item.name for item in unmet(result)}
    names = {n for chain in system.chains if chain.name in late for n in chain.callbacks} | late
    where = {system.callback_of[n].executor for n in names if n in system.callback_of}
    cores = {system.executor_of[name].cores for name in where}
    there = [c for c in system.callbacks if system.executor_of[c.executor].cores in cores]
    by_load = sorted(there, key=lambda c: -load[c.name])[:TRIED]
    by_length = sorted(there, key=lambda c: -c.wcet)[: TRIED // 2]
    return list(dict.fromkeys([*by_load, *by_length]))


def _shorter(system: System, some: list[Callback]) -> Change | None:
    """Return by how much these must be shorter, all in the same ratio."""
    if not all(c.wcet for c in some):
        return None
    parts = _largest(lambda parts: _scaled(system, some, parts)) if some else None
    if parts is None:
        return None
    texts = [f"'{c.name}' from {ms(c.wcet)} to {_down(c.wcet * parts >> STEPS)} ms" for c in some]
    size = (1 - parts / (1 << STEPS)) * len(some)
    return Change(size, f"shorten {_listed(texts)}", _scaled(system, some, parts))


def _scaled(system: System, some: list[Callback], parts: int) -> System:
    def shorter(c: Callback) -> Callback:
        wcet = c.wcet * parts >> STEPS
        return replace(c, wcet=wcet, bcet=min(c.bcet, wcet))

    return _with(system, some, shorter)


def _listed(texts: list[str]) -> str:
    *first, last = texts
    return f"{', '.join(first)} and {last}" if first else last


def _rarer(system: System, callback: Callback) -> Change | None:
    """Return how much rarer a callback must come, at most half as often."""
    period = callback.period or 1

    def at(parts: int) -> System:
        longer = period * (2 << STEPS) // ((1 << STEPS) + parts)
        gap = None if callback.gap is None else max(longer, callback.gap)
        return system.but(callback.name, period=longer, gap=gap)

    parts = _largest(at)
    if parts is None:
        return None
    longer = period * (2 << STEPS) // ((1 << STEPS) + parts)
    text = f"release '{callback.name}' every {ms(longer)} instead of {ms(period)} ms"
    return Change(longer / period - 1, text, at(parts))


def _faster(system: System) -> Change | None:
    def at(parts: int) -> System:
        return system.each(
            lambda c: replace(c, wcet=c.wcet * parts >> STEPS, bcet=c.bcet * parts >> STEPS)
        )

    parts = _largest(at)
    if parts is None:
        return None
    factor = (1 << STEPS) / max(1, parts)
    text = f"all execution times shorter: a CPU {factor:.2f} times as fast"
    return Change(1 - 1 / factor, text, at(parts))


def _cheaper(system: System) -> Change | None:
    """Return how much smaller the overheads must be: they may be those of a disturbed machine."""
    names = [field.name for field in fields(Overheads) if field.name not in ("window", "measured")]
    costs = {name: getattr(system.overheads, name) for name in names}
    if not any(costs.values()):
        return None

    def at(parts: int) -> System:
        less = {name: cost * parts >> STEPS for name, cost in costs.items()}
        return replace(system, overheads=replace(system.overheads, **less))

    parts = _largest(at)
    if parts is None:
        return None
    share = parts / (1 << STEPS)
    said = ", ".join(f"{name}_ms {ms(cost)}" for name, cost in costs.items() if cost)
    return Change(1 - share, f"overheads {share:.2f} times as large as these: {said}", at(parts))


def _another_cpu(plan: Plan) -> Change | None:
    """Return a plan with one CPU more, if CPUs are open."""
    opening = plan.opening
    if not opening.places:
        return None
    more = replace(opening, cpus=(*opening.cpus, max(opening.cpus) + 1))
    found = Search(more, CPU_SECONDS).plan()
    if not found.result.met:
        return None
    text = f"one CPU more: {len(more.cpus)} instead of {len(opening.cpus)}"
    return Change(1 / len(opening.cpus), text, found.system)


def _largest(at: Callable[[int], System]) -> int | None:
    """Return the largest of 2^STEPS parts with which all is met, or None."""
    if not analyse(at(0)).met:
        return None
    low, high = 0, 1 << STEPS
    while high - low > 1:
        middle = (low + high) // 2
        if analyse(at(middle)).met:
            low = middle
        else:
            high = middle
    return low


def _with(system: System, some: list[Callback], change: Callable[[Callback], Callback]) -> System:
    names = {c.name for c in some}
    return system.each(lambda c: change(c) if c.name in names else c)


def _down(ns: int) -> str:
    return f"{ns // 1000 / 1000:.3f}"


MOST_ROWS = 40


def to_text(plan: Plan, found: Sequence[Change]) -> str:
    """Return the report, without a line feed at its end."""
    result = plan.result
    first = verdict(result).replace("NOT MET", "NOT PROVED").replace("MET", "PROVED")
    lines = [
        first,
        f"by {plan.how}, after {plan.tried} analyses" + "; time ran out" * (not plan.complete),
    ]
    lines += [plan.optimal] * bool(plan.optimal) + [""]
    lines += plan.doubts and [
        *plan.doubts,
        "The analysis contradicts the simulator: please report it",
        "",
    ]
    lines.append(
        f"{'chain or callback, ms':44}{'bound':>10}{'deadline':>10}{'slack':>10}{'simulated':>11}"
    )
    late = {item.name for item in unmet(result)}
    rows: list[Item] = [*result.chains, *(b for b in result.callbacks if b.deadline)]
    for item in sorted(rows, key=lambda one: one.name not in late)[:MOST_ROWS]:
        left = slack(item)
        cells = (ms(item.bound), ms(item.deadline), "-" if left is None else f"{left / 1e6:.3f}")
        seen = ms(plan.seen.get(item.name))
        mark = "  <- not met" if item.name in late else ""
        lines.append(
            f"{item.name[-44:]:44}{cells[0]:>10}{cells[1]:>10}{cells[2]:>10}{seen:>11}{mark}"
        )
    if len(rows) > MOST_ROWS:
        lines.append(f"and {len(rows) - MOST_ROWS} more")
    lines += ["", *_cores(plan), *_budgets(plan)]
    if not plan.proved:
        lines += ["", "each of these would do, the smallest first:" if found else _nothing()]
        lines += [f"  {change.text}"[: 2 * WIDTH] for change in found]
    return "\n".join(lines)


def _budgets(plan: Plan) -> list[str]:
    """Return which deadlines rest on no other callback's execution times."""
    if not plan.budgets:
        return []
    rows = [c for c in plan.result.chains if c.deadline]
    every = len(rows) + len([b for b in plan.result.callbacks if b.deadline])
    text = f"{len(plan.budgets)} callbacks have budgets: {len(plan.kept_apart)} of {every} "
    lines = [text + "deadlines hold whatever others need" + ":" * bool(plan.kept_apart)]
    lines += [f"  {name}" for name in plan.kept_apart[:MOST_ROWS]]
    return lines


def _nothing() -> str:
    return "no change was found that would do: several things are late for different reasons"


def _cores(plan: Plan) -> list[str]:
    load = loads(plan.system)
    lines = []
    for executor in plan.system.executors:
        members = plan.system.members(executor.name)
        if not members:
            continue
        kind = CLASSES.get(executor.kind, executor.kind.value)
        if executor.name == NAME:
            lines.append(f"{NAME}: CPU {executor.cores[0]}, {len(members)} timers of other CPUs")
            continue
        cpus = ", ".join(str(cpu) for cpu in executor.cores)
        text = f"{executor.name}: {kind}, CPU {cpus}, {len(members)} callbacks, "
        text += f"load {sum(load[c.name] for c in members):.2f}"
        ranks = [c.priority for c in members if c.priority]
        if ranks and executor.kind is not ExecutorKind.WAIT_SET_SINGLE:
            text += f", priorities {min(ranks)} to {max(ranks)}"
        lines.append(text)
    return lines
