# Copyright 2026 The rclrt Authors
# SPDX-License-Identifier: Apache-2.0
"""What the parameters file of a plan has beside executors and priorities.

Chains and what is taken for granted of callbacks, over which executors that read the file watch;
budgets of callbacks and groups.
"""

import re
from collections.abc import Callable, Iterator, Mapping
from fractions import Fraction
from pathlib import Path
from typing import Any

import yaml
from rclrt_analysis.model import Budget, Callback, Chain, Kind, ModelError, System

NS_PER_MS = 1_000_000


def duration(ns: int) -> str:
    """Return a time of a parameters file, with all its digits."""
    whole, rest = divmod(ns, NS_PER_MS)
    return f"{whole}.{rest:06d}".rstrip("0").rstrip(".") + "ms"


def chain_lines(
    system: System, bounds: Mapping[str, int | None], name_of: Callable[[Callback], str]
) -> list[str]:
    """Return the section `chains`, not indented; nothing without chains.

    bounds: Of chains, ns.
    name_of: How the file calls a callback.
    """
    lines = ["chains:"] if system.chains else []
    for chain in system.chains:
        lines.append(f"  {quoted(chain.name)}:")
        names = [quoted(name_of(callback)) for callback in _callbacks(system, chain)]
        lines.append(f"    callbacks: [{', '.join(names)}]")
        if reads := [names[place] for place in _reading(system, chain)]:
            lines.append(f"    reads: [{', '.join(reads)}]")
        waits = [(i, c) for i, c in enumerate(_callbacks(system, chain)) if c.wants_all]
        # A name with a wildcard stands for all inputs, else its jobs are those that had all.
        joins = [f"{names[i]}: {len(c.triggers) if '*' in names[i] else 1}" for i, c in waits]
        if joins:
            lines.append(f"    joins: {{{', '.join(joins)}}}")
        lines.append(f"    semantics: {chain.semantics}")
        lines += ["    join: last"] * (chain.join == "last")
        times = {
            "deadline": chain.deadline,
            "bound": bounds.get(chain.name),
            "silent_after": chain.silent_after,
        }
        lines += [f"    {key}: {duration(ns)}" for key, ns in times.items() if ns]
        counts = {"warn_after": chain.warn_after, "error_after": chain.error_after}
        if said := [f"{key}: {count}" for key, count in counts.items() if count]:
            lines.append(f"    on_miss: {{{', '.join(said)}}}")
    return lines


def _callbacks(system: System, chain: Chain) -> list[Callback]:
    return [system.callback_of[name] for name in chain.callbacks]


def _reading(system: System, chain: Chain) -> list[int]:
    """Return the places of callbacks that use the newest data, and are no timers."""
    found = []
    for place in range(1, len(chain.callbacks)):
        before, callback = (system.callback_of[chain.callbacks[i]] for i in (place - 1, place))
        is_read = bool(set(before.publishes) & set(callback.reads)) or callback.wants_all
        if is_read and callback.kind is not Kind.TIMER:
            found.append(place)
    return found


def assumption_fields(callback: Callback, bound: int | None) -> dict[str, str]:
    """Return what a proof takes for granted of a callback, as fields of its entry."""
    jitter = 0 if callback.kind is Kind.TIMER else callback.jitter
    times = {
        "wcet": callback.wcet,
        "min_period": None if callback.period is None else callback.period - jitter,
        "response_bound": bound,
    }
    return {key: duration(ns) for key, ns in times.items() if ns and ns > 0}


def quoted(text: str) -> str:
    """Return a word of YAML that is read as it is."""
    return str(yaml.dump(text, default_style='"', width=2**20)).strip()


GROUP_NAME = re.compile(r"/.+/group/.+")
UNITS = {"ns": 1, "us": 10**3, "ms": 10**6, "s": 10**9}
_TIME = re.compile(r"(\d{1,19}(?:\.\d{1,9})?)(ns|us|ms|s)")


def nanoseconds(value: object) -> int:
    """Return a time of a parameters file, such as 5ms; only 0 needs no unit.

    Raises ValueError: It is none, or no whole number of nanoseconds.
    """
    found = _TIME.fullmatch("0ns" if value == 0 and not isinstance(value, bool) else str(value))
    exact = Fraction(found[1]) * UNITS[found[2]] if found else Fraction(1, 2)
    if exact.denominator != 1:
        text = f". Write its unit: {value}ns" if type(value) is int else ""
        raise ValueError(f"{str(value)[:60]!r} is no time such as 5ms, 1.5ms or 20us{text}")
    return int(exact)


def budget_field(budget: Budget) -> str:
    """Return the field `budget`."""
    return f"{{runtime: {duration(budget.runtime)}, period: {duration(budget.period)}}}"


def group_lines(system: System) -> list[str]:
    """Return the section `groups`, not indented; nothing without budgets of groups."""
    found = {
        group: budget_field(budget)
        for executor in system.executors
        for group, budget in executor.budgets
    }
    lines = [f"  {quoted(group)}: {{budget: {budget}}}" for group, budget in found.items()]
    return ["groups:", *lines] if lines else []


def unnamed_groups(system: System) -> list[str]:
    """Return why a file cannot give budgets to some groups."""
    return [
        f"no parameters file can give group '{group}' its budget. Call it as executors do "
        "(/node/group/default)"
        for executor in system.executors
        for group, _ in executor.budgets
        if not GROUP_NAME.fullmatch(group) or "*" in group
    ]


def budget_of(path: Path, name: str, entry: Mapping[str, Any]) -> Budget | None:
    """Return the budget in an entry of a file; None: there is none that changes what runs.

    Raises ModelError: It is no budget.
    """
    said = entry.get("budget")
    if said is None:
        return None
    try:
        overrun = said.get("on_overrun", "demote")
        runtime, period = (nanoseconds(said[key]) for key in ("runtime", "period"))
        if period == 0 or set(said) - {"runtime", "period", "on_overrun"}:
            raise ValueError(said)
    except (AttributeError, KeyError, ValueError) as error:
        text = f"the budget of '{name}' is none. Write {{runtime: 12ms, period: 40ms}}"
        raise ModelError([f"{path}: {text}"]) from error
    return None if overrun == "notify" else Budget(runtime, period, overrun == "demote")


def unbounded(path: Path, chains: Mapping[str, Any]) -> Iterator[str]:
    """Yield what a file says that changes what runs, and that no bound counts."""
    for name, entry in chains.items():
        if isinstance(entry, Mapping) and "budget" in entry:
            text = f"chain '{name}' has a budget, and no bound counts what its callbacks share"
            yield f"{path}: {text}. Give each of them a budget of its own"
